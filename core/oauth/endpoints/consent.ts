import { Effect, Option, Result } from "effect"
import { broughtAs } from "../../client/Brought.ts"
import { type Client, knownAs } from "../../client/Client.ts"
import { profileOf } from "../../client/Profile.ts"
import type { Met, NoSuchClient } from "../../engine/BroughtClients.ts"
import type { Approval } from "../../engine/Grants.ts"
import { transactOrFail } from "../../engine/transact.ts"
import { authenticationOf } from "../../grant/Authentication.ts"
import type { Decision } from "../../grant/Decision.ts"
import { type Consent, placeOf } from "../../grant/Grant.ts"
import { seeOther } from "../../http/answer.ts"
import { auditContextOf, noteOf, refused } from "../../http/audit.ts"
import { requireOwn } from "../../http/csrf.ts"
import type { Fault } from "../../http/Fault.ts"
import { commonErrorPage } from "../../http/faults.ts"
import { type Parameters, readForm } from "../../http/form.ts"
import type { HttpResponse } from "../../http/Http.ts"
import { type Call, type Endpoint, type Handler, page, pageEndpoint, type Services } from "../../http/Route.ts"
import { addressOf } from "../../http/returnUrl.ts"
import { nothingToApprove } from "../../pages/CommonErrors.ts"
import type { ConsentPage } from "../../pages/Consent.ts"
import type { ConsentAnsweredPage } from "../../pages/ConsentAnswered.ts"
import { allowances, askerOf } from "../../ports/Limiter.ts"
import type { SignedIn } from "../../ports/ResourceOwner.ts"
import type { StorageUnavailable } from "../../ports/Storage.ts"
import {
  type Answering,
  type AuthorizationRequest,
  approve,
  deny,
  type Outcome,
  redirectUriOf,
  shownOf,
  termsOf,
  type Waiting
} from "../../request/AuthorizationRequest.ts"
import { earlierOf, type Interaction } from "../../request/interaction.ts"
import { chosenIn, type Offer, offerTo, placedAt } from "../../request/places.ts"
import { queryAgain } from "../../request/pushed.ts"
import { type CheckedRequest, returnRefusal, returnTo } from "../../request/readRequest.ts"
import { consentGiven } from "../../request/rememberedConsent.ts"
import { openTicket, readerOf } from "../../request/Ticket.ts"
import { claimsWithin } from "../../rules/Claims.ts"
import { type GrantId, grantIdOf, grantMark, idLength } from "../../rules/Id.ts"
import {
  AccessDenied,
  Contended,
  ForgedForm,
  LoginRequired,
  type PortUnavailable,
  type Refusal,
  UntrustedRequest
} from "../../rules/Refusal.ts"
import { formatScopes } from "../../rules/Scope.ts"
import { sameDigest } from "../../rules/Secret.ts"
import { inSession } from "../../workspace/SessionPath.ts"
import { authorizeAt, consentPath, policyAt } from "../../workspace/Workspace.ts"
import { asksTick, consentModel } from "./consentModel.ts"

/** What the answer to a consent page came to: data, for the endpoint that tells the person. */
export type ConsentDecision =
  | { readonly _tag: "SignIn"; readonly at: string }
  | { readonly _tag: "Return"; readonly to: string }
  | { readonly _tag: "Answered"; readonly page: ConsentAnsweredPage }
  /** Searched for a place; or approved without one, or without the tick that this client's page asks for. */
  | {
      readonly _tag: "Again"
      readonly page: ConsentPage
      readonly lacks: "place" | "tick" | undefined
      readonly startAgainAt: string
    }
  /** The person has other places by now than the page was drawn for. */
  | { readonly _tag: "Outdated"; readonly startAgainAt: string }

const back = (to: string): ConsentDecision => ({ _tag: "Return", to })

const answered = (client: Client, answer: ConsentAnsweredPage["answer"]): ConsentDecision => ({
  _tag: "Answered",
  page: { client: knownAs(client), answer }
})

/** A page that is answered again: a second click, the back button, a reload, another tab. */
const again = (step: Answering, client: Client, to: Approval, issuer: string) => {
  switch (to._tag) {
    case "Waiting":
      return withCode(step, client, to.code, issuer, (continueTo) => answered(client, { state: "waiting", continueTo }))
    case "Used":
      return answered(client, { state: "used" })
    case "Denied":
      return answered(client, { state: "denied" })
    case "None":
    case "Expired":
      return answered(client, { state: "expired" })
  }
}

/** The way on with a code. A device has none to go, and fetches what was approved by itself. */
const withCode = (
  { waiting: { to } }: Answering,
  client: Client,
  code: string,
  issuer: string,
  goOn: (to: string) => ConsentDecision
): ConsentDecision =>
  to._tag === "Redirect" ? goOn(returnTo(to, issuer, [["code", code]])) : answered(client, { state: "approved" })

