import { type Clock, type Duration, type Redacted, Result } from "effect"
import { minute } from "../../core/rules/Instant.ts"
import { type Algorithm, isAlgorithm } from "../../core/rules/Jwk.ts"
import { withoutEndSlash } from "../../core/rules/Resource.ts"
import { isObject, type NamesOf } from "../serve/options.ts"
import { type IntrospectionFailure, metadataOf, resourcePathBelow } from "./RemoteGuardOptions.ts"
import { type Checked, readersFor } from "./readers.ts"
import type { ProofStorage } from "./SeenProofs.ts"

/** Why keys could not be fetched, or the server could not say whether a grant stands. */
export type JwtGuardFailure = IntrospectionFailure & { readonly of: "keys" | "standing" }

export interface JwtGuardOptions {
  /** The authorization server, as its metadata calls it: `https://auth.example`. */
  readonly issuer: string
  /** The address of this resource server: a token that is for a resource has to cover what is called here. */
  readonly resource: string
  /** Default: `/oauth/jwks` of `issuer`. */
  readonly jwksUri?: string
  /** Those that a token may be signed by. Default: ES256 and RS256. */
  readonly algorithms?: ReadonlyArray<Algorithm>
  /** How far the clocks of the two servers may be apart, at most a minute. Default: `"10 seconds"`. */
  readonly leeway?: Duration.Input
  /**
   * An API key that may introspect: the authorization server is asked whether a grant still stands, so that its end is
   * noticed here `revokedWithin` later at most. Without it no server is asked, and a revoked token works until it
   * expires.
   */
  readonly apiKey?: string | Redacted.Redacted<string>
  /**
   * How late the end of a grant may be noticed; only with `apiKey`. It costs one introspection for each grant in use and
   * each such time, and 503 for callers while the authorization server is away. Default: `"60 seconds"`.
   */
  readonly revokedWithin?: Duration.Input
  /** Where to ask. Default: `/oauth/introspect` of `issuer`. */
  readonly introspectionEndpoint?: string
  /** How long an answer is waited for. Default: `"3 seconds"`. */
  readonly timeout?: Duration.Input
  /**
   * Where the resource servers of one API note the DPoP proofs that they have seen, so that none is good at two of them:
   * `redis.layer({ url })`, or another layer of `tessera/storage/…`. It costs a write for each call that brings a proof.
   * Default: this process notes its own.
   */
  readonly seenProofs?: ProofStorage
  /** Told when keys could not be fetched, or the server could not say. Default: no listener. */
  readonly onFailure?: (failure: JwtGuardFailure) => void
  /** Default: the platform's own. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** For tests: Effect's `TestClock`, say. Default: the system's clock. */
  readonly clock?: Clock.Clock
}

/** The options, checked. Times in milliseconds. */
export interface Read {
  readonly issuer: string
  /** Without a slash at the end. */
  readonly resource: string
  readonly resourceMetadata: string
  readonly issuerMetadata: string
  readonly jwksUri: string
  readonly algorithms: ReadonlyArray<Algorithm>
  readonly leeway: number
  readonly timeout: number
  readonly asking:
    | { readonly apiKey: Redacted.Redacted<string>; readonly endpoint: string; readonly within: number }
    | undefined
}

const names: NamesOf<JwtGuardOptions> = {
  issuer: true,
  resource: true,
  jwksUri: true,
  algorithms: true,
  leeway: true,
  apiKey: true,
  revokedWithin: true,
  introspectionEndpoint: true,
  timeout: true,
  seenProofs: true,
  onFailure: true,
  fetch: true,
  clock: true
}

const { apiKeyOf, bad, clockOf, issuerOf, knownNames, millisOf, secureUrl, storageOf } = readersFor("jwtGuard")

export const readOptions = (options: JwtGuardOptions): Checked<Read> =>
  Result.gen(function* () {
    if (!isObject(options)) return yield* bad("options", "have to be an object")
    yield* knownNames(options, names)
    const issuer = yield* issuerOf(options.issuer)
    const resource = yield* secureUrl("resource", options.resource)
    const jwksUri = yield* secureUrl("jwksUri", options.jwksUri ?? `${issuer}/oauth/jwks`)
    const { algorithms = ["ES256", "RS256"] } = options
    if (!Array.isArray(algorithms) || algorithms.length === 0 || !algorithms.every(isAlgorithm)) {
      return yield* bad("algorithms", "has to be a list of at least one of EdDSA, Ed25519, ES256, PS256, RS256")
    }
    yield* clockOf(options.clock)
    const leeway = yield* millisOf("leeway", options.leeway ?? "10 seconds")
    if (leeway > minute) return yield* bad("leeway", "has to be a minute at most")
    yield* storageOf("seenProofs", options.seenProofs)
    const timeout = yield* millisOf("timeout", options.timeout ?? "3 seconds")
    if (timeout === 0) return yield* bad("timeout", "has to be more than 0")
    const endpoint = yield* secureUrl(
      "introspectionEndpoint",
      options.introspectionEndpoint ?? `${issuer}/oauth/introspect`
    )
    const within = yield* millisOf("revokedWithin", options.revokedWithin ?? minute)
    if (options.apiKey === undefined && (options.revokedWithin ?? options.introspectionEndpoint) !== undefined) {
      return yield* bad("apiKey", "is missing: the server answers no question without it")
    }
    const issuerMetadata = metadataOf(issuer)
    return {
      issuer,
      resource: withoutEndSlash(resource.href),
      resourceMetadata: issuerMetadata + resourcePathBelow(issuer, resource),
      issuerMetadata,
      jwksUri: jwksUri.href,
      algorithms,
      leeway,
      timeout,
      asking:
        options.apiKey === undefined
          ? undefined
          : { apiKey: yield* apiKeyOf(options.apiKey), endpoint: endpoint.href, within }
    }
  })
