import type { ClientId, GrantId, UserId } from "../rules/Id.ts"
import { type Instant, later } from "../rules/Instant.ts"
import type { CodeChallenge } from "../rules/Pkce.ts"
import type { Policy } from "../rules/Policy.ts"
import type { RedirectTarget } from "../rules/RedirectUri.ts"
import type { Resource } from "../rules/Resource.ts"
import type { Scopes } from "../rules/Scope.ts"
import type { CodeToken } from "../token/Token.ts"
import type { Pending } from "./Grant.ts"

/** An authorization request that a person said yes to. */
export interface Approved {
  readonly client: ClientId
  readonly user: UserId
  readonly redirectUri: RedirectTarget
  readonly challenge: CodeChallenge | null
  readonly scope: Scopes
  readonly resource: Resource | null
}

/** RFC 6749 §4.1.2: an approved request becomes a grant with a code out. */
export const begin = (approved: Approved, id: GrantId, policy: Policy, now: Instant): Pending => ({
  _tag: "Pending",
  id,
  client: approved.client,
  subject: { _tag: "User", id: approved.user },
  scope: approved.scope,
  resource: approved.resource,
  redirectUri: approved.redirectUri,
  challenge: approved.challenge,
  createdAt: now,
  codeExpiresAt: later(now, policy.codeTtl)
})

export const codeOf = (grant: Pending): CodeToken => ({
  kind: "code",
  grant: grant.id,
  expiresAt: grant.codeExpiresAt
})