const refusedTo = (
  { waiting: { to } }: Answering,
  client: Client,
  refusal: Refusal,
  issuer: string
): ConsentDecision =>
  to._tag === "Redirect"
    ? back(returnRefusal(to, refusal, issuer))
    : answered(client, { state: refusal._tag === "AccessDenied" ? "denied" : "expired" })

/** What comes of an answer that changes nothing, and what the operator may know of it. */
const unchanged = Effect.fnUntraced(function* (
  services: Services,
  call: Call,
  step: Answering,
  outcome: Exclude<Outcome, { readonly _tag: "Approved" }>
) {
  const { issuer } = call.workspace
  switch (outcome._tag) {
    case "Denied":
      return again(step, outcome.client, outcome, issuer)
    case "Expired":
      yield* refused(services.audit, call, new ForgedForm({ reason: "expired" }))
      return again(step, outcome.client, outcome, issuer)
    case "Returned":
      yield* refused(services.audit, call, outcome.refusal)
      return refusedTo(step, outcome.client, outcome.refusal, issuer)
  }
})

const decideOn = <A, E>(
  services: Services,
  call: Call,
  { waiting }: Answering,
  decide: (found: AuthorizationRequest | undefined) => Decision<A, E, AuthorizationRequest>
) => transactOrFail(services.requests, services.entropy, call.workspace.id, waiting.id, decide)

/** Whether the session ended, or began to, while its consent was written. */
const hasEnded = Effect.fnUntraced(function* (
  { logouts, owner }: Services,
  { now, request, workspace }: Call,
  { name, session, user }: SignedIn
): Effect.fn.Return<boolean, StorageUnavailable> {
  if (yield* logouts.isEnding(workspace.id, user, name ?? session, now)) return true
  const current = yield* owner.current(workspace, request)
  return Option.isNone(current) || current.value.session !== session || current.value.user !== user
})

/** Also where no page was drawn, since one before it was answered. */
const approved = Effect.fnUntraced(function* (services: Services, call: Call, step: Answering, here: SignedIn) {
  const fresh = grantIdOf(services.entropy.bytes(idLength))
  const outcome = yield* decideOn(services, call, step, (found) => approve(found, step, fresh))
  if (outcome._tag !== "Approved") return yield* unchanged(services, call, step, outcome)
  const { issuer } = call.workspace
  // A record that may make room for others stays from now on.
  const { brought = outcome.client.origin?.asSealed === true ? broughtAs(outcome.client) : undefined } = step.waiting
  // The client before its grant, which is one of no client otherwise.
  if (brought !== undefined) {
    const admitted = services.brought.admit(call.workspace, auditContextOf(call), brought)
    yield* Effect.catchTag(admitted, "NoSuchClient", untrusted(step.waiting))
  }
  const covers = claimsWithin(services.claimScopes, step.waiting.scope)
  const authentication = authenticationOf(issuer, step.waiting, here, covers)
  const begun = yield* Effect.result(
    services.grants.begin(
      call.workspace,
      {
        ...termsOf(step.waiting, step.person, profileOf(outcome.client, step.policy), authentication),
        ...consentIn(step, outcome)
      },
      outcome.grant
    )
  )
  if (Result.isSuccess(begun)) {
    // What names no session outlives every one.
    if (authentication?.sid !== undefined && (yield* hasEnded(services, call, here))) {
      yield* services.grants.revokeGrant(call.workspace.id, outcome.grant, "by_user")
      const refusal = new LoginRequired()
      yield* refused(services.audit, call, refusal)
      return refusedTo(step, outcome.client, refusal, issuer)
    }
    yield* noteOf(services, call, {
      _tag: "ConsentGiven",
      client: outcome.client.id,
      user: step.person,
      scope: formatScopes(step.waiting.scope),
      grant: grantMark(outcome.grant),
      ...placeOf(step.waiting),
      ...(step.waiting.to._tag === "Device" ? { device: true as const } : {}),
      ...(step.remembered === undefined ? {} : { remembered: true as const })
    })
    return withCode(step, outcome.client, begun.success, issuer, back)
  }
  if (begun.failure._tag !== "Conflict") return yield* begun.failure
  return again(step, outcome.client, yield* services.grants.approvalOf(call.workspace, outcome.grant), issuer)
})

/** What the grant keeps of the yes that it begins with. */
const consentIn = (
  { now, policy, remembered, waiting }: Answering,
  { client }: Extract<Outcome, { readonly _tag: "Approved" }>
): { readonly consent?: Consent } => {
  const { to } = waiting
  const consent = remembered ?? consentGiven(policy, client, to, now)
  return consent === undefined ? {} : { consent }
}

