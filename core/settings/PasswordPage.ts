import { field, hidden } from "../pages/Field.ts"
import { breakable, html } from "../pages/Html.ts"
import { card, type Document, type Place, problemLine } from "../pages/Layout.ts"
import { passwordBytes } from "../people/Account.ts"

/** What the person types once more, beside the fields of the form that waits for it. */
export const passwordField = "confirm_password"

/** Posts the fields of the form that waits, with the password, to where that form was posted. */
export interface PasswordPage {
  /** `SignedIn.label` */
  readonly account: string
  /** That of the section's page too, for a person who does not go on. */
  readonly address: string
  /** The form as it was sent. */
  readonly fields: Readonly<Record<string, string>>
  readonly problem?: string | undefined
}

export const passwordPage = (place: Place, model: PasswordPage): Document => ({
  name: "confirm-password",
  title: model.problem === undefined ? "Confirm your password" : "Problem: Confirm your password",
  formsEnd: "here",
  opener: "cut",
  body: card(
    place,
    html`<h1>Confirm your password</h1>
<p class="lead">You are signed in as <bdi class="name">${breakable(model.account)}</bdi>. What you are about to do changes who has access, so enter your password once more. It counts for five minutes.</p>
${model.problem !== undefined && problemLine(model.problem)}
<form method="post" action="${model.address}">
${hidden(model.fields)}
<input type="text" value="${model.account}" autocomplete="username" aria-label="Username" readonly hidden>
${field({ label: "Password", name: passwordField, type: "password", autocomplete: "current-password", autofocus: true, maxlength: passwordBytes })}
<button class="button primary wide" type="submit">Continue</button>
</form>
<p class="aside"><a href="${model.address}">Cancel</a></p>`
  )
})
