import { formAfterSignOut } from "../pages/CommonErrors.ts"
import type { Notice } from "../pages/Layout.ts"
import { basePath, originOf, type Workspace } from "../workspace/Workspace.ts"
import { readParameters } from "./form.ts"
import type { Call } from "./Route.ts"

/** Half of a surrogate pair, which cannot be encoded. Only a request made in process can contain one. */
const loneSurrogate = /\p{Surrogate}/gu

export const wellFormed = (text: string): string => text.replace(loneSurrogate, "\ufffd")

/** Characters that browsers encode. All others, a backslash too, are kept byte for byte. */
const unsendable = /[^\x21\x22\x24-\x7e]+/g

/** The address of a path and a query, as they came. */
export const addressOf = (path: string, query: string): string =>
  wellFormed(query === "" ? path : `${path}?${query}`).replace(unsendable, encodeURIComponent)

/** The address of this request, to return to after sign-in: that begins a session, with a path of its own. */
export const returnUrlOf = ({ path, request: { query }, workspace }: Call): string =>
  addressOf(basePath(workspace.issuer) + path, query)

/** 12 KiB: Node and Bun take 16 KiB up to the body, and the cookies have to fit in as well. */
const longest = 12 * 1024

/** Whether the address of the sign-in page can carry this return URL, encoded once more. */
export const fitsSignIn = (address: string): boolean =>
  address.length <= longest && encodeURIComponent(address).length <= longest

const code = "signed-out"

/** The return URL of a page or form. A form is not sent again after sign-in, so its page has to say so. */
export const returnUrlOfPage = (call: Call): string =>
  call.request.method === "POST"
    ? returnUrlOf({ ...call, request: { ...call.request, query: `done=${code}` } })
    : returnUrlOf(call)

/** The notice about such a form, for the sign-in page and the page after it. */
export const lateFormNotice = (query: string): Notice | undefined =>
  readParameters(query).parameters.get("done") === code ? formAfterSignOut : undefined

/** A path in visible ASCII without a fragment: browsers drop other characters, such as tabs. */
const plain = /^\/[\x21\x22\x24-\x7e]*$/

const decodedOnce = (path: string): string =>
  path.replace(/%[0-9a-fA-F]{2}/g, (escaped) => String.fromCharCode(Number.parseInt(escaped.slice(1), 16)))

const isSuspicious = (path: string): boolean =>
  path.includes("//") || /[^\x21-\x7e]|\\/.test(path) || path.split("/").some((part) => part === "." || part === "..")

/** 4: honest addresses are encoded once or twice, and each further level costs another pass. */
const decodedMost = 4

/**
 * At every level of encoding the path has no double slash, backslash, dot segment or control character.
 * The query does not matter: it cannot change the origin.
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

/** A return URL from a request, if it is a path of this workspace; otherwise `home`. */
export const safeReturnUrl = (
  workspace: Pick<Workspace, "issuer">,
  text: string | undefined,
  home = `${basePath(workspace.issuer)}/settings`
): string => {
  const base = basePath(workspace.issuer)
  if (text === undefined || !plain.test(text) || !fitsSignIn(text)) return home
  const path = text.split("?", 1)[0] ?? ""
  if (!path.startsWith(`${base}/`) || !isHonest(path) || circular.includes(path.slice(base.length))) return home
  // Checked once more as a browser parses it.
  const url = new URL(text, workspace.issuer)
  return url.origin === originOf(workspace.issuer) && url.pathname === path ? text : home
}