/** RFC 6749 §4.1.2: a request that an earlier yes answers. */
export const approveRemembered = (
  services: Services,
  call: Call,
  { client, consent, signedIn, waiting }: Extract<Interaction, { readonly _tag: "Remembered" }>
): Effect.Effect<HttpResponse, UntrustedRequest | Contended | StorageUnavailable> => {
  const step: Answering = {
    waiting,
    shown: shownOf(client),
    client,
    person: signedIn.user,
    policy: policyAt(services.policy, call.workspace),
    now: call.now,
    remembered: consent
  }
  return approved(services, call, step, signedIn).pipe(
    Effect.map((decision) => draw(services, call, decision)),
    // The client changed between its reading and now: the next try shows the page.
    Effect.catchTag("ForgedForm", () => Effect.fail(new Contended()))
  )
}

/** No, after a yes, ends what the yes began; but where the client has its tokens by now, the person is told that. */
const takenBack = Effect.fnUntraced(function* (
  services: Services,
  call: Call,
  step: Answering,
  { client, grant }: { readonly client: Client; readonly grant: GrantId }
) {
  const terms = termsOf(step.waiting, step.person, profileOf(client, step.policy))
  const ended = yield* services.grants.withdraw(call.workspace.id, terms, grant)
  if (ended === "withdrawn") {
    const by = step.person
    yield* noteOf(services, call, { _tag: "GrantRevoked", grant: grantMark(grant), why: "by_user", by })
  }
  return ended !== "used"
})

const denied = Effect.fnUntraced(function* (services: Services, call: Call, step: Answering) {
  let outcome = yield* decideOn(services, call, step, (found) => deny(found, step))
  if (outcome._tag === "Approved") {
    const { client, grant } = outcome
    if (!(yield* takenBack(services, call, step, outcome))) return answered(client, { state: "used" })
    outcome = yield* decideOn(services, call, step, (found) => deny(found, step, grant))
  }
  // An approval names one grant for good, and that one has ended.
  if (outcome._tag === "Approved") return yield* new Contended()
  if (outcome._tag !== "Denied") return yield* unchanged(services, call, step, outcome)
  if (outcome.anew) {
    yield* noteOf(services, call, { _tag: "ConsentDenied", client: outcome.client.id, user: step.person })
  }
  return refusedTo(step, outcome.client, new AccessDenied(), call.workspace.issuer)
})

interface Asking {
  readonly signedIn: SignedIn
  readonly request: CheckedRequest
  readonly offer: Offer
  readonly form: Parameters
  readonly query: string
}

const untold = {
  place: "Choose where it may act for you. What you chose before is not to be had any more, or nothing was.",
  tick: "Tick this box if it is true. If it is not, deny."
} as const

/** The page once more, with what it was sent. */
const pageAgain = Effect.fnUntraced(function* (
  services: Services,
  call: Call,
  { form, offer, query, request, signedIn }: Asking,
  lacks: "place" | "tick" | undefined
): Effect.fn.Return<ConsentDecision, StorageUnavailable> {
  const sent = { csrf: form.get("csrf") ?? "", ticket: form.get("ticket") ?? "" }
  const earlier = yield* earlierOf(services, call, signedIn, request, offer)
  const next = { _tag: "NeedsConsent", request, query, signedIn, offer, ...earlier, form: sent } as const
  const page = consentModel(services, call, next, {
    chosen: form.get("place"),
    search: form.get("place_search"),
    problem: lacks === "place" ? untold.place : undefined
  })
  const told = lacks === "tick" ? { ...page, problem: untold.tick } : page
  return { _tag: "Again", page: told, lacks, startAgainAt: addressOf(authorizeAt(call.workspace), query) }
})

const isDecision = (text: string | undefined): text is "approve" | "deny" | "search" =>
  text === "approve" || text === "deny" || text === "search"

/** A document of which no client comes by now. */
const untrusted =
  ({ to }: Waiting) =>
  ({ reason }: NoSuchClient) =>
    Effect.fail(
      new UntrustedRequest({ reason: reason === "unknown" ? "client_unknown" : reason, ...redirectUriOf(to) })
    )

/** The client as it is at the answer. A yes is given to a document that is fresh; for a no, nothing is asked. */
const meetAgain = Effect.fnUntraced(function* (
  services: Services,
  call: Call,
  waiting: Waiting,
  decision: "approve" | "deny" | "search"
): Effect.fn.Return<Partial<Met>, UntrustedRequest | PortUnavailable | StorageUnavailable> {
  const { workspace } = call
  const stored = yield* services.clients.find(workspace.id, waiting.client)
  const identifier = waiting.brought?.identifier ?? stored?.origin?.identifier
  if (identifier === undefined) return stored === undefined ? {} : { client: stored }
  if (decision === "approve") {
    const met = services.brought.meet(workspace, identifier, waiting.brought, askerOf(call.request))
    return yield* Effect.catchTag(met, "NoSuchClient", untrusted(waiting))
  }
  const { brought } = waiting
  const client = brought === undefined ? stored : services.brought.asRead(workspace, brought, stored)
  return client === undefined ? {} : { client }
})

