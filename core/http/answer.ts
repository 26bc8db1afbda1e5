import type { HeaderPairs, HttpResponse } from "./Http.ts"

/** A value on its way to JSON, which leaves out what is undefined. */
export type Written<T> = { readonly [K in keyof T]: T[K] | (object extends Pick<T, K> ? undefined : never) }

const jsonType = ["content-type", "application/json"] as const

/** RFC 6749 §5.1: nobody keeps a copy of a token. */
export const noStore: HeaderPairs = [
  ["cache-control", "no-store"],
  ["pragma", "no-cache"]
]

const secretJsonHeaders: HeaderPairs = [jsonType, ...noStore]

export const json = (status: number, value: unknown, headers: HeaderPairs = []): HttpResponse => ({
  status,
  headers: headers.length === 0 ? [jsonType] : [jsonType, ...headers],
  body: JSON.stringify(value)
})

/** JSON that holds, or speaks of, a token or a registration. */
export const secretJson = (status: number, value: unknown, headers: HeaderPairs = []): HttpResponse => ({
  status,
  headers: headers.length === 0 ? secretJsonHeaders : [...secretJsonHeaders, ...headers],
  body: JSON.stringify(value)
})

export const empty = (status: number, headers: HeaderPairs = []): HttpResponse => ({ status, headers, body: "" })

/** RFC 9700 §4.12: 303, so that a browser never repeats a form's body at the next place. */
export const seeOther = (location: string, headers: HeaderPairs = []): HttpResponse => ({
  status: 303,
  headers: [["location", location], ...noStore, ["referrer-policy", "no-referrer"], ...headers],
  body: ""
})
