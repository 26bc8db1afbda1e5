import type { HeaderPairs, HttpRequest, HttpResponse } from "./Http.ts"
import type { Route } from "./Route.ts"

export const noSniffing = ["x-content-type-options", "nosniff"] as const

/** RFC 9449 §8: what a client's next proof has to hold. */
export const dpopNonceHeader = "dpop-nonce"

/** Any origin, never with credentials: what these endpoints answer depends on what the script itself sends. */
export const corsHeaders: HeaderPairs = [
  ["access-control-allow-origin", "*"],
  ["access-control-expose-headers", "WWW-Authenticate, Retry-After, DPoP-Nonce, X-Request-Id"]
]

/** Everything that an answer carries but its request's id, where any origin may read it and where not. */
interface Whole {
  readonly open: HeaderPairs
  readonly closed: HeaderPairs
}

const whole = Symbol("tessera/core/http/answer/whole")

interface Shared extends HeaderPairs {
  readonly [whole]?: Whole
}

/** Notes that many answers have just these headers, so that the whole list of them is one for all. */
const shared = (headers: HeaderPairs): HeaderPairs => {
  const closed = [...headers, noSniffing]
  return Object.assign([...headers], { [whole]: { closed, open: [...closed, ...corsHeaders] } })
}

/** The whole list, if these are headers that many answers share. */
const wholeOf = (headers: HeaderPairs, cors: boolean): HeaderPairs | undefined => {
  // Lists that are not shared have nothing under the symbol.
  const known = (headers as Shared)[whole]
  return cors ? known?.open : known?.closed
}

/** A value on its way to JSON, which leaves out what is undefined. */
export type Written<T> = { readonly [K in keyof T]: T[K] | (object extends Pick<T, K> ? undefined : never) }

const jsonType = ["content-type", "application/json"] as const

/** RFC 6749 §5.1: no cache keeps a copy of a token. */
export const noStore: HeaderPairs = [
  ["cache-control", "no-store"],
  ["pragma", "no-cache"]
]

/** What does not change for a while, and is no secret. */
export const forAWhile: HeaderPairs = [["cache-control", "public, max-age=300"]]

const jsonHeaders = shared([jsonType])
const secretJsonHeaders = shared([jsonType, ...noStore])
const lastingJsonHeaders = shared([jsonType, ...forAWhile])

const jsonHeadersWith = (headers: HeaderPairs): HeaderPairs => {
  switch (headers) {
    case none:
      return jsonHeaders
    case noStore:
      return secretJsonHeaders
    case forAWhile:
      return lastingJsonHeaders
    default:
      return [jsonType, ...headers]
  }
}

const none: HeaderPairs = []

export const json = (status: number, value: unknown, headers: HeaderPairs = none): HttpResponse => ({
  status,
  headers: jsonHeadersWith(headers),
  body: JSON.stringify(value)
})

/** JSON that holds, or speaks of, a token or a registration. */
export const secretJson = (status: number, value: unknown, headers: HeaderPairs = none): HttpResponse => ({
  status,
  headers: headers === none ? secretJsonHeaders : [...secretJsonHeaders, ...headers],
  body: JSON.stringify(value)
})

/** To a request that this server, or the next one, answers in a moment. */
export const comeBackSoon = (description: string): HttpResponse =>
  secretJson(503, { error: "temporarily_unavailable", error_description: description }, [["retry-after", "1"]])

/** To a request that the end of the server has overtaken. */
export const shuttingDown = comeBackSoon("The server is shutting down.")

export const empty = (status: number, headers: HeaderPairs = []): HttpResponse => ({ status, headers, body: "" })

const escaped = (character: string): string =>
  encodeURIComponent(/\p{Surrogate}/u.test(character) ? "\ufffd" : character)

/**
 * RFC 9110 §5.5, §10.2.2: as `URL` would write it. A host's address may hold what a stranger has sent, and a header with a
 * line's end in it is one for which Node throws where the answer is written.
 */
const asHeader = (address: string): string => address.replace(/[^\x21-\x7e]/gu, escaped)

/** RFC 9700 §4.12: 303, so that a browser never repeats a form's body at the next place. */
export const seeOther = (location: string, headers: HeaderPairs = []): HttpResponse => ({
  status: 303,
  headers: [["location", asHeader(location)], ...noStore, ["referrer-policy", "no-referrer"], ...headers],
  body: ""
})

/** An answer whose headers are one list for many answers, and its request's id: a runtime may prepare that list once. */
export class SharedAnswer implements HttpResponse {
  readonly status: number
  readonly body: string
  readonly common: HeaderPairs
  readonly requestId: string

  constructor(status: number, body: string, common: HeaderPairs, requestId: string) {
    this.status = status
    this.body = body
    this.common = common
    this.requestId = requestId
  }

  get headers(): HeaderPairs {
    return [...this.common, requestIdHeader(this.requestId)]
  }
}

/** The same with its headers as a property like any other, for hosts, who may copy it. */
export const wholeAnswer = (answer: HttpResponse): HttpResponse =>
  answer instanceof SharedAnswer ? { status: answer.status, headers: answer.headers, body: answer.body } : answer

const requestIdHeader = (requestId: string) => ["x-request-id", requestId] as const

const isNoSniffing = ([name]: HeaderPairs[number]): boolean => name === noSniffing[0]

export const withRequestId = (requestId: string, response: HttpResponse): HttpResponse => ({
  ...response,
  headers: [...response.headers, requestIdHeader(requestId)]
})

/** What every answer carries. */
export const finish = (
  requestId: string,
  request: HttpRequest,
  route: Pick<Route, "cors"> | undefined,
  response: HttpResponse
): HttpResponse => {
  const cors = route?.cors === true
  const isHead = request.method === "HEAD"
  const common = wholeOf(response.headers, cors)
  if (common !== undefined && !isHead) return new SharedAnswer(response.status, response.body, common, requestId)
  const headers = [...response.headers, requestIdHeader(requestId)]
  if (!response.headers.some(isNoSniffing)) headers.push(noSniffing)
  if (cors) headers.push(...corsHeaders)
  if (!isHead) return { status: response.status, headers, body: response.body }
  headers.push(lengthOf(response.body))
  return { status: response.status, headers, body: "" }
}

/** RFC 9110 §8.6: a HEAD's length is that of the body which a GET would have. No runtime can know it any more. */
const lengthOf = (body: string) => ["content-length", String(utf8.encode(body).length)] as const

const utf8 = new TextEncoder()

export const allowedMethods = (route: Pick<Route, "methods" | "cors">): string => {
  const methods = Object.keys(route.methods)
  return [...methods, ...(methods.includes("GET") ? ["HEAD"] : []), ...(route.cors ? ["OPTIONS"] : [])].join(", ")
}

/** The Fetch standard's preflight. `*` does not cover Authorization, so it is named. */
export const preflight = (route: Route, requestedHeaders: string | null | undefined): HttpResponse =>
  empty(204, [
    ...corsHeaders,
    ["access-control-allow-methods", allowedMethods(route)],
    ["access-control-allow-headers", allowedHeaders(requestedHeaders)],
    ["access-control-max-age", "86400"],
    ["vary", "Access-Control-Request-Headers"]
  ])

const allowedHeaders = (requested: string | null | undefined): string =>
  requested !== null && requested !== undefined && /^[A-Za-z0-9!#$%&'*+.^_`|~, -]{1,1024}$/.test(requested)
    ? requested
    : "Authorization, Content-Type"
