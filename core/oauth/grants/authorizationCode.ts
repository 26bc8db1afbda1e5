import { Result, Schema } from "effect"
import { hasGrant } from "../../client/Client.ts"
import { redirectTargetOf } from "../../client/Profile.ts"
import { type Decision, refuse, refuseAndKeep } from "../../grant/Decision.ts"
import type { Grant, Pending } from "../../grant/Grant.ts"
import { firstTokens, type Tokens } from "../../grant/issue.ts"
import { revoked } from "../../grant/revoke.ts"
import type { Step } from "../../grant/Step.ts"
import { type Read, refusedAs } from "../../http/form.ts"
import { grantMark } from "../../rules/Id.ts"
import { CodeVerifier, provesPossession } from "../../rules/Pkce.ts"
import { InvalidGrant, InvalidRequest, InvalidTarget } from "../../rules/Refusal.ts"
import { grantType, resource } from "./GrantType.ts"

export const verifierMalformed = new InvalidRequest({
  reason: "verifier_malformed",
  message: "The code_verifier has to be 43 to 128 unreserved characters."
})

/** RFC 6749 §4.1.3 and RFC 7636 §4.5. */
const form = {
  code: Schema.String.annotate({ description: "As it came to the redirect URI. Good once, and not for long." }),
  redirect_uri: Schema.String.annotate({ description: "The same as in the authorization request." }),
  resource,
  code_verifier: Schema.optionalKey(
    CodeVerifier.annotate({
      description: "RFC 7636: needed exactly where the authorization request had a challenge.",
      ...refusedAs(verifierMalformed)
    })
  )
}

/** RFC 7636 §4.6, and no downgrade in either direction (RFC 9700 §4.8.2). */
export const verifierFault = (
  challenge: Pending["challenge"],
  verifier: CodeVerifier | undefined
): InvalidGrant | undefined => {
  if (challenge === null)
    return verifier === undefined ? undefined : new InvalidGrant({ reason: "verifier_unexpected" })
  if (verifier === undefined) return new InvalidGrant({ reason: "verifier_missing" })
  return provesPossession(verifier, challenge) ? undefined : new InvalidGrant({ reason: "verifier_wrong" })
}

/**
 * RFC 6749 §4.1.2: a code becomes tokens, once. A second use ends the grant, since a second party holds the code. With
 * PKCE only a use with the verifier ends it, so that an attacker who merely saw the code ends nothing.
 */
const redeem = (
  grant: Grant | undefined,
  step: Step<Read<typeof form>>
): Decision<Tokens, InvalidGrant | InvalidTarget> => {
  const { by, now, policy } = step
  if (grant === undefined) return refuse(new InvalidGrant({ reason: "unknown" }))
  if (grant._tag === "Standing" || grant._tag === "Key") return refuse(new InvalidGrant({ reason: "wrong_kind" }))
  if (!hasGrant(by.client, grant)) return refuse(new InvalidGrant({ reason: "other_client" }))
  if (grant._tag === "Revoked") return refuse(new InvalidGrant({ reason: "revoked" }))
  if (grant._tag === "Active") {
    const { challenge } = grant
    if (challenge !== null && verifierFault(challenge, step.form.code_verifier) !== undefined)
      return refuse(new InvalidGrant({ reason: "code_replayed_without_verifier" }))
    const refusal = new InvalidGrant({ reason: "code_replayed", ended: grantMark(grant.id) })
    return refuseAndKeep(revoked(grant, "code_replayed", policy, now), refusal)
  }

  if (grant.redirectUri === undefined) return refuse(new InvalidGrant({ reason: "wrong_kind" }))
  if (step.form.redirect_uri !== grant.redirectUri) return refuse(new InvalidGrant({ reason: "redirect_uri_differs" }))
  // The client may have taken it back since, and what was sent there may be in other hands.
  if (redirectTargetOf(by.client, policy, grant.redirectUri) === undefined) {
    return refuse(new InvalidGrant({ reason: "redirect_uri_differs" }))
  }
  const fault = verifierFault(grant.challenge, step.form.code_verifier)
  return fault === undefined ? firstTokens(grant, step) : refuse(fault)
}

/** RFC 6749 §4.1. */
export const authorizationCode = grantType({
  name: "authorization_code",
  documents: { identifier: "RedeemCode", description: "A code that a person's approval brought (RFC 6749 §4.1.3)." },
  flow: "authorizationCode",
  form,
  faults: [InvalidGrant, InvalidTarget],
  registers: { byDefault: true, brings: ["refresh_token"], needs: ["redirect"], responseType: "code" },
  grantOf: (sent, _by, opener) =>
    Result.map(opener.open("code", sent.code), ({ grant }) => ({ grant, from: "token", form: sent })),
  decide: redeem
})
