import { shared } from "./commonHeaders.ts"
import type { HeaderPairs, HttpResponse } from "./Http.ts"

/** A value on its way to JSON, which leaves out what is undefined. */
export type Written<T> = { readonly [K in keyof T]: T[K] | (object extends Pick<T, K> ? undefined : never) }

const jsonType = ["content-type", "application/json"] as const

/** RFC 6749 §5.1: nobody keeps a copy of a token. */
export const noStore: HeaderPairs = [
  ["cache-control", "no-store"],
  ["pragma", "no-cache"]
]

/** What does not change for a while, and is nobody's secret. */
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

/** To a request that the end of the server has overtaken: whoever serves next answers it. */
export const shuttingDown: HttpResponse = secretJson(
  503,
  { error: "temporarily_unavailable", error_description: "The server is shutting down." },
  [["retry-after", "1"]]
)

export const empty = (status: number, headers: HeaderPairs = []): HttpResponse => ({ status, headers, body: "" })

const escaped = (character: string): string =>
  encodeURIComponent(/\p{Surrogate}/u.test(character) ? "\ufffd" : character)

/**
 * RFC 9110 §5.5, §10.2.2: as `URL` would write it. A host's address may hold what a stranger has sent, and a header with a
 * line's end in it is one that Node throws at whoever writes the answer.
 */
const asHeader = (address: string): string => address.replace(/[^\x21-\x7e]/gu, escaped)

/** RFC 9700 §4.12: 303, so that a browser never repeats a form's body at the next place. */
export const seeOther = (location: string, headers: HeaderPairs = []): HttpResponse => ({
  status: 303,
  headers: [["location", asHeader(location)], ...noStore, ["referrer-policy", "no-referrer"], ...headers],
  body: ""
})
