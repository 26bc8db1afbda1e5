import { Schema } from "effect"
import { sameDigest } from "../rules/Secret.ts"

/** What a token is bound to (RFC 9449, 8705): the base64url of the SHA-256 of a key, or of a certificate. */
export const Binding = Schema.Struct({
  /** The last of its characters has two bits that say nothing, and are 0. */
  thumbprint: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/))
})
export type Binding = typeof Binding.Type

/** Whether the caller proved to hold what a token is bound to; of a token that is bound to nothing, that it proved nothing. */
export const isBoundTo = (bound: Binding | null, shown: Binding | null): boolean =>
  bound === null || shown === null ? bound === shown : sameDigest(bound.thumbprint, shown.thumbprint)
