import { Result, Schema } from "effect"
import { hasGrant } from "../../client/Client.ts"
import { deviceGrant, leastProfile } from "../../client/Profile.ts"
import { type Decision, refuse, refuseAndKeep } from "../../grant/Decision.ts"
import type { Grant } from "../../grant/Grant.ts"
import { firstTokens, type Tokens } from "../../grant/issue.ts"
import { revoked } from "../../grant/revoke.ts"
import type { Step } from "../../grant/Step.ts"
import { type Read, refusedAs } from "../../http/form.ts"
import { grantMark } from "../../rules/Id.ts"
import { CodeVerifier } from "../../rules/Pkce.ts"
import {
  AccessDenied,
  AuthorizationPending,
  ExpiredToken,
  InvalidGrant,
  InvalidRequest,
  InvalidTarget,
  SlowDown
} from "../../rules/Refusal.ts"
import { verifierFault, verifierMalformed } from "./authorizationCode.ts"
import { grantType, resource } from "./GrantType.ts"

/** RFC 8628 §3.4. */
const form = {
  device_code: Schema.String.annotate({ description: "As the device authorization endpoint answered it." }),
  resource,
  code_verifier: Schema.optionalKey(
    CodeVerifier.annotate({
      description: "RFC 7636: needed exactly where the device authorization request had a challenge.",
      ...refusedAs(verifierMalformed)
    })
  )
}

type Opened = Omit<Read<typeof form>, "device_code">

/**
 * RFC 8628 §3.5: what a person approved becomes tokens, once, for the device that asked. A second use ends the grant: a
 * second party holds the code, or the tokens never arrived.
 */
const fetch = (
  grant: Grant | undefined,
  step: Step<Opened>
): Decision<Tokens, AuthorizationPending | InvalidGrant | InvalidTarget> => {
  const { by, now, policy } = step
  // Its approval is written, and the grant about to be.
  if (grant === undefined) return refuse(new AuthorizationPending())
  if (grant._tag === "Standing" || grant._tag === "Key") return refuse(new InvalidGrant({ reason: "wrong_kind" }))
  if (!hasGrant(by.client, grant)) return refuse(new InvalidGrant({ reason: "other_client" }))
  if (grant._tag === "Revoked") return refuse(new InvalidGrant({ reason: "revoked" }))
  const fault = verifierFault(grant.challenge, step.form.code_verifier)
  if (fault !== undefined) return refuse(fault)
  if (grant._tag === "Active") {
    const refusal = new InvalidGrant({ reason: "code_replayed", ended: grantMark(grant.id) })
    return refuseAndKeep(revoked(grant, "code_replayed", policy, now), refusal)
  }
  return firstTokens(grant, step)
}

/** RFC 8628. */
export const deviceCode = grantType({
  name: deviceGrant,
  documents: { identifier: "PollDeviceCode", description: "What a person allows on another device (RFC 8628 §3.4)." },
  form,
  faults: [AccessDenied, AuthorizationPending, ExpiredToken, InvalidGrant, InvalidRequest, InvalidTarget, SlowDown],
  registers: { brings: ["refresh_token"], needs: [], byConsent: true },
  offered: (policy) => policy.devices && !leastProfile(policy).refuses.includes(deviceGrant),
  // A client that polls with a code of ours waits for a person, beside all others of its network that do.
  isKnown: ({ _tag }) => _tag !== "InvalidGrant",
  gather: ({ device_code }, by, sources) => sources.approved(by, device_code),
  grantOf: ({ device_code: _, ...sent }, _by, _opener, grant) => Result.succeed({ grant, from: "token", form: sent }),
  decide: fetch
})
