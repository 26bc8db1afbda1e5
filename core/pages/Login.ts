import { emailLength, passwordBytes } from "../rules/AccountLengths.ts"
import { breakable } from "./breakable.ts"
import { clientName } from "./Consent.ts"
import type { Document } from "./Document.ts"
import { field, hidden } from "./Field.ts"
import { type Html, html } from "./Html.ts"
import { card } from "./Layout.ts"
import { type Notice, notice, problemLine } from "./Notice.ts"
import type { Place } from "./Place.ts"

/** Posts `email`, `password`, `csrf` and `return_to` to `{base}/login`. */
export interface LoginPage {
  readonly csrf: string
  /** Where the browser goes afterwards: a path of this server that the endpoint has checked. */
  readonly returnTo: string
  /** What was typed the last time. */
  readonly email?: string
  /** The same words for an unknown email and a wrong password. */
  readonly problem?: string
  /** What led here: "You are signed out.", "Please sign in again." */
  readonly notice?: Notice
  /** The email of who is signed in already, and may go on without doing so again. */
  readonly signedInAs?: string
  /** Whom the person signs in for: the application's name as registered, where they came from its authorization request. */
  readonly forClient?: string
}

const goOn = (
  email: string,
  returnTo: string
): Html => html`${notice({ kind: "done", text: `You are signed in as ${email}. Sign in below to change to another account.` })}
<p class="actions"><a class="button wide" href="${returnTo}"><span>Continue as <bdi>${breakable(email)}</bdi></span></a></p>`

export const loginPage = (place: Place, model: LoginPage): Document => ({
  title: model.problem === undefined ? "Sign in" : "Problem: Sign in",
  // After sign-in, authorize may go on to the client at once.
  formsEnd: "anywhere",
  opener: "kept",
  body: card(
    place,
    html`<h1>Sign in</h1>
${
  model.forClient === undefined
    ? html`<p class="lead">to <bdi>${place.name}</bdi></p>`
    : html`<p class="lead">to <bdi>${place.name}</bdi>, to continue to <bdi class="name">${clientName(model.forClient)}</bdi></p>`
}
${model.notice !== undefined && notice(model.notice)}
${model.problem !== undefined && problemLine(model.problem)}
${model.signedInAs !== undefined && goOn(model.signedInAs, model.returnTo)}
<form method="post" action="${place.base}/login">
${hidden({ csrf: model.csrf, return_to: model.returnTo })}
${field({ label: "Email", name: "email", type: "email", autocomplete: "username", value: model.email, autofocus: model.email === undefined, maxlength: emailLength })}
${field({ label: "Password", name: "password", type: "password", autocomplete: "current-password", autofocus: model.email !== undefined, maxlength: passwordBytes })}
<button class="button primary wide" type="submit">Sign in</button>
</form>
<p class="aside">No account yet, or forgot your password? An owner of <bdi>${place.name}</bdi> can help.</p>`
  )
})
