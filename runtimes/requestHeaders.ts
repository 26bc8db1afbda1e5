import type { HttpRequest } from "../core/http/Http.ts"
import { hostOf } from "./requestTarget.ts"

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
