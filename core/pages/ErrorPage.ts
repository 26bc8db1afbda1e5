import { spellOut } from "../rules/neutralise.ts"
import type { Document } from "./Document.ts"
import { type Html, html } from "./Html.ts"
import { card } from "./Layout.ts"
import type { Place } from "./Place.ts"

export interface ErrorPage {
  readonly title: string
  /** What happened, in a sentence or two for anybody. */
  readonly happened: string
  /** What the person can do about it. */
  readonly remedy: string
  /** What whoever builds the application should know: folded away. */
  readonly developer?: {
    readonly explanation: string
    /** `error`, `client_id`, `redirect_uri` …: shown as they came. Never a secret. */
    readonly details?: ReadonlyArray<readonly [name: string, value: string]>
  }
  /** Where to go from here: a path of this server. */
  readonly next?: { readonly label: string; readonly href: string }
  /** As in the answer's header and the log. */
  readonly requestId: string
}

const forDevelopers = (developer: NonNullable<ErrorPage["developer"]>): Html =>
  html`<details class="fold">
<summary>For the application's developer</summary>
<div class="fold-body">
<p>${developer.explanation}</p>
${
  developer.details !== undefined &&
  developer.details.length > 0 &&
  html`<dl class="facts">${developer.details.map(
    ([name, value]) => html`<div><dt>${name}</dt><dd><code><bdi>${spellOut(value, 300)}</bdi></code></dd></div>`
  )}</dl>`
}
</div>
</details>`

export const errorPage = (place: Place, model: ErrorPage): Document => ({
  title: model.title,
  formsEnd: "here",
  opener: "kept",
  body: card(
    place,
    html`<h1>${model.title}</h1>
<div class="prose">
<p>${model.happened}</p>
<p>${model.remedy}</p>
</div>
${model.next !== undefined && html`<p class="actions"><a class="button primary wide" href="${model.next.href}">${model.next.label}</a></p>`}
${model.developer !== undefined && forDevelopers(model.developer)}
<p class="aside">Request <code>${model.requestId}</code></p>`
  )
})
