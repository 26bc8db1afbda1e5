import type { Effect } from "effect"
import type { Binding } from "../../grant/Binding.ts"
import type { HttpRequest } from "../../http/Http.ts"
import type { Signatures } from "../../ports/Signatures.ts"
import type { StorageUnavailable } from "../../ports/Storage.ts"
import type { Instant } from "../../rules/Instant.ts"
import type { InvalidToken, PortUnavailable, Refusal } from "../../rules/Refusal.ts"

/** A token or key as a request showed it. */
export interface Presented {
  readonly text: string
  /** What the caller proved to hold beside it; `null` where it showed the text alone. */
  readonly binding: Binding | null
}

/** What a row may ask beyond the request. Where the host composed no adapter, it answers that there is none. */
export interface PresentationPorts {
  readonly signatures: Signatures["Service"]
}

export type PresentationFault = InvalidToken | PortUnavailable | StorageUnavailable

/** One way to show a token or a key to a protected resource (RFC 6749 §7.1), as a file of this folder writes it. */
export interface Presentation {
  readonly name: string
  /** The scheme of the Authorization header; for a token, its `token_type` too. */
  readonly scheme: string
  readonly shows: "token" | "apiKey"
  /** Whether a token that is bound so is shown this way. The first row that carries a token names its type. */
  readonly carries: (binding: Binding | null) => boolean
  /**
   * `undefined`: the request shows nothing this way, so the next row is asked. `base`: an address on the host of the
   * request's path. A row that waits for nothing answers with a finished effect.
   */
  readonly read: (
    request: HttpRequest,
    base: string,
    now: Instant,
    ports: PresentationPorts
  ) => Effect.Effect<Presented, PresentationFault> | undefined
  /** RFC 9110 §11.6.1: what it tells a caller that was refused; a row without it says nothing. */
  readonly challenge?: (parameters: ReadonlyArray<string>, refusal: Refusal | StorageUnavailable) => string
}

/** RFC 6749 §7.1: the type of a token, by the way in which it is shown. */
export const tokenTypeOf = (presentations: ReadonlyArray<Presentation>, binding: Binding | null): string => {
  for (const { carries, scheme, shows } of presentations) {
    if (shows === "token" && carries(binding)) return scheme
  }
  // Looked at when the server is composed, and no token is bound to what no row proves.
  throw new TypeError("presentations: no row carries such a token")
}

/** RFC 8414 §2 lets an introspection endpoint name, beside methods of clients, the schemes by which keys are shown. */
export const keySchemes = (presentations: ReadonlyArray<Presentation>): ReadonlyArray<string> => [
  ...new Set(presentations.flatMap(({ scheme, shows }) => (shows === "apiKey" ? [scheme] : [])))
]
