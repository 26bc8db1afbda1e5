import type { HeaderPairs } from "./Http.ts"

export const noSniffing = ["x-content-type-options", "nosniff"] as const

/** Any origin, never with credentials: what these endpoints answer depends on what the script itself sends. */
export const corsHeaders: HeaderPairs = [
  ["access-control-allow-origin", "*"],
  ["access-control-expose-headers", "WWW-Authenticate, Retry-After, X-Request-Id"]
]

/** Everything that an answer carries but its request's id, where any origin may read it and where not. */
interface Whole {
  readonly open: HeaderPairs
  readonly closed: HeaderPairs
}

const wholes = new WeakMap<HeaderPairs, Whole>()

/** Notes that many answers have just these headers, so that the whole list of them is one for all. */
export const shared = (headers: HeaderPairs): HeaderPairs => {
  const closed = [...headers, noSniffing]
  wholes.set(headers, { closed, open: [...closed, ...corsHeaders] })
  return headers
}

/** The whole list, if these are headers that many answers share. */
export const wholeOf = (headers: HeaderPairs, cors: boolean): HeaderPairs | undefined => {
  const whole = wholes.get(headers)
  return cors ? whole?.open : whole?.closed
}
