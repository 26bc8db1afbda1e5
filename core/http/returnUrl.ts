import type { Notice } from "../pages/Layout.ts"
import { basePath, type Workspace } from "../workspace/Workspace.ts"
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
export const returnUrlOf = ({ request: { path, query } }: Call): string => addressOf(path, query)

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
export const returnUrlOfPage = (call: Call): string =>
  call.request.method === "POST" ? addressOf(call.request.path, `done=${code}`) : returnUrlOf(call)

/** For the page that they come back to, and for the sign-in on the way. */
export const lateFormNotice = (query: string): Notice | undefined =>
  readParameters(query).parameters.get("done") === code
    ? { kind: "problem", text: "You were signed out before you sent the last form. Nothing was changed." }
    : undefined

/** Visible ASCII but for the fragment, and so nothing that a browser leaves out on its way, as it does tabs. */
const plain = /^\/[\x21\x22\x24-\x7e]*$/

const decodedOnce = (path: string): string =>
  path.replace(/%[0-9a-fA-F]{2}/g, (escaped) => String.fromCharCode(Number.parseInt(escaped.slice(1), 16)))

const isSuspicious = (path: string): boolean =>
  path.includes("//") || /[^\x21-\x7e]|\\/.test(path) || path.split("/").some((part) => part === "." || part === "..")

/** Honest addresses are encoded once, or once more by whoever passes them on; each time more costs us another look. */
const decodedMost = 4

/**
 * As it stands and however often it is decoded on its way: no second slash, no backslash, no dots, no controls. Of the path
 * alone: what follows the first question mark leads nowhere, and browsers leave a backslash in it as it is.
 */
const isHonest = (path: string): boolean => {
  let text = path
  for (let times = 0; times <= decodedMost; times++) {
    if (isSuspicious(text)) return false
    const next = decodedOnce(text)
    if (next === text) return true
    text = next
  }
  return false
}

const circular = ["/login", "/logout"]

/** Where a browser goes after sign-in: a path of this workspace as it was asked for, or the place that is named instead. */
export const safeReturnUrl = (
  workspace: Pick<Workspace, "issuer">,
  text: string | undefined,
  home = `${basePath(workspace.issuer)}/settings`
): string => {
  const base = basePath(workspace.issuer)
  if (text === undefined || !plain.test(text) || !fitsSignIn(text)) return home
  const path = text.split("?", 1)[0] ?? ""
  if (!path.startsWith(`${base}/`) || !isHonest(path) || circular.includes(path.slice(base.length))) return home
  // What a browser makes of it has the last word.
  const url = new URL(text, workspace.issuer)
  return url.origin === new URL(workspace.issuer).origin && url.pathname === path ? text : home
}
