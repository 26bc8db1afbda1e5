import { type Html, html } from "./Html.ts"

/** An address that may break where a reader would break it: behind a dot, a slash, an @. */
export const breakable = (address: string): Html =>
  html`${address.split(/(?<=[@./:])/).map((part, index) => html`${index > 0 && html`<wbr>`}${part}`)}`
