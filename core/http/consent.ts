import { Effect, Option, Result } from "effect"
import { nothingToApprove } from "../pages/CommonErrors.ts"
import type { ConsentState } from "../pages/ConsentAnswered.ts"
import { type AuditEvent, grantMark } from "../ports/Audit.ts"
import { allowances } from "../ports/allowances.ts"
import type { SignedIn } from "../ports/ResourceOwner.ts"
import type { GrantId } from "../rules/Id.ts"
import { AccessDenied, ForgedForm } from "../rules/Refusal.ts"
import { formatScopes } from "../rules/Scope.ts"
import type { Approval } from "../server/Grants.ts"
import { isCsrfField } from "../token/csrf.ts"
import { openTicket, wasShown } from "../token/Ticket.ts"
import { basePath } from "../workspace/Workspace.ts"
import { seeOther } from "./answer.ts"
import { type AuthorizationRequest, readAuthorizationRequest, returnRefusal, returnTo } from "./authorizationRequest.ts"
import type { Call, Endpoint } from "./Call.ts"
import { faultPage } from "./faultPage.ts"
import { readForm } from "./form.ts"
import type { HttpResponse } from "./Http.ts"
import type { Parts } from "./Parts.ts"
import { refused } from "./refused.ts"
import { shownTerms, ticketBinding } from "./ticketBinding.ts"

const note = (parts: Parts, call: Call, event: AuditEvent) =>
  parts.audit.record({ at: call.now, workspace: call.workspace.id, requestId: call.requestId, event })

const answered = (parts: Parts, call: Call, request: AuthorizationRequest, state: ConsentState): HttpResponse =>
  parts.pages.consentAnswered(call.workspace, { client: request.client.about.client_name, answer: state })

const withCode = (call: Call, request: AuthorizationRequest, code: string): string =>
  returnTo(request, call.workspace.issuer, [["code", code]])

/** A second click, the back button, a reload: what the first answer came to, and never a second grant. */
const again = (
  parts: Parts,
  call: Call,
  request: AuthorizationRequest,
  approval: Exclude<Approval, { readonly _tag: "None" }>
): HttpResponse => {
  switch (approval._tag) {
    case "Waiting":
      return answered(parts, call, request, { state: "waiting", continueTo: withCode(call, request, approval.code) })
    case "Used":
      return answered(parts, call, request, { state: "used" })
    case "Expired":
      return answered(parts, call, request, { state: "expired" })
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
    yield* note(parts, call, {
      _tag: "ConsentGiven",
      client: request.client.id,
      user: signedIn.user,
      scope: formatScopes(request.scope),
      grant: grantMark(grant)
    })
    return seeOther(withCode(call, request, begun.success))
  }
  if (begun.failure._tag !== "Conflict") return yield* begun.failure
  const approval = yield* parts.grants.approvalOf(call.workspace.id, grant)
  return again(parts, call, request, approval._tag === "None" ? { _tag: "Expired" } : approval)
})

const deny = Effect.fnUntraced(function* (
  parts: Parts,
  call: Call,
  request: AuthorizationRequest,
  signedIn: SignedIn,
  grant: GrantId
) {
  const approval = yield* parts.grants.approvalOf(call.workspace.id, grant)
  if (approval._tag === "Used") return again(parts, call, request, approval)
  // No, after a yes that nobody has made use of yet.
  if (approval._tag !== "None") {
    const outcome = yield* parts.grants.revokeGrant(call.workspace.id, grant, "by_user")
    if (outcome === "revoked") {
      yield* note(parts, call, { _tag: "GrantRevoked", grant: grantMark(grant), why: "by_user", by: signedIn.user })
    }
  }
  yield* note(parts, call, { _tag: "ConsentDenied", client: request.client.id, user: signedIn.user })
  return seeOther(returnRefusal({ path: request, refusal: new AccessDenied() }, call.workspace.issuer))
})

/** The answer to a consent page. The request is read anew: nothing in the form is believed but what the ticket seals. */
export const consentEndpoint = (parts: Parts): Endpoint =>
  Effect.fnUntraced(function* (call) {
    const form = yield* Effect.fromResult(readForm(call.request))
    const query = form.get("request")
    const ticket = form.get("ticket")
    const decision = form.get("decision")
    if (query === undefined || ticket === undefined || (decision !== "approve" && decision !== "deny")) {
      return yield* new ForgedForm({ reason: "field_missing" })
    }
    const here = yield* parts.owner.current(call.workspace, call.request)
    if (Option.isNone(here)) {
      const authorize = `${basePath(call.workspace.issuer)}/oauth/authorize?${query}`
      return seeOther(parts.owner.signInAt(call.workspace, authorize))
    }
    const { session, user } = here.value
    yield* parts.limiter.take({ allowance: allowances.account, workspace: call.workspace.id, of: user })
    const sealer = parts.keys.current()
    if (!isCsrfField(sealer, call.workspace.id, session, form.get("csrf") ?? "")) {
      return yield* new ForgedForm({ reason: "csrf" })
    }
    const opened = openTicket(sealer, call.workspace.id, ticket, ticketBinding(here.value, query), call.now)
    if (Result.isFailure(opened) && opened.failure === "ticket") return yield* new ForgedForm({ reason: "ticket" })
    const read = yield* Effect.result(readAuthorizationRequest(parts, call, query))
    if (Result.isFailure(read)) {
      if (read.failure._tag === "StorageUnavailable") return yield* read.failure
      yield* refused(parts.audit, call, read.failure)
      return faultPage(parts.pages, call, read.failure)
    }
    if (Result.isFailure(read.success)) {
      yield* refused(parts.audit, call, read.success.failure.refusal)
      return seeOther(returnRefusal(read.success.failure, call.workspace.issuer))
    }
    const request = read.success.success
    if (Result.isFailure(opened)) {
      yield* refused(parts.audit, call, new ForgedForm({ reason: "expired" }))
      return answered(parts, call, request, { state: "expired" })
    }
    if (!wasShown(opened.success, shownTerms(request))) return yield* new ForgedForm({ reason: "ticket" })
    return yield* (decision === "approve" ? approve : deny)(parts, call, request, here.value, opened.success.grant)
  })

/** The page itself is only ever an answer to an authorization request; whoever comes here by hand is told so. */
export const consentMissingEndpoint =
  (parts: Parts): Endpoint =>
  (call) => {
    const { status, ...words } = nothingToApprove
    return Effect.succeed(parts.pages.error(call.workspace, status, { ...words, requestId: call.requestId }))
  }
