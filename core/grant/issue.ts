import { earlier, type Instant, later } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import type { Resource } from "../rules/Resource.ts"
import { formatScopes, type Scopes } from "../rules/Scope.ts"
import type { AccessToken, RefreshToken } from "../token/Token.ts"
import type { AccessTokens, Active, Pending, Standing } from "./Grant.ts"

/** Bytes drawn before a decision, used or not, so that the decision stays a function. */
export interface Fresh {
  /** 64 bits in hex. */
  readonly serial: string
  /** The key that seals now. */
  readonly key: string
}

/** What a decision hands out; sealing it into text is the caller's. */
export interface Tokens {
  readonly access: AccessToken
  readonly refresh: { readonly token: RefreshToken; readonly key: string } | null
  /** What the client is told it was granted this time. */
  readonly scope: Scopes
}

const areSame = (a: Scopes, b: Scopes): boolean => a === b || formatScopes(a) === formatScopes(b)

export const noAccessTokensYet: AccessTokens = { epoch: 0, revoked: [] }

/** An access token of a grant, for all of it or for a part. */
export const accessToken = (
  grant: Active | Standing,
  scope: Scopes,
  resource: Resource | null,
  policy: Policy,
  now: Instant,
  fresh: Fresh
): AccessToken => ({
  kind: "access",
  grant: grant.id,
  expiresAt: later(now, policy.accessTtl),
  epoch: grant.access.epoch,
  serial: fresh.serial,
  // A client's own grant grows when the client registers for more; what was issued before does not grow with it.
  scope: grant._tag === "Active" && areSame(scope, grant.scope) ? null : scope,
  resource: resource === grant.resource ? null : resource
})

/** The refresh token of a generation: nothing in it is drawn, so it can be made again at will. */
export const refreshToken = (grant: Active): RefreshToken => ({
  kind: "refresh",
  grant: grant.id,
  expiresAt: grant.refresh.expiresAt,
  generation: grant.refresh.generation
})

/** The grant from now on, with its refresh token of this generation. */
export const activeFrom = (
  grant: Pending | Active,
  access: AccessTokens,
  generation: number,
  endsAt: Instant,
  policy: Policy,
  now: Instant,
  fresh: Fresh
): Active => ({
  _tag: "Active",
  id: grant.id,
  client: grant.client,
  subject: grant.subject,
  scope: grant.scope,
  resource: grant.resource,
  createdAt: grant.createdAt,
  access,
  refresh: {
    generation,
    issuedAt: now,
    expiresAt: earlier(later(now, policy.refreshIdleTtl), endsAt),
    key: fresh.key
  },
  endsAt
})

export const tokensOf = (
  grant: Active,
  scope: Scopes,
  resource: Resource | null,
  policy: Policy,
  now: Instant,
  fresh: Fresh
): Tokens => ({
  access: accessToken(grant, scope, resource, policy, now, fresh),
  refresh: { token: refreshToken(grant), key: grant.refresh.key },
  scope
})
