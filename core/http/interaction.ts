import { Effect, Option, Result } from "effect"
import type { SignedIn } from "../ports/ResourceOwner.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { grantIdOf, idLength } from "../rules/Id.ts"
import { later } from "../rules/Instant.ts"
import type { UntrustedRequest } from "../rules/Refusal.ts"
import { sealTicket } from "../token/Ticket.ts"
import { type AuthorizationRequest, type Returned, readAuthorizationRequest } from "./authorizationRequest.ts"
import type { Call } from "./Call.ts"
import type { Parts } from "./Parts.ts"
import { fieldFor } from "./sessionForm.ts"
import { shownTerms, ticketBinding } from "./ticketBinding.ts"

/** What has to happen next for an authorization request: data, for whoever draws it. */
export type Interaction =
  | { readonly _tag: "NeedsLogin"; readonly request: AuthorizationRequest }
  | {
      readonly _tag: "NeedsConsent"
      readonly request: AuthorizationRequest
      readonly signedIn: SignedIn
      /** What the answer has to bring back, with `decision`. */
      readonly form: { readonly csrf: string; readonly ticket: string; readonly request: string }
    }
  | { readonly _tag: "Redirect"; readonly returned: Returned }
  | { readonly _tag: "Page"; readonly refusal: UntrustedRequest }

/** RFC 6749 §4.1.1: what an authorization request comes to. Who asks is checked before anybody is asked to sign in. */
export const interaction = Effect.fnUntraced(function* (
  parts: Parts,
  call: Call
): Effect.fn.Return<Interaction, StorageUnavailable> {
  const query = call.request.query
  const read = yield* Effect.result(readAuthorizationRequest(parts, call, query))
  if (Result.isFailure(read)) {
    if (read.failure._tag === "StorageUnavailable") return yield* read.failure
    return { _tag: "Page", refusal: read.failure }
  }
  if (Result.isFailure(read.success)) return { _tag: "Redirect", returned: read.success.failure }
  const request = read.success.success
  const signedIn = yield* parts.owner.current(call.workspace, call.request)
  if (Option.isNone(signedIn)) return { _tag: "NeedsLogin", request }

  const grant = grantIdOf(parts.entropy.bytes(idLength))
  const expiresAt = later(call.now, parts.policy.consentTtl)
  return {
    _tag: "NeedsConsent",
    request,
    signedIn: signedIn.value,
    form: {
      csrf: fieldFor(parts, call, signedIn.value.session),
      ticket: sealTicket(
        parts.keys.current(),
        call.workspace.id,
        grant,
        expiresAt,
        ticketBinding(signedIn.value, query),
        shownTerms(request)
      ),
      request: query
    }
  }
})
