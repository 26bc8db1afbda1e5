import { Result } from "effect"
import type { AuthenticatedClient } from "../../client/authenticate.ts"
import { answer, answerAndKeep, type Decision, refuse, refuseAndKeep } from "../../grant/Decision.ts"
import type { Active, Grant } from "../../grant/Grant.ts"
import { activeFrom, type Fresh, type Tokens, tokensOf } from "../../grant/issue.ts"
import { revoked } from "../../grant/revoke.ts"
import { grantMark } from "../../rules/Id.ts"
import { hasPassed, type Instant } from "../../rules/Instant.ts"
import type { Policy } from "../../rules/Policy.ts"
import { InvalidGrant, type InvalidScope, type InvalidTarget } from "../../rules/Refusal.ts"
import { narrowResource, type Resource } from "../../rules/Resource.ts"
import { narrowScopes } from "../../rules/Scope.ts"
import type { RefreshToken } from "../../token/Token.ts"

export interface Refresh {
  readonly presented: RefreshToken
  readonly scope: string | undefined
  readonly resource: Resource | null
}

/** Where a token that is presented stands in its grant's line of refresh tokens. */
type PlaceInLine = "current" | "retried" | "reused" | "ahead"

/**
 * A client whose answer got lost, or that has two tabs, presents the token that it just spent, for a moment.
 * After that it is theft (RFC 9700 §4.14.2).
 */
const placeInLine = (presented: RefreshToken, grant: Active, policy: Policy, now: Instant): PlaceInLine => {
  const behind = grant.refresh.generation - presented.generation
  if (behind === 0) return "current"
  if (behind < 0) return "ahead"
  // Whoever came first, or whose clock is behind, is not early: no grace is no grace for them too.
  const since = Math.max(0, now - grant.refresh.issuedAt)
  return behind === 1 && since < policy.refreshGrace ? "retried" : "reused"
}

/** RFC 6749 §6 with rotation: every refresh token is good for one successor, and a spent one that comes back ends it all. */
export const refresh = (
  grant: Grant,
  by: AuthenticatedClient,
  command: Refresh,
  policy: Policy,
  now: Instant,
  fresh: Fresh
): Decision<Tokens, InvalidGrant | InvalidScope | InvalidTarget> => {
  if (grant._tag === "Pending" || grant._tag === "Standing" || grant._tag === "Key") {
    return refuse(new InvalidGrant({ reason: "wrong_kind" }))
  }
  if (grant.client !== by.client.id) return refuse(new InvalidGrant({ reason: "other_client" }))
  if (grant._tag === "Revoked") return refuse(new InvalidGrant({ reason: "revoked" }))

  const place = placeInLine(command.presented, grant, policy, now)
  if (place === "ahead") return refuse(new InvalidGrant({ reason: "ahead_of_grant" }))
  if (place === "reused") {
    const refusal = new InvalidGrant({ reason: "refresh_reused", ended: grantMark(grant.id) })
    return refuseAndKeep(revoked(grant, "refresh_reused", policy, now), refusal)
  }
  if (hasPassed(grant.refresh.expiresAt, now)) return refuse(new InvalidGrant({ reason: "expired" }))

  const scope = narrowScopes(policy.scopes, grant.scope, command.scope)
  if (Result.isFailure(scope)) return refuse(scope.failure)
  const resource = narrowResource(grant.resource, command.resource)
  if (Result.isFailure(resource)) return refuse(resource.failure)

  if (place === "retried") return answer(tokensOf(grant, scope.success, resource.success, policy, now, fresh))
  const next = activeFrom(grant, grant.access, grant.refresh.generation + 1, grant.endsAt, policy, now, fresh)
  return answerAndKeep(next, tokensOf(next, scope.success, resource.success, policy, now, fresh))
}
