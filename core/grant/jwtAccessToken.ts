import type { AccessTokenFormat, Client } from "../client/Client.ts"
import type { Members } from "../codec/Jws.ts"
import { grantMark } from "../rules/Id.ts"
import type { Instant, Millis } from "../rules/Instant.ts"
import type { Resources } from "../rules/Resource.ts"
import { formatScopes } from "../rules/Scope.ts"
import type { Issuer } from "../workspace/Workspace.ts"
import type { Active, Standing } from "./Grant.ts"
import type { Tokens } from "./issue.ts"

/** What resources ask for. */
const formatOfResources = (_resources: Resources | null): AccessTokenFormat => "opaque"

/** How an access token of this client, for these resources, is written. */
export const formatOf = ({ accessTokenFormat }: Client, resources: Resources | null): AccessTokenFormat =>
  accessTokenFormat ?? formatOfResources(resources)

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

const audienceOf = (resources: Resources | null, issuer: Issuer): JwtClaims["aud"] => {
  const [first, ...more] = resources ?? [issuer]
  return first !== undefined && more.length === 0 ? first : [...(resources ?? [issuer])]
}

/**
 * RFC 9068 §2.2. A person is named by their id and nothing else. Without a resource it is for all of the API, which is
 * what the issuer's own address stands for.
 */
export const claimsOf = (
  issuer: Issuer,
  grant: Active | Standing,
  { access, scope }: Tokens,
  ref: string,
  now: Instant
): JwtClaims => ({
  iss: issuer,
  sub: grant.subject._tag === "User" ? grant.subject.id : grant.client,
  aud: audienceOf(access.resources ?? grant.resources, issuer),
  client_id: grant.client,
  exp: seconds(access.expiresAt),
  iat: seconds(now),
  jti: access.serial,
  scope: formatScopes(scope),
  principal: grant.subject._tag,
  grant: grantMark(grant.id),
  ref
})
