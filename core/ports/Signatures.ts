import { Context, Effect, Layer, Schema } from "effect"
import type { Json } from "./Storage.ts"

/**
 * Signing and verifying compact JWS (RFC 7515). The core decides about claims, times and audiences; an adapter does the
 * arithmetic. A server whose rows sign nothing has no adapter: composing one is not asked of its host. A row of client
 * authentications or presentations finds the port as `ports.signatures`, beside the request that it judges.
 */

/** RFC 7518 §3.1, 8037, 9864: no symmetric algorithm, so no public key's bytes can be a secret, and never `none`. */
export const algorithms = ["EdDSA", "Ed25519", "ES256", "PS256", "RS256"] as const
export type Algorithm = (typeof algorithms)[number]

/** A public key as RFC 7517 writes it. */
export type PublicKey = Readonly<Record<string, Json>>

type Members = Readonly<Record<string, Json>>

export class SignatureFault extends Schema.TaggedError<SignatureFault>()("SignatureFault", {
  /** `algorithm`: not one of those allowed, or not the key's. `no_key`: none of the keys fits. */
  reason: Schema.Literals(["no_adapter", "malformed", "algorithm", "no_key", "forged", "failed"])
}) {}

/** A signature that holds: what was signed, and by which of the keys. */
export interface Verified {
  readonly header: Members
  readonly claims: Members
  readonly key: PublicKey
}

export class Signatures extends Context.Service<
  Signatures,
  {
    /** The header's own `jwk`, `jku` and `x5u` count for nothing, and an unknown `crit` is `malformed`. */
    readonly verify: (
      jws: string,
      keys: ReadonlyArray<PublicKey>,
      allowed: ReadonlyArray<Algorithm>
    ) => Effect.Effect<Verified, SignatureFault>
    /** `key`: a private key as RFC 7517 writes it, or whatever else the adapter knows one by. */
    readonly sign: (
      key: Members,
      algorithm: Algorithm,
      header: Members,
      claims: Members
    ) => Effect.Effect<string, SignatureFault>
  }
>()("tessera/core/ports/Signatures") {
  /** A server without an adapter. */
  static readonly none: Signatures["Service"] = {
    verify: () => Effect.fail(new SignatureFault({ reason: "no_adapter" })),
    sign: () => Effect.fail(new SignatureFault({ reason: "no_adapter" }))
  }
  static readonly layerNone = Layer.succeed(Signatures, Signatures.none)
}
