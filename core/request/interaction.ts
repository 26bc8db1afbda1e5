import { Effect, Option, Result } from "effect"
import { fieldFor } from "../http/csrf.ts"
import type { Call, Parts } from "../http/Route.ts"
import type { SignedIn } from "../ports/ResourceOwner.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { grantIdOf, idLength } from "../rules/Id.ts"
import { later } from "../rules/Instant.ts"
import type { UntrustedRequest } from "../rules/Refusal.ts"
import { formatScopes } from "../rules/Scope.ts"
import { type AuthorizationRequest, type Returned, readAuthorizationRequest } from "./AuthorizationRequest.ts"
import { sealTicket, type TicketBinding } from "./Ticket.ts"

/** What a consent page's ticket opens for: this person in this session, and this request as it was sent. */
export const ticketBinding = ({ session, user }: SignedIn, query: string): TicketBinding => ({
  session,
  user,
  request: query
})

/**
 * What the page said of the request. A client can change itself (RFC 7592) while the page is read, so the same request
 * may have come to ask for more by the time of the answer.
 */
export const shownTerms = ({ client, scope }: AuthorizationRequest): string =>
  JSON.stringify([formatScopes(scope), client.about.client_name ?? null, client.madeBy])

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
