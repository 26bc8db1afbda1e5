/** Where a request goes, as the web's `URL` would have it. */
export interface Target {
  readonly path: string
  readonly query: string
}

/** Nothing in here that `URL` would write differently: no dot segment, no character that it would escape. */
const settled = /^(?!.*\/(?:\.|%2e))\/[A-Za-z0-9\-._~!$&'()*+,;=:@%/|]*$/i

/**
 * RFC 9112 §3.2: a path with a query, or a whole URL. The other platforms hand out what `URL` has read; so does this,
 * but it only goes there for targets that are out of the ordinary. `undefined`: this is no address of ours.
 */
export const readTarget = (target: string): Target | undefined => {
  const [beforeFragment = ""] = target.split("#", 1)
  const question = beforeFragment.indexOf("?")
  const path = question === -1 ? beforeFragment : beforeFragment.slice(0, question)
  const query = question === -1 ? "" : beforeFragment.slice(question + 1)
  if (settled.test(path)) return { path, query }
  const absolute = /^https?:\/\//i.test(path)
  if (!absolute && !path.startsWith("/")) return undefined
  // A path that starts with two slashes would be read as a host, so it gets one first.
  const url = absolute ? path : `http://host${path}`
  return URL.canParse(url) ? { path: new URL(url).pathname, query } : undefined
}

/** A dot segment, or a backslash, which URLs read as a slash. `fetch` and browsers send neither. */
const winding = /\\|\/(?:\.|%2e){1,2}(?:\/|$)/i

/**
 * Whether a path may be one place to a router, which takes it as it was sent, and another to a `URL`, which folds it
 * first. What stands before such a place in an app does not stand before the other.
 */
export const isWinding = (target: string): boolean => winding.test(target.split(/[?#]/, 1)[0] ?? "")
