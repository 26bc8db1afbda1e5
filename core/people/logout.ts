import { Effect } from "effect"
import { seeOther } from "../http/answer.ts"
import { noteOf } from "../http/audit.ts"
import { fieldFor, requireOwn } from "../http/csrf.ts"
import { readForm } from "../http/form.ts"
import type { HttpResponse } from "../http/Http.ts"
import type { Call, Handler, Services } from "../http/Route.ts"
import { hidden } from "../pages/Field.ts"
import { html } from "../pages/Html.ts"
import { card, type Document, type Place } from "../pages/Layout.ts"
import { pagesPath, rootOf } from "../workspace/SessionPath.ts"
import type { Accounts } from "./Accounts.ts"
import { clearSessionCookie, readSessionCookie } from "./Cookie.ts"
import { endSessions, farewellBy } from "./endSessions.ts"

/** Asks before it signs out, because a link led here. Posts `csrf` to `{base}/logout`. */
interface SignOutPage {
  readonly account: string
  readonly csrf: string
}

const signOutPage = (place: Place, model: SignOutPage): Document => ({
  name: "sign-out",
  title: "Sign out",
  formsEnd: "here",
  opener: "kept",
  body: card(
    place,
    html`<h1>Sign out?</h1>
<p class="lead">You are signed in as <bdi class="name">${model.account}</bdi>.</p>
<form method="post" action="${place.base}/logout">
${hidden({ csrf: model.csrf })}
<button class="button primary wide" type="submit">Sign out</button>
</form>
<p class="aside"><a href="${place.base}/settings">Stay signed in</a></p>`
  )
})

export const signedOutPage = (place: Place, session?: Document["session"]): Document => ({
  name: "signed-out",
  title: "Signed out",
  formsEnd: "here",
  opener: "kept",
  ...(session === undefined ? {} : { session }),
  body: card(
    place,
    html`<h1>You are signed out</h1>
<p class="prose">This browser no longer has access to your account. Applications that you connected may have it still; you can revoke it in the settings.</p>
<p class="actions"><a class="button primary wide" href="${place.base}/login">Sign in again</a></p>`
  )
})

/**
 * Clears the cookie only if the request had it. A request from another site's page has no cookie, but
 * its answer could clear one, so that any site could sign a person out.
 */
const signedOut = (services: Services, call: Call): HttpResponse => {
  const brought = readSessionCookie(call.workspace, call.request) !== undefined
  const headers = brought ? [clearSessionCookie(call.workspace)] : []
  const asked = call.request.method !== "POST"
  return services.pages.show(
    call.workspace,
    200,
    (place) => signedOutPage(place, asked ? { sought: `${rootOf(place)}/logout`, left: place.sessionPath } : undefined),
    headers
  )
}

/** GET only asks: an image on another site could be a link to this page. */
export const logoutPageHandler = (services: Services, accounts: Accounts["Service"]): Handler =>
  Effect.fn("people.logoutPage")(function* (call) {
    const here = yield* accounts.here(call.workspace, call.request)
    if (here === undefined) return signedOut(services, call)
    const csrf = fieldFor(services, call, here.session.id)
    return services.pages.show(call.workspace, 200, (place) =>
      signOutPage(place, { account: here.account.email, csrf })
    )
  })

export const logoutFormHandler = (services: Services, accounts: Accounts["Service"]): Handler =>
  Effect.fn("people.logoutForm")(function* (call) {
    const form = yield* Effect.fromResult(readForm(call.request))
    const secret = readSessionCookie(call.workspace, call.request)
    // A form of another site has no cookie even if there is a session; the redirect's request has it.
    if (secret === undefined) return seeOther(`${pagesPath(call.workspace)}/logout`)
    const here = yield* accounts.here(call.workspace, call.request)
    if (here === undefined) return signedOut(services, call)
    const { session, account } = here
    yield* requireOwn(services, call, session.id, form)
    const farewell = farewellBy(services, call, account.id)
    yield* endSessions(accounts.sessions, call.workspace, account.id, [session.id], farewell)
    yield* noteOf(services, call, { _tag: "SignedOut", account: account.id })
    return signedOut(services, call)
  })
