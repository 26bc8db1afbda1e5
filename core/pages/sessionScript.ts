import { Base64 } from "effect/encoding"
import { hashOf } from "../rules/Secret.ts"
import { hasSessionPaths, rootOf } from "../workspace/SessionPath.ts"
import { type Html, scriptTag } from "./Html.ts"

/**
 * Where sessions have a path of their own: `kept` where the browser is to remember this session's; otherwise the address
 * without one that it goes on to, below the path that it remembers, unless that is `left`: its person is signed out.
 */
export type SessionOfPage = "kept" | { readonly sought: string; readonly left?: string | undefined }

/** What the script needs to know of where its page is. */
interface At {
  readonly issuer: string
  readonly base: string
  readonly sessionPath?: string
}

/**
 * The only script, and only where sessions have a path of their own: the browser remembers the path for this origin,
 * which has a port where a cookie has none, and goes on below it. Without scripts or storage a person signs in again.
 */
const script = `{
const { base, kept, left, sought } = document.currentScript.dataset
const name = "tessera session path " + base
try {
  const path = localStorage.getItem(name)
  if (kept !== undefined) localStorage.setItem(name, kept)
  else if (path === left) localStorage.removeItem(name)
  else if (/^\\/~\\/[\\w-]{22}$/.test(path)) location.replace(base + path + sought.slice(base.length))
} catch {}
}`

const source = `'sha256-${Base64.encode(hashOf(script))}'`

const dataOf = (place: At, session: SessionOfPage) => {
  if (session !== "kept") return hasSessionPaths(place) ? session : undefined
  return place.sessionPath === undefined ? undefined : { kept: place.sessionPath }
}

/** The script of a page, and its source in the policy; none for most. */
export const sessionScript = (
  place: At,
  session: SessionOfPage | undefined
): { readonly tag: Html; readonly source: string } | undefined => {
  const data = session && dataOf(place, session)
  return data && { tag: scriptTag(script, { base: rootOf(place), ...data }), source }
}
