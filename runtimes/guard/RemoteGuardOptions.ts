import { type Clock, type Duration, type Redacted, Result } from "effect"
import { proofAlgorithms } from "../../core/oauth/presented/dpop.ts"
import { isResourceAddress, isResourcePath, resourceMetadataUrl, withoutEndSlash } from "../../core/rules/Resource.ts"
import { isScopeName } from "../../core/rules/Scope.ts"
import { basePath, type Issuer, originOf } from "../../core/workspace/Workspace.ts"
import { isObject, type NamesOf } from "../serve/options.ts"
import { type Checked, readersFor } from "./readers.ts"
import type { ProofStorage } from "./SeenProofs.ts"

interface CacheOptions {
  /** How many tokens are remembered; those not seen for longest make room. Default: 10,000. */
  readonly maxEntries?: number
  /**
   * How long an answer is believed, counted from when it was asked for: **the longest that a revoked token goes on
   * working here**. 0 asks every time. Default: `"5 seconds"`.
   */
  readonly ttl?: Duration.Input
  /** The same for a token that is good for nothing. Never more than `ttl`. Default: `"1 second"`. */
  readonly negativeTtl?: Duration.Input
}

/** Why the server could not say what a token is. No token and no key is in it. */
export type IntrospectionFailure =
  | { readonly _tag: "Unreachable"; readonly cause: unknown }
  | { readonly _tag: "TimedOut" }
  /** 401 and 403: the API key is not, or no longer, good. */
  | { readonly _tag: "Status"; readonly status: number }
  | { readonly _tag: "Unreadable" }
  /** As many questions were under way as there may be, so this one was not asked. */
  | { readonly _tag: "TooMany" }

export interface MetadataOptions {
  /** The scopes to ask for at first: the fewest that are of use. */
  readonly scopes: ReadonlyArray<string>
  /** What people read. Default: the host of `resource`. */
  readonly name?: string
}

/** RFC 9728 §2, and where it has to be served. */
export interface OwnMetadata {
  /** On the host of `resource`: `/.well-known/oauth-protected-resource` and the path of `resource`. */
  readonly path: string
  readonly document: {
    readonly resource: string
    readonly authorization_servers: ReadonlyArray<string>
    readonly scopes_supported: ReadonlyArray<string>
    readonly bearer_methods_supported: ReadonlyArray<string>
    readonly dpop_signing_alg_values_supported: ReadonlyArray<string>
    readonly resource_name: string
  }
}

export interface RemoteGuardOptions {
  /** The authorization server, as its metadata calls it: `https://auth.example`. */
  readonly issuer: string
  /** An API key of the workspace: only with one may all tokens be asked about. */
  readonly apiKey: string | Redacted.Redacted<string>
  /** The address of this resource server: a token that is bound to a resource has to cover what is called here. */
  readonly resource: string
  /**
   * Where this resource server's RFC 9728 metadata is. Default: the authorization server's own, which is that of
   * `resource` where that is below `issuer`. A guarded route that has a `resource` of its own leads to that one's.
   */
  readonly resourceMetadata?: string
  /**
   * What this resource server says of itself in RFC 9728 metadata of its own: `RemoteGuard.metadata`, which it has to serve.
   * Refusals then lead there. Clients such as MCP's need it where `resource` is not below `issuer`. Default: none of its own.
   */
  readonly metadata?: MetadataOptions
  /** Where to ask. Default: `/oauth/introspect` of `issuer`. */
  readonly introspectionEndpoint?: string
  /** What is remembered, and for how long. */
  readonly cache?: CacheOptions
  /** How long an answer is waited for. Default: `"3 seconds"`. */
  readonly timeout?: Duration.Input
  /**
   * How many questions may be under way: a stranger who makes tokens up opens no more connections to the authorization
   * server than this. Who would need one more is sent away with 503; whose token is remembered needs none. Default: 100.
   */
  readonly questionsAtOnce?: number
  /**
   * Where the resource servers of one API note the DPoP proofs that they have seen, so that none is good at two of them:
   * `redis.layer({ url })`, or another layer of `tessera/storage/…`. It costs a write for each call that brings a proof.
   * Default: this process notes its own.
   */
  readonly seenProofs?: ProofStorage
  /**
   * Told when the server could not say what a token is, and so a caller was sent away with 503. Default: no
   * listener.
   */
  readonly onFailure?: (failure: IntrospectionFailure) => void
  /** Default: the platform's own. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** For tests: Effect's `TestClock`, say. Default: the system's clock. */
  readonly clock?: Clock.Clock
}

/** The options, checked. Times in milliseconds. */
export interface Read {
  readonly issuer: string
  readonly apiKey: Redacted.Redacted<string>
  /** Without a slash at the end. */
  readonly resource: string
  readonly resourceMetadata: string
  readonly metadata: OwnMetadata | undefined
  /** The authorization server's, of all that is below it. */
  readonly issuerMetadata: string
  readonly endpoint: string
  readonly maxEntries: number
  readonly ttl: number
  readonly negativeTtl: number
  readonly timeout: number
  readonly questionsAtOnce: number
}

