import { Context, Effect, Layer, Schema } from "effect"
import type { Members } from "../codec/Jws.ts"
import type { Algorithm, PublicKey } from "../rules/Jwk.ts"

/**
 * Signing and verifying compact JWS (RFC 7515). The core decides about claims, times and audiences; an adapter does the
 * arithmetic. A server whose rows sign nothing has no adapter: composing one is not asked of its host. A row of client
 * authentications or presentations finds the port as `ports.signatures`, beside the request that it judges.
 */

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
    /**
     * Holds where one of the keys made it, by one of these algorithms, as far as the key allows that one. The header's own
     * `jwk`, `jku` and `x5u` count for nothing, and a `crit` is `malformed`.
     */
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
