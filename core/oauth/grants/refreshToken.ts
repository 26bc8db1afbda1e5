import { Result, Schema } from "effect"
import { hasGrant } from "../../client/Client.ts"
import { profileOf } from "../../client/Profile.ts"
import { isBoundTo } from "../../grant/Binding.ts"
import { answer, answerAndKeep, type Decision, refuse, refuseAndKeep } from "../../grant/Decision.ts"
import type { Active, Grant } from "../../grant/Grant.ts"
import { placeInLine } from "../../grant/Grant.ts"
import { activeFrom, allowedFor, lineBinding, type Tokens, tokensOf } from "../../grant/issue.ts"
import { revoked } from "../../grant/revoke.ts"
import { compareSenders } from "../../grant/Sender.ts"
import type { Step } from "../../grant/Step.ts"
import type { Read } from "../../http/form.ts"
import { allowances } from "../../ports/Limiter.ts"
import { grantMark } from "../../rules/Id.ts"
import { earlier, hasPassed, later } from "../../rules/Instant.ts"
import { InvalidGrant, InvalidScope, InvalidTarget } from "../../rules/Refusal.ts"
import { narrowResources } from "../../rules/Resource.ts"
import { narrowScopes } from "../../rules/Scope.ts"
import type { RefreshToken } from "../../token/Token.ts"
import { grantType, resource } from "./GrantType.ts"

/** RFC 6749 §6. */
const form = {
  refresh_token: Schema.String.annotate({ description: "The one that came last." }),
  scope: Schema.optionalKey(
    Schema.String.annotate({ description: "Scopes, with a space between them; fewer than were granted, never more." })
  ),
  resource
}

/** The form, its refresh token opened. */
type Opened = Omit<Read<typeof form>, "refresh_token"> & { readonly refresh_token: RefreshToken }

/** Whether a line that does not rotate is to be written again: once a day where it may be idle for 30, or for a new key. */
const isDueAnew = ({ endsAt, refresh }: Active, step: Step<Opened>): boolean =>
  refresh.key !== step.fresh.key ||
  (refresh.binding === undefined && lineBinding(step) !== null) ||
  earlier(later(step.now, step.policy.refreshIdleTtl), endsAt) - refresh.expiresAt >= step.policy.refreshIdleTtl / 30

/** RFC 6749 §6 with rotation: a refresh token has one successor, and a spent one that comes back ends the grant. */
const refresh = (
  grant: Grant | undefined,
  step: Step<Opened>
): Decision<Tokens, InvalidGrant | InvalidScope | InvalidTarget> => {
  const { by, now, policy } = step
  if (grant === undefined) return refuse(new InvalidGrant({ reason: "unknown" }))
  if (grant._tag === "Pending" || grant._tag === "Standing" || grant._tag === "Key") {
    return refuse(new InvalidGrant({ reason: "wrong_kind" }))
  }
  if (!hasGrant(by.client, grant)) return refuse(new InvalidGrant({ reason: "other_client" }))
  if (grant._tag === "Revoked") return refuse(new InvalidGrant({ reason: "revoked" }))
  const { refresh_token: token } = step.form
  const { binding = null, boundFrom = 0 } = grant.refresh
  const place = placeInLine(token, grant, policy, now)
  // RFC 9449 §5: a stolen text without its key ends nothing. One that is older than the key was anybody's, and does.
  const isSpentBefore = place === "reused" && token.generation < boundFrom
  if (binding !== null && !isSpentBefore && !isBoundTo(binding, step.binding))
    return refuse(new InvalidGrant({ reason: "binding_differs" }))
  if (place === "ahead") return refuse(new InvalidGrant({ reason: "ahead_of_grant" }))
  if (place === "reused") {
    const refusal = new InvalidGrant({ reason: "refresh_reused", ended: grantMark(grant.id) })
    return refuseAndKeep(revoked(grant, "refresh_reused", policy, now), refusal)
  }
  if (hasPassed(grant.refresh.expiresAt, now)) return refuse(new InvalidGrant({ reason: "expired" }))

  const asked = narrowScopes(policy.scopes, grant.scope, step.form.scope)
  if (Result.isFailure(asked)) return refuse(asked.failure)
  const narrowed = narrowResources(grant.resources, step.resources)
  if (Result.isFailure(narrowed)) return refuse(narrowed.failure)
  const scope = allowedFor(asked.success, step)
  if (Result.isFailure(scope)) return refuse(scope.failure)

  if (place === "retried") {
    // RFC 9449 §5: what is handed out to a public client's proof is bound to its key, and this line went on without one.
    if (binding === null && lineBinding(step) !== null) return refuse(new InvalidGrant({ reason: "binding_differs" }))
    const retry = compareSenders(grant.refresh.rotatedBy, step.markSender(grant.refresh.key))
    const tokens: Tokens = { ...tokensOf(grant, scope.success, narrowed.success, step), retry }
    // Once for each generation, so that a client that asks over and over writes nothing more.
    const isNoted = (grant.retriedElsewhereAt ?? 0) >= grant.refresh.issuedAt
    if (retry.network !== "other" || isNoted) return answer(tokens)
    return answerAndKeep({ ...grant, retriedElsewhereAt: now }, tokens)
  }
  const { rotation } = profileOf(by.client, policy)
  if (!rotation && !isDueAnew(grant, step)) return answer(tokensOf(grant, scope.success, narrowed.success, step))
  // RFC 9700 §4.14.2: where nothing is spent, the same token goes on for longer, and under the key that seals now.
  const generation = grant.refresh.generation + (rotation ? 1 : 0)
  const { access, challenge, endsAt, retriedElsewhereAt } = grant
  const rotatedBy = step.markSender(step.fresh.key)
  // RFC 9449 §5: a public client that proves a key from now on goes on with it.
  const bound = lineBinding(step)
  const line = {
    access,
    binding: binding ?? bound,
    boundFrom: rotation && binding === null && bound !== null ? generation : grant.refresh.boundFrom,
    challenge,
    endsAt,
    generation,
    retriedElsewhereAt,
    rotatedBy
  }
  const next = activeFrom(grant, line, step)
  return answerAndKeep(next, tokensOf(next, scope.success, narrowed.success, step))
}

/** RFC 6749 §6. */
export const refreshToken = grantType({
  name: "refresh_token",
  documents: { identifier: "RefreshGrant", description: "A new access token for a refresh token (RFC 6749 §6)." },
  flow: "refresh",
  form,
  faults: [InvalidGrant, InvalidScope, InvalidTarget],
  registers: { onlyBrought: true, needs: [] },
  grantOf: (sent, _by, opener) =>
    Result.map(opener.open("refresh", sent.refresh_token), (token) => ({
      grant: token.grant,
      from: "token",
      form: { ...sent, refresh_token: token }
    })),
  allowance: allowances.grant,
  decide: refresh
})
