import { hidden } from "./Field.ts"
import { type Html, html } from "./Html.ts"
import { card, type Document, type Place } from "./Layout.ts"

/** Asks before it signs out: an application sent the browser here, or a link did. Posts `fields` to `{base}/oauth/logout`. */
interface EndSessionPage {
  readonly account: string
  /** Who asks, where that is known. */
  readonly application?: string
  readonly fields: Readonly<Record<string, string>>
}

export const endSessionPage = (place: Place, { account, application, fields }: EndSessionPage): Document => ({
  name: "end-session",
  title: "Sign out",
  // It ends at the application, which may be anywhere.
  formsEnd: "anywhere",
  opener: "kept",
  body: card(
    place,
    html`<h1>Sign out of <bdi>${place.name}</bdi>?</h1>
<p class="lead">You are signed in as <bdi class="name">${account}</bdi>.</p>
<p class="prose">${asker(application)} Applications that follow your sign-in here are told, and sign you out too.</p>
<form method="post" action="${place.base}/oauth/logout">
${hidden(fields)}
<button class="button primary wide" type="submit">Sign out</button>
</form>
<p class="aside">To stay signed in, close this page.</p>`
  )
})

const asker = (application: string | undefined): Html =>
  application === undefined ? html`A link led here.` : html`<bdi class="name">${application}</bdi> asks for it.`

/** `back`: where the application that asked is, in its own words. */
export interface SessionEndedPage {
  readonly back?: { readonly application: string; readonly address: string }
  readonly session?: Document["session"]
}

export const sessionEndedPage = (place: Place, { back, session }: SessionEndedPage): Document => ({
  name: "session-ended",
  title: "Signed out",
  formsEnd: "here",
  opener: "kept",
  ...(session === undefined ? {} : { session }),
  body: card(
    place,
    html`<h1>You are signed out</h1>
<p class="prose">This browser is no longer signed in to <bdi>${place.name}</bdi>.</p>
${back !== undefined && html`<p class="actions"><a class="button primary wide" href="${back.address}"><span>Back to <bdi>${back.application}</bdi></span></a></p>`}`
  )
})
