import { Result } from "effect"
import type { AuthenticatedClient } from "../../client/authenticate.ts"
import { answerAndKeep, type Decision, refuse, refuseAndKeep } from "../../grant/Decision.ts"
import type { Grant, Pending } from "../../grant/Grant.ts"
import { activeFrom, type Fresh, noAccessTokensYet, type Tokens, tokensOf } from "../../grant/issue.ts"
import { revoked } from "../../grant/revoke.ts"
import { grantMark } from "../../rules/Id.ts"
import { type Instant, later } from "../../rules/Instant.ts"
import { type CodeVerifier, provesPossession } from "../../rules/Pkce.ts"
import type { Policy } from "../../rules/Policy.ts"
import { InvalidGrant, type InvalidTarget } from "../../rules/Refusal.ts"
import { narrowResource, type Resource } from "../../rules/Resource.ts"

export interface Redeem {
  readonly redirectUri: string
  readonly verifier: CodeVerifier | undefined
  readonly resource: Resource | null
}

/** RFC 7636 §4.6, and no downgrade in either direction (RFC 9700 §4.8.2). */
const verifierFault = (
  challenge: Pending["challenge"],
  verifier: CodeVerifier | undefined
): InvalidGrant | undefined => {
  if (challenge === null)
    return verifier === undefined ? undefined : new InvalidGrant({ reason: "verifier_unexpected" })
  if (verifier === undefined) return new InvalidGrant({ reason: "verifier_missing" })
  return provesPossession(verifier, challenge) ? undefined : new InvalidGrant({ reason: "verifier_wrong" })
}

/** RFC 6749 §4.1.3: a code becomes tokens, once. A second time, somebody else has it: the grant ends. */
export const redeem = (
  grant: Grant,
  by: AuthenticatedClient,
  command: Redeem,
  policy: Policy,
  now: Instant,
  fresh: Fresh
): Decision<Tokens, InvalidGrant | InvalidTarget> => {
  if (grant._tag === "Standing" || grant._tag === "Key") return refuse(new InvalidGrant({ reason: "wrong_kind" }))
  if (grant.client !== by.client.id) return refuse(new InvalidGrant({ reason: "other_client" }))
  if (grant._tag === "Revoked") return refuse(new InvalidGrant({ reason: "revoked" }))
  if (grant._tag === "Active") {
    const refusal = new InvalidGrant({ reason: "code_replayed", ended: grantMark(grant.id) })
    return refuseAndKeep(revoked(grant, "code_replayed", policy, now), refusal)
  }

  if (command.redirectUri !== grant.redirectUri) return refuse(new InvalidGrant({ reason: "redirect_uri_differs" }))
  const fault = verifierFault(grant.challenge, command.verifier)
  if (fault !== undefined) return refuse(fault)
  const resource = narrowResource(grant.resource, command.resource)
  if (Result.isFailure(resource)) return refuse(resource.failure)

  const endsAt = later(grant.createdAt, policy.refreshMaxTtl)
  const next = activeFrom(grant, noAccessTokensYet, 1, endsAt, policy, now, fresh)
  return answerAndKeep(next, tokensOf(next, next.scope, resource.success, policy, now, fresh))
}
