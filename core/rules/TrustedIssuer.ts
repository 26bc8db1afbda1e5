import { Result, Schema } from "effect"
import { ClientId } from "./Id.ts"
import { Instant } from "./Instant.ts"
import { PublicKey, readJwkSet } from "./Jwk.ts"
import { Resource } from "./Resource.ts"
import { ScopeName } from "./Scope.ts"

const httpsUrl = (text: string): boolean => {
  if (!/^https:\/\/[\x21-\x7e]+$/.test(text) || !URL.canParse(text)) return false
  const { password, username } = new URL(text)
  return username === "" && password === "" && !text.includes("#")
}

const Https = Schema.String.check(Schema.isMaxLength(2048), Schema.makeFilter(httpsUrl, { expected: "an https URL" }))

/** A domain of email addresses, as they are compared. */
const Domain = Schema.String.check(Schema.isPattern(/^[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})+$/))

/** An issuer of assertions that an owner trusts (RFC 7523 §3), and how far. */
export const TrustedIssuer = Schema.Struct({
  /** As it stands in `iss`, letter for letter. */
  issuer: Https,
  keys: Schema.Union([
    Schema.Struct({ _tag: Schema.Literal("Registered"), keys: Schema.NonEmptyArray(PublicKey) }),
    Schema.Struct({ _tag: Schema.Literal("Fetched"), jwksUri: Https })
  ]),
  /**
   * The clients that may bring its assertions, by id or by the address of their document; without it, all that an owner
   * let use the grant type. A document's client may only where it stands here.
   */
  clients: Schema.optionalKey(Schema.NonEmptyArray(Schema.Union([ClientId, Https]))),
  /** The most that it can grant; without it, what the client may have. */
  scopes: Schema.optionalKey(Schema.NonEmptyArray(ScopeName)),
  /** What it can grant access to; without it, all that is the workspace's. */
  resources: Schema.optionalKey(Schema.NonEmptyArray(Resource)),
  /** The domains of the addresses that it speaks for; without it, it speaks for whom it names. */
  domains: Schema.optionalKey(Schema.NonEmptyArray(Domain)),
  /** `known`: people who are here already. `made`: others get an account when they are first seen. */
  people: Schema.Literals(["known", "made"]),
  /** `any`: assertions of RFC 7523 that name no client, beside those made for one (ID-JAG). */
  takes: Schema.optionalKey(Schema.Literals(["id-jag", "any"])),
  /** When an owner trusted it, or its keys; what was brought before ends. */
  since: Schema.optionalKey(Instant)
})
export type TrustedIssuer = typeof TrustedIssuer.Type

/** Whether it may say who has an address. */
export const speaksFor = ({ domains }: Pick<TrustedIssuer, "domains">, email: string): boolean =>
  domains === undefined || domains.includes(email.slice(email.lastIndexOf("@") + 1).toLowerCase())

export const TrustedIssuers = Schema.Array(TrustedIssuer).check(
  Schema.isMaxLength(50),
  Schema.makeFilter((all: ReadonlyArray<{ readonly issuer: string }>) => {
    return new Set(all.map(({ issuer }) => issuer)).size === all.length ? true : "issuers of which none comes twice"
  })
)
export type TrustedIssuers = typeof TrustedIssuers.Type

/** Who asserted what a grant is from: an issuer, as it was trusted then. */
export const Asserter = Schema.Struct({ issuer: Schema.String, since: Schema.optionalKey(Instant) })
export type Asserter = typeof Asserter.Type

export const asserterOf = ({ issuer, since }: TrustedIssuer): Asserter =>
  since === undefined ? { issuer } : { issuer, since }

export const isSameAsserter = (one: Asserter, other: Asserter): boolean =>
  one.issuer === other.issuer && one.since === other.since

/** Where an issuer's keys are, as an owner names it: a JWK Set, or its address. */
export interface KeysTyped {
  readonly jwks?: unknown
  readonly jwksUri?: string | undefined
}

/** The keys that an issuer has, as they would be named anew. */
export const keysTypedOf = ({ keys }: TrustedIssuer): KeysTyped =>
  keys._tag === "Fetched" ? { jwksUri: keys.jwksUri } : { jwks: { keys: keys.keys } }

/** What is wrong with a set of keys is told by no more than this: it may hold a secret. */
export const readKeySource = ({ jwks, jwksUri }: KeysTyped): Result.Result<TrustedIssuer["keys"], "keys"> => {
  if ((jwks === undefined) === (jwksUri === undefined)) return Result.fail("keys")
  if (jwksUri !== undefined) return Result.succeed({ _tag: "Fetched", jwksUri })
  const [first, ...more] = Result.getOrElse(readJwkSet(jwks), () => [])
  return first === undefined ? Result.fail("keys") : Result.succeed({ _tag: "Registered", keys: [first, ...more] })
}
