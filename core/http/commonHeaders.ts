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

const whole = Symbol("tessera/core/http/commonHeaders/whole")

interface Shared extends HeaderPairs {
  readonly [whole]?: Whole
}

/** Notes that many answers have just these headers, so that the whole list of them is one for all. */
export const shared = (headers: HeaderPairs): HeaderPairs => {
  const closed = [...headers, noSniffing]
  return Object.assign([...headers], { [whole]: { closed, open: [...closed, ...corsHeaders] } })
}

/** The whole list, if these are headers that many answers share. */
export const wholeOf = (headers: HeaderPairs, cors: boolean): HeaderPairs | undefined => {
  // Lists that are not shared have nothing under the symbol.
  const known = (headers as Shared)[whole]
  return cors ? known?.open : known?.closed
}
