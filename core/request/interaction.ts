import { Effect, Option, Result } from "effect"
import { allowedBefore, connectionsIn } from "../engine/connections.ts"
import { fieldFor } from "../http/csrf.ts"
import type { Call, Services } from "../http/Route.ts"
import type { SignedIn } from "../ports/ResourceOwner.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { authorizationRequestIdOf, idLength } from "../rules/Id.ts"
import { later } from "../rules/Instant.ts"
import { ConsentRequired, LoginRequired, type UntrustedRequest } from "../rules/Refusal.ts"
import type { ScopeName } from "../rules/Scope.ts"
import { scopesOf } from "../workspace/Workspace.ts"
import { shownOf, type Waiting } from "./AuthorizationRequest.ts"
import { type CheckedRequest, type Returned, readAuthorizationRequest } from "./readRequest.ts"
import { signInStep } from "./signInAsked.ts"
import { readerOf, sealTicket } from "./Ticket.ts"

/** What has to happen next for an authorization request: data, for the endpoint that draws it. */
export type Interaction =
  /** Signs in at `at`, and comes back to `returnTo`. */
  | { readonly _tag: "NeedsLogin"; readonly request: CheckedRequest; readonly at: string; readonly returnTo: string }
  | {
      readonly _tag: "NeedsConsent"
      readonly request: CheckedRequest
      readonly signedIn: SignedIn
      /** Of the scopes, those that the person let the client have before, and that it still has. */
      readonly allowed: ReadonlyArray<ScopeName>
      /** What the answer has to bring back, with `decision`. */
      readonly form: { readonly csrf: string; readonly ticket: string }
    }
  | { readonly _tag: "Redirect"; readonly returned: Returned }
  | { readonly _tag: "Page"; readonly refusal: UntrustedRequest }

const waitingOf = (services: Services, call: Call, { client, ...asked }: CheckedRequest): Waiting => ({
  _tag: "Waiting",
  id: authorizationRequestIdOf(services.entropy.bytes(idLength)),
  client: client.id,
  expiresAt: later(call.now, services.policy.consentTtl),
  ...asked
})

/** What the page tells of earlier grants. */
export const allowedTo = (
  services: Services,
  { now, workspace }: Call,
  { user }: SignedIn,
  { client, resources, scope }: Pick<CheckedRequest, "client" | "resources" | "scope">
) =>
  Effect.map(
    connectionsIn((slice) => services.grants.ofUser(workspace.id, user, slice), services.policy, now),
    ({ connections }) => {
      const grants = connections.find((one) => one.client === client.id)?.grants ?? []
      return allowedBefore(grants, scopesOf(services.policy, workspace), { scope, resources })
    }
  )

/** RFC 6749 §4.1.1: what an authorization request comes to. The client is checked before a person is asked to sign in. */
export const interaction = Effect.fnUntraced(function* (
  services: Services,
  call: Call
): Effect.fn.Return<Interaction, StorageUnavailable> {
  const read = yield* Effect.result(readAuthorizationRequest(services, call, call.request.query))
  if (Result.isFailure(read)) {
    if (read.failure._tag === "StorageUnavailable") return yield* read.failure
    return { _tag: "Page", refusal: read.failure }
  }
  if (Result.isFailure(read.success)) return { _tag: "Redirect", returned: read.success.failure }
  const request = read.success.success
  const { prompt = [] } = request
  const current = Option.getOrUndefined(yield* services.owner.current(call.workspace, call.request))
  const step = signInStep(services, call, prompt, current)
  if (step._tag === "Ask") return { ...step, _tag: "NeedsLogin", request }
  if (step._tag === "Missing") return { _tag: "Redirect", returned: { path: request, refusal: new LoginRequired() } }
  const { signedIn } = step
  if (prompt.includes("none")) {
    return { _tag: "Redirect", returned: { path: request, refusal: new ConsentRequired() } }
  }
  const ticket = {
    reader: readerOf(signedIn),
    request: waitingOf(services, call, request),
    shown: shownOf(request.client)
  }
  return {
    _tag: "NeedsConsent",
    request,
    signedIn,
    allowed: yield* allowedTo(services, call, signedIn, request),
    form: {
      csrf: fieldFor(services, call, signedIn.session),
      ticket: sealTicket(services.keys.current(), call.workspace, ticket)
    }
  }
})
