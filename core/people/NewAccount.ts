import { type FieldProblem, field, hidden, problemAt } from "../pages/Field.ts"
import { type Html, html } from "../pages/Html.ts"
import { card, type Document, type Place, problemLine } from "../pages/Layout.ts"
import { emailLength, passwordBytes, personNameLength } from "./Account.ts"

/** The form of a new account: `name`, `email`, `password`, with `csrf` and the link's `token`. */
export interface NewAccount {
  readonly csrf: string
  /** The secret of the one-time link. */
  readonly token: string
  /** The shortest password that is accepted. */
  readonly passwordLength: number
  readonly name?: string
  readonly email?: string
  /** `form`: of no field. */
  readonly problem?: FieldProblem<"name" | "email" | "password" | "form">
}

const titled = (title: string, { problem }: NewAccount): string => (problem === undefined ? title : `Problem: ${title}`)

const newAccountForm = (
  { csrf, email, name, passwordLength, problem, token }: NewAccount,
  form: { readonly action: string; readonly submit: string; readonly emailIsGiven: boolean }
): Html => html`${problem?.field === "form" && problemLine(problem.text)}
<form method="post" action="${form.action}">
${hidden({ csrf, token })}
${field({
  label: "Your name",
  name: "name",
  autocomplete: "name",
  value: name,
  problem: problemAt(problem, "name"),
  autofocus: problem?.field !== "email" && problem?.field !== "password",
  maxlength: personNameLength
})}
${field({
  label: "Email",
  name: "email",
  type: "email",
  autocomplete: "username",
  value: email,
  readonly: form.emailIsGiven,
  problem: problemAt(problem, "email"),
  hint: form.emailIsGiven ? "The invitation is for this address." : "You use it to sign in.",
  maxlength: emailLength
})}
${field({
  label: "Password",
  name: "password",
  type: "password",
  autocomplete: "new-password",
  problem: problemAt(problem, "password"),
  hint: `At least ${passwordLength} characters. A few words in a row work well.`,
  minlength: passwordLength,
  maxlength: passwordBytes
})}
<button class="button primary wide" type="submit">${form.submit}</button>
</form>`

/** The first owner, from the link that the first start prints. Posts to `{base}/set-up`. */
export const setUpPage = (place: Place, model: NewAccount): Document => ({
  name: "set-up",
  title: titled("Set up", model),
  formsEnd: "here",
  opener: "kept",
  body: card(
    place,
    html`<h1>Set up <bdi>${place.name}</bdi></h1>
<p class="lead">This creates the first account and makes you an owner.</p>
${newAccountForm(model, { action: `${place.base}/set-up`, submit: "Create the first account", emailIsGiven: false })}
<p class="aside">The link that brought you here works once.</p>`
  )
})

/** Posts to `{base}/invite`. */
interface AcceptInvitePage extends NewAccount {
  readonly role: "owner" | "member"
  /** The email of the owner who made the invitation. */
  readonly invitedBy: string
  /** The invitation is for one address, and no other is accepted. */
  readonly emailIsGiven: boolean
}

export const acceptInvitePage = (place: Place, model: AcceptInvitePage): Document => ({
  name: "invitation",
  title: titled("Join", model),
  formsEnd: "here",
  opener: "kept",
  body: card(
    place,
    html`<h1>Join <bdi>${place.name}</bdi></h1>
<p class="lead"><bdi class="name">${model.invitedBy}</bdi> invited you as ${model.role === "owner" ? "an owner" : "a member"}. ${model.emailIsGiven ? "Choose a password." : "Choose your email and password."}</p>
${newAccountForm(model, { action: `${place.base}/invite`, submit: "Create account", emailIsGiven: model.emailIsGiven })}`
  )
})
