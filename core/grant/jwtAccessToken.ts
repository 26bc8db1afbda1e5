import type { Client } from "../client/Client.ts"
import type { Members } from "../codec/Jws.ts"
import { grantMark } from "../rules/Id.ts"
import type { Instant, Millis } from "../rules/Instant.ts"
import { anyTerms, type TokenTerms, termsOf, unnamedResources } from "../rules/Resource.ts"
import { formatScopes, type ScopeRegistry } from "../rules/Scope.ts"
import type { Workspace } from "../workspace/Workspace.ts"
import type { Active, Standing } from "./Grant.ts"
import type { Tokens } from "./issue.ts"

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

/** What an owner chose for the client; where nobody did, what is asked by the resources that the token is for. */
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
export const isLongLived = (accessTtl: Millis): boolean => accessTtl > 5 * 60 * 1000

const seconds = (at: Instant): number => Math.floor(at / 1000)

/** Whom a token speaks for, in the words of introspection. */
export interface JwtClaims extends Members {
  readonly iss: string
  readonly sub: string
  /** RFC 7519 §4.1.3: one as it is, several as a list. */
  readonly aud: string | ReadonlyArray<string>
  readonly client_id: string
  readonly exp: number
  readonly iat: number
  readonly jti: string
  readonly scope: string
  readonly principal: "User" | "Workspace"
  /** What the audit stream calls that which it came from. */
  readonly grant: string
  /** By which the server itself finds that. */
  readonly ref: string
}

/** RFC 9068 §2.2. A person is named by their id and nothing else. */
export const claimsOf = (
  workspace: Workspace,
  registry: ScopeRegistry,
  grant: Active | Standing,
  tokens: Tokens,
  ref: string,
  now: Instant
): JwtClaims => {
  const places = placesOf(workspace, registry, grant, tokens)
  const [first, ...more] = places
  return {
    iss: workspace.issuer,
    sub: grant.subject._tag === "User" ? grant.subject.id : grant.client,
    aud: first !== undefined && more.length === 0 ? first : places,
    client_id: grant.client,
    exp: seconds(tokens.access.expiresAt),
    iat: seconds(now),
    jti: tokens.access.serial,
    scope: formatScopes(tokens.scope),
    principal: grant.subject._tag,
    grant: grantMark(grant.id),
    ref
  }
}
