import type { Document } from "./Document.ts"
import { html } from "./Html.ts"
import { card } from "./Layout.ts"
import type { Place } from "./Place.ts"

export const signedOutPage = (place: Place): Document => ({
  title: "Signed out",
  formsEnd: "here",
  opener: "kept",
  body: card(
    place,
    html`<h1>You are signed out</h1>
<p class="prose">This browser no longer has access to your account. Applications that you connected keep theirs; you can revoke them in settings.</p>
<p class="actions"><a class="button primary wide" href="${place.base}/login">Sign in again</a></p>`
  )
})
