import type { Effect, Result } from "effect"
import type { Binding } from "../../grant/Binding.ts"
import type { HeaderPairs, HttpRequest } from "../../http/Http.ts"
import type { Signatures } from "../../ports/Signatures.ts"
import type { StorageUnavailable } from "../../ports/Storage.ts"
import type { GoodOnce } from "../../rules/GoodOnce.ts"
import type { Instant } from "../../rules/Instant.ts"
import type { InvalidDpopProof, InvalidToken, PortUnavailable, Refusal, UseDpopNonce } from "../../rules/Refusal.ts"
import type { Place } from "../../token/KeyRing.ts"

/** What shows that a caller holds a key. Until `holds` and `single` were asked, it is a claim of the caller's. */
export interface Proof {
  readonly binding: Binding
  /** Whether the key made it: a signature is verified, so it is asked only where all else holds. */
  readonly holds: Effect.Effect<void, InvalidDpopProof | PortUnavailable>
  /** It counts once. */
  readonly single: GoodOnce<InvalidDpopProof>
  /** What an answer has to tell the caller. */
  readonly tells: HeaderPairs
}

/** A token or key as a request showed it. */
export interface Presented {
  readonly text: string
  /** What the caller says to hold beside it; `null` where it showed the text alone. */
  readonly binding: Binding | null
  /** By which it shows that. Left out where there is nothing to show, or nothing left. */
  readonly proof?: Proof
}

/** Nonces of the server's that proofs have to hold (RFC 9449 §8). */
export interface Nonces {
  /** Judges what a proof holds as its nonce: refuses it, or says what its maker is to be told. */
  readonly judge: (
    at: "auth" | "resource",
    place: Place,
    shown: unknown,
    now: Instant
  ) => Result.Result<HeaderPairs, UseDpopNonce>
}

/** What a row may ask beyond the request. Where the host composed no adapter, it answers that there is none. */
export interface PresentationPorts {
  readonly signatures: Signatures["Service"]
  /** Left out where the server's nonces are not judged, as at a resource elsewhere. */
  readonly nonces?: Nonces
}

export type PresentationFault = InvalidToken | InvalidDpopProof | UseDpopNonce | PortUnavailable | StorageUnavailable

/** The refusals that are about a proof beside a token, and not about the token. */
export const isAboutProof = (fault: Refusal | StorageUnavailable): fault is InvalidDpopProof | UseDpopNonce =>
  fault._tag === "InvalidDpopProof" || fault._tag === "UseDpopNonce"

/** One way to show a token or a key to a protected resource (RFC 6749 §7.1), as a file of this folder writes it. */
export interface Presentation {
  readonly name: string
  /** The scheme of the Authorization header; for a token, its `token_type` too. */
  readonly scheme: string
  readonly shows: "token" | "apiKey"
  /** It verifies what callers sign: a server without an adapter for `Signatures` goes without the row. */
  readonly signs?: true
  /** Whether a token that is bound so is shown this way. The first row that carries a token names its type. */
  readonly carries: (binding: Binding | null) => boolean
  /**
   * `undefined`: the request shows nothing this way, so the next row is asked. `base`: an address on the host of the
   * request's path. `place`: where the server's nonces hold, if it has any. A row that waits for nothing answers with a
   * finished effect.
   */
  readonly read: (
    request: HttpRequest,
    base: string,
    now: Instant,
    ports: PresentationPorts,
    place?: Place
  ) => Effect.Effect<Presented, PresentationFault> | undefined
  /** What a request for tokens, at this address, shows that its client holds: they are bound to it. */
  readonly proves?: (
    request: HttpRequest,
    address: string,
    now: Instant,
    ports: PresentationPorts,
    place: Place
  ) => Result.Result<Proof, InvalidDpopProof | UseDpopNonce> | undefined
  /** RFC 9110 §11.6.1: what it tells a caller that was refused; a row without it says nothing. */
  readonly challenge?: (parameters: ReadonlyArray<string>, refusal: Refusal | StorageUnavailable) => string | undefined
  /** Lists of the metadata (RFC 8414 §2, RFC 9728 §2), of the server and of each resource. */
  readonly metadata?: Readonly<Record<string, ReadonlyArray<string>>>
}

/** RFC 6749 §7.1: the type of a token, by the way in which it is shown; `undefined` where no row shows it. */
export const tokenTypeOf = (presentations: ReadonlyArray<Presentation>, binding: Binding | null): string | undefined =>
  presentations.find(({ carries, shows }) => shows === "token" && carries(binding))?.scheme

/** The rows that show no bearer token. Keys are no tokens. */
export const boundRows = (presentations: ReadonlyArray<Presentation>): ReadonlyArray<Presentation> => {
  const known = bound.get(presentations)
  if (known !== undefined) return known
  const made = presentations.filter(({ carries, shows }) => shows !== "token" || !carries(null))
  bound.set(presentations, made)
  return made
}

/** Tables are there for good. */
const bound = new WeakMap<ReadonlyArray<Presentation>, ReadonlyArray<Presentation>>()

/** RFC 8414 §2 lets an introspection endpoint name, beside methods of clients, the schemes by which keys are shown. */
export const keySchemes = (presentations: ReadonlyArray<Presentation>): ReadonlyArray<string> => [
  ...new Set(presentations.flatMap(({ scheme, shows }) => (shows === "apiKey" ? [scheme] : [])))
]
