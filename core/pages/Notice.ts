import { type Html, html } from "./Html.ts"

/** What just happened, said once at the top of the next page. */
export interface Notice {
  readonly kind: "done" | "problem"
  readonly text: string
}

/** Something went wrong and is said at once to who can't see it. */
export const problemLine = (text: string): Html =>
  html`<div class="notice notice-problem" role="alert"><p>${text}</p></div>`

const doneLine = (text: string): Html => html`<div class="notice notice-done" role="status"><p>${text}</p></div>`

export const notice = (of: Notice): Html => (of.kind === "done" ? doneLine(of.text) : problemLine(of.text))
