import type { Document } from "./Document.ts"
import { html } from "./Html.ts"
import { card } from "./Layout.ts"
import { hasProblem, type NewAccount, newAccountForm } from "./NewAccount.ts"
import type { Place } from "./Place.ts"

/** The first owner, from the link that the first start prints. Posts to `{base}/set-up`. */
export type SetUpPage = NewAccount

export const setUpPage = (place: Place, model: SetUpPage): Document => ({
  title: hasProblem(model.problems) ? "Problem: Set up" : "Set up",
  formsEnd: "here",
  opener: "kept",
  body: card(
    place,
    html`<h1>Set up <bdi>${place.name}</bdi></h1>
<p class="lead">You are the first one here. This makes your account and makes you an owner.</p>
${newAccountForm(model, { action: `${place.base}/set-up`, submit: "Create the first account", emailIsGiven: false })}
<p class="aside">The link that brought you here works once.</p>`
  )
})
