import { Effect, Option } from "effect"
import { seeOther } from "../http/answer.ts"
import type { Call, Endpoint } from "../http/Call.ts"
import { readForm } from "../http/form.ts"
import type { HttpResponse } from "../http/Http.ts"
import { noteOf } from "../http/occasion.ts"
import type { Parts } from "../http/Parts.ts"
import { fieldFor, requireOwn } from "../http/sessionForm.ts"
import { signedOutPage } from "../pages/SignedOut.ts"
import { signOutPage } from "../pages/SignOut.ts"
import { basePath } from "../workspace/Workspace.ts"
import type { Accounts } from "./Accounts.ts"
import { clearSessionCookie, readSessionCookie } from "./sessionCookie.ts"

/**
 * Only a cookie that came along is taken away. What another site's page asks for brings none, though its answer may set
 * and clear them: else anybody's page could sign a person out.
 */
const signedOut = (parts: Parts, call: Call): HttpResponse => {
  const brought = Option.isSome(readSessionCookie(call.workspace, call.request))
  return parts.pages.show(call.workspace, 200, signedOutPage, brought ? [clearSessionCookie(call.workspace)] : [])
}

/** A link alone signs nobody out: an image on another site could be that link. */
export const logoutFormEndpoint = (parts: Parts, accounts: Accounts["Service"]): Endpoint =>
  Effect.fnUntraced(function* (call) {
    const here = yield* accounts.here(call.workspace, call.request)
    if (Option.isNone(here)) return signedOut(parts, call)
    const csrf = fieldFor(parts, call, here.value.session.id)
    return parts.pages.show(call.workspace, 200, (place) =>
      signOutPage(place, { account: here.value.account.email, csrf })
    )
  })

export const logoutEndpoint = (parts: Parts, accounts: Accounts["Service"]): Endpoint =>
  Effect.fnUntraced(function* (call) {
    const form = yield* Effect.fromResult(readForm(call.request))
    const secret = readSessionCookie(call.workspace, call.request)
    // A form of another site brings no cookie though there may be a session; where it leads to brings what there is.
    if (Option.isNone(secret)) return seeOther(`${basePath(call.workspace.issuer)}/logout`)
    const here = yield* accounts.here(call.workspace, call.request)
    if (Option.isNone(here)) return signedOut(parts, call)
    const { session, account } = here.value
    yield* requireOwn(parts, call, session.id, form)
    yield* accounts.sessions.end(call.workspace.id, secret.value)
    yield* noteOf(parts, call, { _tag: "SignedOut", account: account.id })
    return signedOut(parts, call)
  })
