import { Schema } from "effect"
import { type Client, identifierOf } from "../client/Client.ts"
import type { ClientIdentifier } from "../client/ClientIdentifier.ts"
import type { Members } from "../codec/Json.ts"
import { type ClientId, grantMark } from "../rules/Id.ts"
import { type Instant, type Millis, minute, secondsOf } from "../rules/Instant.ts"
import { anyTerms, type TokenTerms, termsOf, unnamedResources } from "../rules/Resource.ts"
import { formatScopes, impliedBy, type ScopeRegistry } from "../rules/Scope.ts"
import type { Workspace } from "../workspace/Workspace.ts"
import type { Authentication } from "./Authentication.ts"
import { type Active, placeOf, type Standing } from "./Grant.ts"
import type { Tokens } from "./issue.ts"
import { holderOf } from "./revoke.ts"

/** Names that a token carries where its request named none; more of them would not fit into a header. */
const longestUnnamed = 1024

/**
 * What a token is for, by name. A request that names nothing gets what introspection tells of its token: the issuer, and
 * the listed resources that take one of its scopes.
 */
const placesOf = (
  workspace: Workspace,
  registry: ScopeRegistry,
  grant: Active | Standing,
  { access, scope }: Tokens
): ReadonlyArray<string> => {
  const named = access.resources ?? grant.resources
  if (named !== null) return named
  const all = unnamedResources(workspace, registry, scope)
  return all === null || all.join(" ").length > longestUnnamed ? [workspace.issuer] : all
}

/** What an owner chose for the client; where none did, what is asked by the resources that the token is for. */
export const termsFor = (
  { accessTokenFormat }: Client,
  workspace: Workspace,
  registry: ScopeRegistry,
  grant: Active | Standing,
  tokens: Tokens
): TokenTerms => {
  const terms = termsOf(workspace, placesOf(workspace, registry, grant, tokens))
  return accessTokenFormat === undefined ? terms : { ...terms, format: accessTokenFormat }
}

/** Whether a token of this client may become a JWT: an owner chose so, or a resource of its workspace asks for it. */
export const mayBeJwt = ({ accessTokenFormat }: Client, workspace: Workspace): boolean =>
  accessTokenFormat === "jwt" || (accessTokenFormat === undefined && anyTerms(workspace))

/** RFC 9068 §2.1. */
export const jwtType = "at+jwt"

/** Longer than a revoked token may go on working without an operator knowing of it. */
export const isLongLived = (accessTtl: Millis): boolean => accessTtl > 5 * minute

/** Whom a token speaks for, in the words of introspection. */
interface JwtClaims extends Members {
  readonly iss: string
  readonly sub: string
  /** RFC 7519 §4.1.3: one as it is, several as a list. */
  readonly aud: string | ReadonlyArray<string>
  readonly client_id: string
  readonly exp: number
  readonly iat: number
  readonly jti: string
  readonly scope: string
  /** What that implies, where it implies anything: who checks the token knows no hierarchy of scopes. */
  readonly implied_scope?: string
  /** RFC 9449 §6.1: the thumbprint of the key that it is bound to. */
  readonly cnf?: { readonly jkt: string }
  readonly principal: "User" | "Workspace"
  /** RFC 8693 §4.1: who acts, where the token came of an exchange. */
  readonly act?: ActClaim | undefined
  /** Where the person allowed it, of the places that they have. */
  readonly place?: string
  /** What the audit stream calls that which it came from. */
  readonly grant: string
  /** By which the server itself finds that. */
  readonly ref: string
}

/** How many exchanges a token may have come of: a loop of resources that call each other ends here. */
export const mostActors = 4

/** RFC 8693 §4.1: the client that acts, and within it those that acted before. */
interface ActClaim extends Members {
  readonly sub: string
  readonly act?: ActClaim
}

export const actOf = (actors: ReadonlyArray<string>): ActClaim | undefined =>
  actors.reduceRight<ActClaim | undefined>((act, sub) => (act === undefined ? { sub } : { sub, act }), undefined)

/** The same as the reader of the token gets it; one that nests deeper than any of ours is cut. */
export const actorsIn = (act: unknown): { readonly actors?: ReadonlyArray<string> } => {
  const actors: Array<string> = []
  for (let at = act; isActClaim(at) && actors.length < mostActors; at = at.act) actors.push(at.sub)
  return actors.length === 0 ? {} : { actors }
}

const isActClaim = Schema.is(Schema.Struct({ sub: Schema.String, act: Schema.optionalKey(Schema.Unknown) }))

/** RFC 9068 §2.2.1, RFC 9470 §6.1. */
const signInClaims = ({ acr, at }: Authentication = {}) => ({
  ...(at === undefined ? {} : { auth_time: secondsOf(at) }),
  ...(acr === undefined ? {} : { acr })
})

/** RFC 9068 §2.2. A person is named by their id and nothing else. */
export const claimsOf = (
  workspace: Workspace,
  registry: ScopeRegistry,
  grant: Active | Standing,
  tokens: Tokens,
  client: Client,
  ref: string,
  now: Instant
): JwtClaims => {
  const places = placesOf(workspace, registry, grant, tokens)
  const [first, ...more] = places
  const implied = impliedBy(registry, tokens.scope)
  // The one that asked may have exchanged a token of another's grant.
  const named = (id: ClientId): ClientIdentifier => (id === client.id ? identifierOf(client) : id)
  return {
    iss: workspace.issuer,
    sub: grant.subject._tag === "User" ? grant.subject.id : named(grant.client),
    aud: first !== undefined && more.length === 0 ? first : places,
    client_id: named(holderOf(grant, tokens.access)),
    exp: secondsOf(tokens.access.expiresAt),
    iat: secondsOf(now),
    jti: tokens.access.serial,
    scope: formatScopes(tokens.scope),
    ...(implied.length === 0 ? {} : { implied_scope: formatScopes(implied) }),
    ...(tokens.access.binding === null ? {} : { cnf: { jkt: tokens.access.binding.thumbprint } }),
    principal: grant.subject._tag,
    act: tokens.actors && actOf(tokens.actors),
    ...("place" in grant ? placeOf(grant) : {}),
    ...("authentication" in grant ? signInClaims(grant.authentication) : {}),
    grant: grantMark(grant.id),
    ref
  }
}
