import { secretJson } from "../../core/http/answer.ts"
import type { HttpRequest, HttpResponse } from "../../core/http/Http.ts"
import { earlyAnswer } from "./limitConcurrency.ts"

type Headers = HttpRequest["headers"]

// A host is asked for as a header, wherever a request says it. The header wins where it is there.

/** A `Request` that a program made, or that came over HTTP/2, says its host in its address alone. */
export const webHeaders = ({ headers, url }: Request): Headers => ({
  get: (name) => headers.get(name) ?? (name === "host" ? hostOf(url) : undefined)
})

/** RFC 9113 §8.3.1: over HTTP/2 Node has the host in a field of its own. */
export const nodeHeaders = (get: (name: string) => string | undefined): Headers => ({
  get: (name) => get(name) ?? (name === "host" ? get(":authority") : undefined)
})

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

/** For logs of a request that had no address: as it was sent, without what may be a query. */
export const unreadTarget = (target: string): Target => ({ path: target.split(/[?#]/, 1)[0] ?? "", query: "" })

/** A dot segment, or a backslash, which URLs read as a slash. `fetch` and browsers send neither. */
const winding = /\\|\/(?:\.|%2e){1,2}(?:\/|$)/i

/**
 * Whether a path may be one place to a router, which takes it as it was sent, and another to a `URL`, which folds it
 * first. What stands before such a place in an app does not stand before the other.
 */
export const isWinding = (target: string): boolean => winding.test(target.split(/[?#]/, 1)[0] ?? "")

/**
 * What a `Request` is for. `URL` has written its `url`; only on Bun, where a request names no host (HTTP/1.0), it is
 * the target alone, as it was sent.
 */
export const targetOf = (url: string): Target => {
  const start = url.charCodeAt(0) === 47 ? 0 : url.indexOf("/", url.indexOf("://") + 3)
  const fragment = url.indexOf("#")
  const end = fragment === -1 ? url.length : fragment
  const question = url.indexOf("?")
  const hasQuery = question !== -1 && question < end
  return {
    path: start === -1 ? "/" : url.slice(start, hasQuery ? question : end),
    query: hasQuery ? url.slice(question + 1, end) : ""
  }
}

/** The host that its address names: `undefined` where the address is the target alone. */
const hostOf = (url: string): string | undefined => (URL.canParse(url) ? new URL(url).host : undefined)

/** Its path, where that decides what becomes of a request; `undefined` for one that may be two places. */
export const pathOf = (url: string): string | undefined => (isWinding(url) ? undefined : targetOf(url).path)

/** In bytes. No request of the protocol, and no form of the pages, comes near it. */
export const bodyLimit = 64 * 1024

// The rest of the body is not read, so the connection can't be used again.

const tooMuch: HttpResponse = secretJson(
  413,
  { error: "invalid_request", error_description: `The body is larger than ${bodyLimit} bytes.` },
  [
    ["x-content-type-options", "nosniff"],
    ["connection", "close"]
  ]
)

const cutOff: HttpResponse = secretJson(
  400,
  { error: "invalid_request", error_description: "The body could not be read." },
  [
    ["x-content-type-options", "nosniff"],
    ["connection", "close"]
  ]
)

export const tooLarge = (): HttpResponse => earlyAnswer(tooMuch)

export const unreadable = (): HttpResponse => earlyAnswer(cutOff)

/** A fault of the host's own, told so that it is found at the first try and not in production. */
export const readBefore: HttpResponse = secretJson(500, {
  error: "server_error",
  error_description: "The body was read before it got here. Mount the authorization server before body parsers."
})
