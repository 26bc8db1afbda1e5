import type { HttpRequest } from "../core/http/Http.ts"
import { hostOf } from "./requestTarget.ts"

/** A `Request` that a program made, or that came over HTTP/2, says its host in its address alone. */
export const webHeaders = ({ headers, url }: Request): HttpRequest["headers"] => ({
  get: (name) => headers.get(name) ?? (name === "host" ? hostOf(url) : undefined)
})
