import { Effect, Option, Result } from "effect"
import { allowedBefore, connectionsIn } from "../engine/connections.ts"
import { fieldFor } from "../http/csrf.ts"
import type { Call, Services } from "../http/Route.ts"
import type { SignedIn } from "../ports/ResourceOwner.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { later } from "../rules/Instant.ts"
import { ConsentRequired, type InvalidRequestUri, LoginRequired, type UntrustedRequest } from "../rules/Refusal.ts"
import type { ScopeName } from "../rules/Scope.ts"
import { scopesOf } from "../workspace/Workspace.ts"
import { shownOf, type Waiting } from "./AuthorizationRequest.ts"
import { namesPushed, queryOfVisit, visitPushed } from "./pushed.ts"
import { type CheckedRequest, type Returned, readAuthorizationRequest, waitingOf } from "./readRequest.ts"
import { keepingStamp, signInStep } from "./signInAsked.ts"
import { readerOf, sealTicket } from "./Ticket.ts"

/** What has to happen next for an authorization request: data, for the endpoint that draws it. */
export type Interaction =
  /** Signs in at `at`, and comes back to `returnTo`. */
  | { readonly _tag: "NeedsLogin"; readonly request: CheckedRequest; readonly at: string; readonly returnTo: string }
  | {
      readonly _tag: "NeedsConsent"
      readonly request: CheckedRequest
      /** The query of the authorization endpoint by which a browser comes back to this request. */
      readonly query: string
      readonly signedIn: SignedIn
      /** Of the scopes, those that the person let the client have before, and that it still has. */
      readonly allowed: ReadonlyArray<ScopeName>
      /** What the answer has to bring back, with `decision`. */
      readonly form: { readonly csrf: string; readonly ticket: string }
    }
  | { readonly _tag: "Redirect"; readonly returned: Returned; readonly query: string }
  | { readonly _tag: "Page"; readonly refusal: UntrustedRequest | InvalidRequestUri }

/** What a browser asks for. */
interface Asked {
  readonly request: Result.Result<CheckedRequest, Returned>
  readonly query: string
  /** Of a request that was pushed: as it was kept. */
  readonly waiting?: Waiting
}

/** RFC 9126 §4: a `request_uri` of ours stands for the whole request; any other is one that is not to be had. */
const readAsked = (
  services: Services,
  call: Call
): Effect.Effect<Asked, UntrustedRequest | InvalidRequestUri | StorageUnavailable> => {
  const { query } = call.request
  if (!namesPushed(query)) {
    return Effect.map(readAuthorizationRequest(services, call, query), (request) => ({ request, query }))
  }
  return Effect.map(visitPushed(services, call), ({ request, waiting }) => ({
    request,
    waiting,
    query: keepingStamp(queryOfVisit(services.keys.current(), call.workspace, waiting), query)
  }))
}

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
  const read = yield* Effect.result(readAsked(services, call))
  if (Result.isFailure(read)) {
    if (read.failure._tag === "StorageUnavailable") return yield* read.failure
    return { _tag: "Page", refusal: read.failure }
  }
  const { query, request: asked, waiting } = read.success
  if (Result.isFailure(asked)) return { _tag: "Redirect", returned: asked.failure, query }
  const request = asked.success
  const { prompt = [] } = request
  const current = Option.getOrUndefined(yield* services.owner.current(call.workspace, call.request))
  const step = signInStep(services, { ...call, request: { ...call.request, query } }, prompt, current)
  if (step._tag === "Ask") return { ...step, _tag: "NeedsLogin", request }
  if (step._tag === "Missing") {
    return { _tag: "Redirect", returned: { path: request, refusal: new LoginRequired() }, query }
  }
  const { signedIn } = step
  if (prompt.includes("none")) {
    return { _tag: "Redirect", returned: { path: request, refusal: new ConsentRequired() }, query }
  }
  const ticket = {
    reader: readerOf(signedIn),
    request: waiting ?? waitingOf(services, request, later(call.now, services.policy.consentTtl)),
    shown: shownOf(request.client)
  }
  return {
    _tag: "NeedsConsent",
    request,
    query,
    signedIn,
    allowed: yield* allowedTo(services, call, signedIn, request),
    form: {
      csrf: fieldFor(services, call, signedIn.session),
      ticket: sealTicket(services.keys.current(), call.workspace, ticket)
    }
  }
})
