import { Effect, Option, Result } from "effect"
import type { Client } from "../client/Client.ts"
import { allowedBefore, connectionsIn, grantsHeldBy } from "../engine/connections.ts"
import type { Consent } from "../grant/Grant.ts"
import { fieldFor } from "../http/csrf.ts"
import type { Call, Services } from "../http/Route.ts"
import type { SignedIn } from "../ports/ResourceOwner.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import type { PlaceId } from "../rules/Id.ts"
import { later } from "../rules/Instant.ts"
import {
  ConsentRequired,
  InteractionRequired,
  type InvalidRequestUri,
  InvalidScope,
  LoginRequired,
  type PortUnavailable,
  type Refusal,
  UnmetAuthentication,
  type UntrustedRequest
} from "../rules/Refusal.ts"
import type { ScopeName } from "../rules/Scope.ts"
import { policyAt, scopesOf } from "../workspace/Workspace.ts"
import { shownOf, type Waiting } from "./AuthorizationRequest.ts"
import { lastPlace, type Offer, offerTo, placedAt } from "./places.ts"
import { namesPushed, queryOfVisit, visitPushed } from "./pushed.ts"
import { type CheckedRequest, type Returned, readAuthorizationRequest, waitingOf } from "./readRequest.ts"
import { rememberedConsent } from "./rememberedConsent.ts"
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
      readonly offer: Offer
      readonly last: PlaceId | undefined
      /** What the answer has to bring back, with `decision`. */
      readonly form: { readonly csrf: string; readonly ticket: string }
    }
  /** A person's yes to an earlier page answers this request too. */
  | {
      readonly _tag: "Remembered"
      readonly signedIn: SignedIn
      readonly waiting: Waiting
      readonly client: Client
      readonly consent: Consent
      readonly query: string
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
): Effect.Effect<Asked, UntrustedRequest | InvalidRequestUri | PortUnavailable | StorageUnavailable> => {
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

/** What a person's earlier grants say: of a choice of places, what is allowed at all of them. */
export const earlierOf = (
  services: Services,
  { now, workspace }: Call,
  { user }: SignedIn,
  asked: Pick<CheckedRequest, "client" | "resources" | "scope" | "place">,
  offer: Offer
) =>
  Effect.map(
    connectionsIn((slice) => services.grants.ofUser(workspace.id, user, slice), {
      policy: services.policy,
      now,
      trusted: Effect.map(services.openings.current(workspace, now), ({ trustedIssuers }) => trustedIssuers)
    }),
    ({ connections }) => {
      const registry = scopesOf(services.policy, workspace)
      const grantsAt = (place: PlaceId | undefined) => {
        const found = connections.find((one) => one.client === asked.client.id && one.place === place)
        return grantsHeldBy(asked.client, found?.grants ?? [], now)
      }
      const places = offer._tag === "Choice" ? offer.places.map(({ id }) => id) : [asked.place]
      const allowed = places.map((place) => allowedBefore(grantsAt(place), registry, asked))
      return {
        allowed: asked.scope.filter((name) => allowed.every((names) => names.includes(name))),
        last: lastPlace(connections),
        /** At the one place that there is, or without any. */
        grants: offer._tag === "Choice" ? [] : grantsAt(asked.place)
      }
    }
  )

/** RFC 6749 §4.1.1: what an authorization request comes to. The client is checked before a person is asked to sign in. */
export const interaction = Effect.fnUntraced(function* (
  services: Services,
  call: Call
): Effect.fn.Return<Interaction, PortUnavailable | StorageUnavailable> {
  const read = yield* Effect.result(readAsked(services, call))
  if (Result.isFailure(read)) {
    const { failure } = read
    if (failure._tag === "StorageUnavailable" || failure._tag === "PortUnavailable") return yield* failure
    return { _tag: "Page", refusal: failure }
  }
  const { query, request: found, waiting } = read.success
  if (Result.isFailure(found)) return { _tag: "Redirect", returned: found.failure, query }
  const asked = found.success
  const back = (refusal: Refusal): Interaction => ({ _tag: "Redirect", returned: { path: asked, refusal }, query })
  const { prompt = [] } = asked
  const current = Option.getOrUndefined(yield* services.owner.current(call.workspace, call.request))
  const step = signInStep(services, { ...call, request: { ...call.request, query } }, prompt, current, asked.signIn)
  if (step._tag === "Ask") return { ...step, _tag: "NeedsLogin", request: asked }
  if (step._tag === "Missing") return back(new LoginRequired())
  if (step._tag === "Unmet") return back(new UnmetAuthentication())
  const { signedIn } = step
  const offer = yield* offerTo(services, call.workspace, signedIn.user, asked.scope)
  if (offer._tag === "Refused") return back(new InvalidScope({ reason: "none_to_be_had" }))
  const request = offer._tag === "Here" ? placedAt(asked, offer.place) : asked
  const isSilent = prompt.includes("none")
  if (isSilent && offer._tag === "Choice") return back(new InteractionRequired({ reason: "place" }))
  const policy = policyAt(services.policy, call.workspace)
  if (isSilent && policy.consent === "ask") return back(new ConsentRequired())
  const whole = waiting ?? waitingOf(services, request, later(call.now, policy.consentTtl))
  const placed = offer._tag === "Here" ? placedAt(whole, offer.place) : whole
  const { grants, ...earlier } = yield* earlierOf(services, call, signedIn, request, offer)
  const consent = rememberedConsent(grants, request, policy, policy.scopes, call.now)
  if (consent !== undefined) {
    return { _tag: "Remembered", signedIn, waiting: placed, client: request.client, consent, query }
  }
  if (isSilent) return back(new ConsentRequired())
  const ticket = {
    reader: readerOf(signedIn),
    request: placed,
    shown: shownOf(request.client),
    ...(offer._tag === "Choice" ? { chooses: true } : {})
  }
  return {
    _tag: "NeedsConsent",
    request,
    query,
    signedIn,
    offer,
    ...earlier,
    form: {
      csrf: fieldFor(services, call, signedIn.session),
      ticket: sealTicket(services.keys.current(), call.workspace, ticket)
    }
  }
})
