import type { Document } from "./Document.ts"
import { html } from "./Html.ts"
import { card } from "./Layout.ts"
import type { Place } from "./Place.ts"

/** Answer with 429. The page brings its own `Retry-After`. */
export interface RateLimitedPage {
  /** Rounded up. */
  readonly retryAfterSeconds: number
  /** What there was too much of, as the end of a sentence: "attempts to sign in". */
  readonly of: string
  readonly requestId: string
}

const inWords = (seconds: number): string => {
  if (seconds <= 1) return "a second"
  if (seconds < 90) return `${seconds} seconds`
  return `${Math.ceil(seconds / 60)} minutes`
}

export const rateLimitedPage = (place: Place, model: RateLimitedPage): Document => ({
  title: "Please wait a moment",
  formsEnd: "here",
  opener: "kept",
  headers: [["retry-after", String(model.retryAfterSeconds)]],
  body: card(
    place,
    html`<h1>Please wait a moment</h1>
<div class="prose">
<p>There were too many ${model.of} in a short time. Nothing is wrong with your account, and nothing is locked.</p>
<p>Wait ${inWords(model.retryAfterSeconds)}, then reload this page or go back and try again.</p>
</div>
<p class="aside">Request <code>${model.requestId}</code></p>`
  )
})
