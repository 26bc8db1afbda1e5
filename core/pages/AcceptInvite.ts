import type { Document } from "./Document.ts"
import { html } from "./Html.ts"
import { card } from "./Layout.ts"
import { hasProblem, type NewAccount, newAccountForm } from "./NewAccount.ts"
import type { Place } from "./Place.ts"

/** Posts to `{base}/invite`. */
export interface AcceptInvitePage extends NewAccount {
  readonly role: "owner" | "member"
  /** Who invited: their label. */
  readonly invitedBy: string
  /** The invitation names the address, and no other is accepted. */
  readonly emailIsGiven: boolean
}

export const acceptInvitePage = (place: Place, model: AcceptInvitePage): Document => ({
  title: hasProblem(model.problems) ? "Problem: Join" : "Join",
  formsEnd: "here",
  opener: "kept",
  body: card(
    place,
    html`<h1>Join <bdi>${place.name}</bdi></h1>
<p class="lead"><bdi class="name">${model.invitedBy}</bdi> invited you as ${model.role === "owner" ? "an owner" : "a member"}. Choose how you sign in.</p>
${newAccountForm(model, { action: `${place.base}/invite`, submit: "Create account", emailIsGiven: model.emailIsGiven })}`
  )
})
