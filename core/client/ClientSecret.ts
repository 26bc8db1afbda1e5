import { Schema } from "effect"
import { type Credential, Digest } from "../rules/Secret.ts"
import type { Client } from "./Client.ts"

/**
 * What the record keeps of a client that has a secret (RFC 6749 §2.3.1). Both ways to show a secret share it, so a
 * client may use either, whichever it registered.
 */
export const StoredSecret = Schema.Struct({
  _tag: Schema.Literal("Secret"),
  method: Schema.Literals(["client_secret_basic", "client_secret_post"]),
  digest: Digest
})
export type StoredSecret = typeof StoredSecret.Type

/** The digest of the client's secret; a public client has none, nor has one that signs. */
export const secretDigest = ({ credential: { _tag, digest } }: Client): string | undefined =>
  _tag === "Secret" && typeof digest === "string" ? digest : undefined

/** RFC 7592 §2.2: a client that is registered anew keeps the secret that it has. */
export const registerSecret = (
  method: StoredSecret["method"],
  drawn: Credential,
  kept: StoredSecret | undefined
): StoredSecret => (kept === undefined ? { _tag: "Secret", method, digest: drawn.digest } : { ...kept, method })
