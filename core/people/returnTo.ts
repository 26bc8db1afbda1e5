import { fitsSignIn } from "../http/returnUrl.ts"
import { basePath, type Workspace } from "../workspace/Workspace.ts"

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
export const safeReturnTo = (
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
