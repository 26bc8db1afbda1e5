import { spellOut } from "../rules/sanitizeName.ts"
import { type Html, html } from "./Html.ts"
import { card, type Document, type Place } from "./Layout.ts"

export interface ErrorPage {
  /** Names the error, such as `unknown-client`; `CommonErrors.ts` has them all. */
  readonly name: string
  readonly title: string
  /** What happened, in one or two sentences. */
  readonly happened: string
  /** What the person can do about it. */
  readonly remedy: string
  /** For the application's developer, folded away. */
  readonly developer?: {
    readonly explanation: string
    /** Such as `client_id`: as they were sent. Never a secret. */
    readonly details?: ReadonlyArray<readonly [name: string, value: string]>
  }
  /** A link to a path of this server, or to where an application wants an answer. */
  readonly next?: { readonly label: string; readonly href: string }
  /** The same as in the answer's header and the log. */
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
  name: `error-${model.name}`,
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

/** Answer with 429. The page brings its own `Retry-After`. */
interface RateLimitedPage {
  /** Rounded up. */
  readonly retryAfterSeconds: number
  /** What was counted, as a part of a sentence: "attempts to sign in". */
  readonly of: string
  readonly requestId: string
}

const inWords = (seconds: number): string => {
  if (seconds <= 1) return "a second"
  if (seconds < 90) return `${seconds} seconds`
  return `${Math.ceil(seconds / 60)} minutes`
}

export const rateLimitedPage = (place: Place, model: RateLimitedPage): Document => ({
  name: "rate-limited",
  title: "Please wait a moment",
  formsEnd: "here",
  opener: "kept",
  headers: [["retry-after", String(model.retryAfterSeconds)]],
  body: card(
    place,
    html`<h1>Please wait a moment</h1>
<div class="prose">
<p>There were too many ${model.of} in a short time. Your account is not locked.</p>
<p>Wait ${inWords(model.retryAfterSeconds)}, then reload this page or go back and try again.</p>
</div>
<p class="aside">Request <code>${model.requestId}</code></p>`
  )
})