/** The answer to a consent page. Nothing in the form is believed but the ticket, which holds what the page was drawn for. */
export const consentDecision = Effect.fnUntraced(function* (
  services: Services,
  call: Call
): Effect.fn.Return<ConsentDecision, Fault> {
  const { workspace } = call
  const form = yield* Effect.fromResult(readForm(call.request))
  const sealed = form.get("ticket")
  const decision = form.get("decision")
  if (sealed === undefined || !isDecision(decision)) {
    return yield* new ForgedForm({ reason: "field_missing" })
  }
  const ticket = openTicket(services.keys.current(), workspace, sealed)
  const query = ticket && queryAgain(services.keys.current(), workspace, ticket.request)
  const startAgainAt = query && addressOf(authorizeAt(workspace), query)
  const forged = (reason: ForgedForm["reason"]) =>
    new ForgedForm({ reason, ...(startAgainAt && { startAgainAt: inSession(workspace, startAgainAt) }) })
  const here = Option.getOrUndefined(yield* services.owner.current(workspace, call.request))
  if (here === undefined) {
    return startAgainAt === undefined
      ? yield* forged("ticket")
      : { _tag: "SignIn", at: services.owner.signInAt(workspace, startAgainAt) }
  }
  const { session, user: person } = here
  yield* services.limiter.take({ allowance: allowances.account, workspace: workspace.id, of: person })
  yield* Effect.mapError(requireOwn(services, call, session, form), ({ reason }) => forged(reason))
  if (ticket === undefined || query === undefined || !sameDigest(ticket.reader, readerOf(here)))
    return yield* forged("ticket")
  const { chooses = false, request, shown } = ticket
  const { brought, client } = yield* meetAgain(services, call, request, decision)
  const waiting = brought === undefined ? request : { ...request, brought }
  const stepFor = (waiting: Waiting): Answering => ({
    waiting,
    shown,
    client,
    person,
    policy: policyAt(services.policy, workspace),
    now: call.now
  })
  const decided = (step: Answering, by: typeof approved) =>
    Effect.catchTag(by(services, call, step, here), "ForgedForm", ({ reason }) => forged(reason))
  if (decision === "deny" || client === undefined) return yield* decided(stepFor(waiting), denied)
  const offer = yield* offerTo(services, workspace, person, waiting.scope)
  const asking = { signedIn: here, request: { ...waiting, client }, offer, form, query }
  if (decision === "search") return yield* pageAgain(services, call, asking, undefined)
  const chosen = chosenIn(offer, { place: waiting.place, chooses }, form.get("place"))
  if (chosen._tag === "Outdated") return { _tag: "Outdated", startAgainAt: addressOf(authorizeAt(workspace), query) }
  if (chosen._tag === "Choose") return yield* pageAgain(services, call, asking, "place")
  // A client that became its own while the page was read is refused below, whatever was ticked.
  const wasAsked = shown.madeBy === "itself" || waiting.to._tag === "Device"
  if (wasAsked && form.get("acknowledged") !== "yes" && asksTick(asking.request)) {
    yield* refused(services.audit, call, forged("field_missing"))
    return yield* pageAgain(services, call, asking, "tick")
  }
  return yield* decided(stepFor(chosen.place === undefined ? waiting : placedAt(waiting, chosen.place)), approved)
})

const draw = (services: Services, call: Call, decision: ConsentDecision): HttpResponse => {
  switch (decision._tag) {
    case "SignIn":
      return seeOther(decision.at)
    case "Return":
      return seeOther(decision.to)
    case "Answered":
      return services.pages.consentAnswered(call.workspace, decision.page)
    case "Outdated":
      return seeOther(inSession(call.workspace, decision.startAgainAt))
    case "Again": {
      if (services.pages.consentAt !== undefined) return seeOther(inSession(call.workspace, decision.startAgainAt))
      const page = services.pages.consent(call.workspace, decision.page)
      return decision.lacks === undefined ? page : { ...page, status: 400 }
    }
  }
}

/** A browser's form, answered with a page or with the way on. */
const consentHandler =
  (services: Services): Handler =>
  (call) =>
    Effect.map(consentDecision(services, call), (decision) => draw(services, call, decision))

/** The page only ever answers an authorization request; a person who opens it by hand is told so. */
const consentMissingHandler =
  (services: Services): Handler =>
  (call) =>
    Effect.succeed(commonErrorPage(services.pages, call, nothingToApprove))

export const consentEndpoint: Endpoint = pageEndpoint(consentPath, {
  GET: page(consentMissingHandler),
  POST: page(consentHandler)
})
