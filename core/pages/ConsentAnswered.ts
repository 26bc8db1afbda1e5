import { clientName } from "./Consent.ts"
import { type Html, html } from "./Html.ts"
import { card, type Document, type Place } from "./Layout.ts"

/** The state of a consent that is answered again: a second click, the back button, a reload, another tab. */
type ConsentState =
  /** Approved, and the code has not been exchanged: the redirect still works. */
  | { readonly state: "waiting"; readonly continueTo: string }
  /** Approved for a device, which learns of it by itself. */
  | { readonly state: "approved" }
  /** Approved, and the application has exchanged the code. */
  | { readonly state: "used" }
  /** Denied, possibly after it was approved. */
  | { readonly state: "denied" }
  /** Not answered in time, or the code expired before the application exchanged it. */
  | { readonly state: "expired" }

export interface ConsentAnsweredPage {
  /** As registered; of one that brings a document, the host that it was read from. */
  readonly client: string | undefined
  readonly answer: ConsentState
}

interface Words {
  readonly title: string
  readonly text: Html
  readonly continueTo?: string
}

const words = (name: Html, answer: ConsentState): Words => {
  switch (answer.state) {
    case "waiting":
      return {
        title: "You already approved this",
        text: html`<p>${name} has your permission. If it did not open, continue here.</p>`,
        continueTo: answer.continueTo
      }
    case "approved":
      return {
        title: "Your device is connected",
        text: html`<p>${name} has your permission. Go back to your device: it goes on by itself in a few seconds. You can close this page.</p>`
      }
    case "used":
      return {
        title: "You already approved this",
        text: html`<p>${name} is connected. You can close this page and go back to it.</p>`
      }
    case "denied":
      return {
        title: "You denied this",
        text: html`<p>${name} got no access. If you changed your mind, go back to it and connect again.</p>`
      }
    case "expired":
      return {
        title: "This page has expired",
        text: html`<p>Nothing was shared. Go back to ${name} and connect again.</p>`
      }
  }
}

/** Answer with 200, or 400 if it has expired. `settings`: whether there is a page of connected applications. */
export const consentAnsweredPage = (place: Place, model: ConsentAnsweredPage, settings = true): Document => {
  const name = html`<bdi class="name">${clientName(model.client)}</bdi>`
  const { title, text, continueTo } = words(name, model.answer)
  return {
    name: `consent-${model.answer.state}`,
    title,
    formsEnd: "here",
    opener: "kept",
    body: card(
      place,
      html`<h1>${title}</h1>
<div class="prose">${text}</div>
${continueTo !== undefined && html`<p class="actions"><a class="button primary wide" href="${continueTo}">Continue</a></p>`}
${settings && html`<p class="aside"><a href="${place.base}/settings/apps">See what is connected to your account</a></p>`}`
    )
  }
}
