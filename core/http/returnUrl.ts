import type { Notice } from "../pages/Layout.ts"
import { readParameters } from "./form.ts"
import type { Call } from "./Route.ts"

/** Half a character, which only a host that made the request itself can hand in, and which nothing can encode. */
const loneSurrogate = /\p{Surrogate}/gu

export const wellFormed = (text: string): string => text.replace(loneSurrogate, "\ufffd")

/** What no browser sends as it stands. All else, a backslash too, goes on byte for byte. */
const unsendable = /[^\x21\x22\x24-\x7e]+/g

/** An address of a path and a query as they came. */
export const addressOf = (path: string, query: string): string =>
  wellFormed(query === "" ? path : `${path}?${query}`).replace(unsendable, encodeURIComponent)

/** Where the browser comes back to after a sign-in: this very request. */
export const comeBackTo = ({ request: { path, query } }: Call): string => addressOf(path, query)

/**
 * The way back stands, encoded once more, in the address of the sign-in page, and Node and Bun read 16 KiB of a request up
 * to its body. The rest is for cookies and whatever else browsers send.
 */
const longest = 12 * 1024

/** Whether a page for signing in can be asked for with this way back. */
export const fitsSignIn = (address: string): boolean =>
  address.length <= longest && encodeURIComponent(address).length <= longest

const code = "signed-out"

/** Where somebody comes back to after a sign-in. A form is not sent again by that, so its page is to say so. */
export const wayBack = (call: Call): string =>
  call.request.method === "POST" ? addressOf(call.request.path, `done=${code}`) : comeBackTo(call)

/** For the page that they come back to, and for the sign-in on the way. */
export const lateFormNotice = (query: string): Notice | undefined =>
  readParameters(query).parameters.get("done") === code
    ? { kind: "problem", text: "You were signed out before you sent the last form. Nothing was changed." }
    : undefined