const names: NamesOf<RemoteGuardOptions> = {
  issuer: true,
  apiKey: true,
  resource: true,
  resourceMetadata: true,
  metadata: true,
  introspectionEndpoint: true,
  cache: true,
  timeout: true,
  questionsAtOnce: true,
  seenProofs: true,
  onFailure: true,
  fetch: true,
  clock: true
}

const metadataNames: NamesOf<MetadataOptions> = { scopes: true, name: true }

const cacheNames: NamesOf<CacheOptions> = { maxEntries: true, ttl: true, negativeTtl: true }

const { apiKeyOf, bad, clockOf, issuerOf, knownNames, millisOf, secureUrl, storageOf } = readersFor("remoteGuard")

export const metadataOf = (issuer: Issuer): string =>
  `${originOf(issuer)}/.well-known/oauth-protected-resource${basePath(issuer)}`

/** `resource` is told as it was given, which is what clients compare (RFC 9728 §3.3). */
const ownMetadataOf = (
  { metadata, resource, resourceMetadata }: RemoteGuardOptions,
  issuer: Issuer
): Checked<OwnMetadata | undefined> => {
  if (metadata === undefined) return Result.succeed(undefined)
  if (!isObject(metadata)) return bad("metadata", "has to be an object")
  const known = knownNames(metadata, metadataNames, "metadata.")
  if (Result.isFailure(known)) return Result.fail(known.failure)
  if (resourceMetadata !== undefined) return bad("metadata", "cannot stand beside resourceMetadata, which is elsewhere")
  if (!isResourceAddress(resource)) {
    return bad("resource", "has to be written as browsers write it, without query or fragment, to have metadata")
  }
  const { name = new URL(resource).host, scopes } = metadata
  if (!Array.isArray(scopes) || !scopes.every(isScopeName)) return bad("metadata.scopes", "has to be a list of scopes")
  if (typeof name !== "string" || name.trim() === "")
    return bad("metadata.name", "has to be a text that people can read")
  return Result.succeed({
    path: new URL(resourceMetadataUrl(resource)).pathname,
    document: {
      resource,
      authorization_servers: [issuer],
      scopes_supported: [...scopes],
      bearer_methods_supported: ["header"],
      dpop_signing_alg_values_supported: [...proofAlgorithms],
      resource_name: name
    }
  })
}

/** What of an address is below the issuer, as far as metadata can be asked for it by its path; otherwise nothing. */
export const resourcePathBelow = (issuer: Issuer, { hash, origin, pathname, search }: URL): string => {
  const base = basePath(issuer)
  if (origin !== originOf(issuer) || search !== "" || hash !== "" || !pathname.startsWith(`${base}/`)) return ""
  const path = pathname.slice(base.length)
  return isResourcePath(path) ? path : ""
}

export const readOptions = (options: RemoteGuardOptions): Checked<Read> =>
  Result.gen(function* () {
    if (!isObject(options)) return yield* bad("options", "have to be an object")
    yield* knownNames(options, names)
    const issuer = yield* issuerOf(options.issuer)
    const { cache = {} } = options
    if (!isObject(cache)) return yield* bad("cache", "has to be an object")
    yield* knownNames(cache, cacheNames, "cache.")
    yield* clockOf(options.clock)
    const apiKey = yield* apiKeyOf(options.apiKey)
    const resource = yield* secureUrl("resource", options.resource)
    const issuerMetadata = metadataOf(issuer)
    const metadata = yield* ownMetadataOf(options, issuer)
    const endpoint = options.introspectionEndpoint ?? `${issuer}/oauth/introspect`
    const ttl = yield* millisOf("cache.ttl", cache.ttl ?? "5 seconds")
    const { maxEntries = 10_000 } = cache
    if (!Number.isInteger(maxEntries) || maxEntries < 1) return yield* bad("cache.maxEntries", "has to be at least 1")
    const timeout = yield* millisOf("timeout", options.timeout ?? "3 seconds")
    if (timeout === 0) return yield* bad("timeout", "has to be more than 0")
    const { questionsAtOnce = 100 } = options
    yield* storageOf("seenProofs", options.seenProofs)
    if (!Number.isInteger(questionsAtOnce) || questionsAtOnce < 1) {
      return yield* bad("questionsAtOnce", "has to be at least 1")
    }
    return {
      issuer,
      apiKey,
      resource: withoutEndSlash(resource.href),
      resourceMetadata:
        metadata !== undefined
          ? resource.origin + metadata.path
          : options.resourceMetadata === undefined
            ? issuerMetadata + resourcePathBelow(issuer, resource)
            : // As a URL is written it fits into the header that leads there.
              (yield* secureUrl("resourceMetadata", options.resourceMetadata)).href,
      metadata,
      issuerMetadata,
      endpoint: (yield* secureUrl("introspectionEndpoint", endpoint)).href,
      maxEntries,
      ttl,
      negativeTtl: Math.min(ttl, yield* millisOf("cache.negativeTtl", cache.negativeTtl ?? "1 second")),
      timeout,
      questionsAtOnce
    }
  })
