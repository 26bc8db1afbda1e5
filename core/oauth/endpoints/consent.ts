import { Effect, Option, Result } from "effect"
import { endGrant } from "../../engine/administration.ts"
import type { Approval } from "../../engine/Grants.ts"
import { seeOther } from "../../http/answer.ts"
import { noteOf, occasionBy, refused } from "../../http/audit.ts"
import { requireOwn } from "../../http/csrf.ts"
import { commonErrorPage } from "../../http/faults.ts"
import { readForm } from "../../http/form.ts"
import type { HttpResponse } from "../../http/Http.ts"
import { type Call, type Endpoint, type Handler, type Parts, page, pageEndpoint } from "../../http/Route.ts"
import { addressOf } from "../../http/returnUrl.ts"
import { nothingToApprove } from "../../pages/CommonErrors.ts"
import type { ConsentAnsweredPage } from "../../pages/ConsentAnswered.ts"
import { allowances } from "../../ports/Limiter.ts"
import type { SignedIn } from "../../ports/ResourceOwner.ts"
import type { StorageUnavailable } from "../../ports/Storage.ts"
import {
  type AuthorizationRequest,
  readAuthorizationRequest,
  returnRefusal,
  returnTo
} from "../../request/AuthorizationRequest.ts"
import { shownTerms, ticketBinding } from "../../request/interaction.ts"
import { openTicket, wasShown } from "../../request/Ticket.ts"
import { type GrantId, grantMark } from "../../rules/Id.ts"
import { AccessDenied, ForgedForm, type Refusal } from "../../rules/Refusal.ts"
import { formatScopes } from "../../rules/Scope.ts"
import { authorizeAt, consentPath } from "../../workspace/Workspace.ts"

/** What the answer to a consent page came to: data, for whoever tells the person. */
export type ConsentDecision =
  | { readonly _tag: "SignIn"; readonly at: string }
  | { readonly _tag: "Return"; readonly to: string }
  | { readonly _tag: "Answered"; readonly page: ConsentAnsweredPage }

const back = (to: string): ConsentDecision => ({ _tag: "Return", to })

const answered = (request: AuthorizationRequest, answer: ConsentAnsweredPage["answer"]): ConsentDecision => ({
  _tag: "Answered",
  page: { client: request.client.about.client_name, answer }
})

const withCode = (call: Call, request: AuthorizationRequest, code: string): string =>
  returnTo(request, call.workspace.issuer, [["code", code]])

/** A second click, the back button, a reload: what the first answer came to, and never a second grant. */
const again = (
  call: Call,
  request: AuthorizationRequest,
  approval: Exclude<Approval, { readonly _tag: "None" }>
): ConsentDecision => {
  switch (approval._tag) {
    case "Waiting":
      return answered(request, { state: "waiting", continueTo: withCode(call, request, approval.code) })
    case "Used":
      return answered(request, { state: "used" })
    case "Expired":
      return answered(request, { state: "expired" })
  }
}

const approve = Effect.fnUntraced(function* (
  parts: Parts,
  call: Call,
  request: AuthorizationRequest,
  signedIn: SignedIn,
  grant: GrantId
) {
  const approved = {
    client: request.client.id,
    user: signedIn.user,
    redirectUri: request.target,
    challenge: request.challenge,
    scope: request.scope,
    resource: request.resource
  }
  const begun = yield* Effect.result(parts.grants.begin(call.workspace.id, approved, grant))
  if (Result.isSuccess(begun)) {
    yield* noteOf(parts, call, {
      _tag: "ConsentGiven",
      client: request.client.id,
      user: signedIn.user,
      scope: formatScopes(request.scope),
      grant: grantMark(grant)
    })
    return back(withCode(call, request, begun.success))
  }
  if (begun.failure._tag !== "Conflict") return yield* begun.failure
  const approval = yield* parts.grants.approvalOf(call.workspace.id, grant)
  return again(call, request, approval._tag === "None" ? { _tag: "Expired" } : approval)
})

const deny = Effect.fnUntraced(function* (
  parts: Parts,
  call: Call,
  request: AuthorizationRequest,
  signedIn: SignedIn,
  grant: GrantId
) {
  const approval = yield* parts.grants.approvalOf(call.workspace.id, grant)
  if (approval._tag === "Used") return again(call, request, approval)
  // No, after a yes that nobody has made use of yet.
  if (approval._tag !== "None") {
    yield* endGrant(parts, occasionBy(call, signedIn.user), grant)
  }
  yield* noteOf(parts, call, { _tag: "ConsentDenied", client: request.client.id, user: signedIn.user })
  return back(returnRefusal({ path: request, refusal: new AccessDenied() }, call.workspace.issuer))
})

/** The answer to a consent page. The request is read anew: nothing in the form is believed but what the ticket seals. */
export const consentDecision = Effect.fnUntraced(function* (
  parts: Parts,
  call: Call
): Effect.fn.Return<ConsentDecision, Refusal | StorageUnavailable> {
  const form = yield* Effect.fromResult(readForm(call.request))
  const query = form.get("request")
  const ticket = form.get("ticket")
  const decision = form.get("decision")
  if (query === undefined || ticket === undefined || (decision !== "approve" && decision !== "deny")) {
    return yield* new ForgedForm({ reason: "field_missing" })
  }
  const here = yield* parts.owner.current(call.workspace, call.request)
  if (Option.isNone(here)) {
    const authorize = addressOf(authorizeAt(call.workspace), query)
    return { _tag: "SignIn", at: parts.owner.signInAt(call.workspace, authorize) }
  }
  const { session, user } = here.value
  yield* parts.limiter.take({ allowance: allowances.account, workspace: call.workspace.id, of: user })
  yield* requireOwn(parts, call, session, form)
  const opened = openTicket(parts.keys.current(), call.workspace.id, ticket, ticketBinding(here.value, query), call.now)
  if (Result.isFailure(opened) && opened.failure === "ticket") return yield* new ForgedForm({ reason: "ticket" })
  const read = yield* readAuthorizationRequest(parts, call, query)
  if (Result.isFailure(read)) {
    yield* refused(parts.audit, call, read.failure.refusal)
    return back(returnRefusal(read.failure, call.workspace.issuer))
  }
  const request = read.success
  if (Result.isFailure(opened)) {
    yield* refused(parts.audit, call, new ForgedForm({ reason: "expired" }))
    return answered(request, { state: "expired" })
  }
  if (!wasShown(opened.success, shownTerms(request))) return yield* new ForgedForm({ reason: "ticket" })
  return yield* (decision === "approve" ? approve : deny)(parts, call, request, here.value, opened.success.grant)
})

const draw = (parts: Parts, call: Call, decision: ConsentDecision): HttpResponse => {
  switch (decision._tag) {
    case "SignIn":
      return seeOther(decision.at)
    case "Return":
      return seeOther(decision.to)
    case "Answered":
      return parts.pages.consentAnswered(call.workspace, decision.page)
  }
}

/** A browser's form, answered with a page or with the way on. */
const consentHandler =
  (parts: Parts): Handler =>
  (call) =>
    Effect.map(consentDecision(parts, call), (decision) => draw(parts, call, decision))

/** The page itself is only ever an answer to an authorization request; whoever comes here by hand is told so. */
const consentMissingHandler =
  (parts: Parts): Handler =>
  (call) =>
    Effect.succeed(commonErrorPage(parts.pages, call, nothingToApprove))

export const consentEndpoint: Endpoint = pageEndpoint(consentPath, {
  GET: page(consentMissingHandler),
  POST: page(consentHandler)
})
