import type { Document } from "./Document.ts"
import { hidden } from "./Field.ts"
import { html } from "./Html.ts"
import { card } from "./Layout.ts"
import type { Place } from "./Place.ts"

/** Asks before it signs out, for who came by a link. Posts `csrf` to `{base}/logout`. */
export interface SignOutPage {
  readonly account: string
  readonly csrf: string
}

export const signOutPage = (place: Place, model: SignOutPage): Document => ({
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
