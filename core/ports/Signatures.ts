import { Context, Effect, Layer, type Redacted, Schema } from "effect"
import type { Members } from "../codec/Json.ts"
import type { UnverifiedJws } from "../codec/Jws.ts"
import type { Algorithm, PublicKey } from "../rules/Jwk.ts"
import { PortUnavailable } from "../rules/Refusal.ts"

/**
 * Signing and verifying compact JWS (RFC 7515). The core decides about claims, times and audiences; an adapter does the
 * arithmetic. A server whose rows sign nothing has no adapter: composing one is not asked of its host. A row of client
 * authentications or presentations finds the port as `ports.signatures`, beside the request that it judges.
 */

export class SignatureFault extends Schema.TaggedError<SignatureFault>()("SignatureFault", {
  /**
   * `algorithm`: not one of those allowed, or not the key's. `no_key`: none of the keys fits. `wrapped`: the private key
   * cannot be unwrapped so.
   */
  reason: Schema.Literals(["no_adapter", "malformed", "algorithm", "no_key", "forged", "failed", "wrapped"])
}) {}

/** Where the adapter is at fault and not the signature, which then says nothing of who made it. */
export const adapterFault = ({ reason }: SignatureFault): PortUnavailable | undefined =>
  reason === "no_adapter" || reason === "failed" ? new PortUnavailable({ port: "signatures", reason }) : undefined

/** A signature that holds: what was signed, and by which of the keys. */
export interface Verified {
  readonly header: Members
  readonly claims: Members
  readonly key: PublicKey
}

const noAdapter = Effect.fail(new SignatureFault({ reason: "no_adapter" }))

/** What a private key is encrypted by, and what it is bound to: elsewhere, or for another key, it does not unwrap. */
export interface Wrapping {
  /** 256 bits. */
  readonly key: Redacted.Redacted<Uint8Array>
  readonly boundTo: string
}

/** A private key as it is kept. In the clear it is nowhere but in the adapter's memory. */
export interface WrappedKey {
  readonly wrapped: string
  readonly wrapping: Wrapping
}

/** Signs a header and claims, as a compact JWS. */
export type Signer = (header: Members, claims: Members) => Effect.Effect<string, SignatureFault>

export class Signatures extends Context.Service<
  Signatures,
  {
    /**
     * Holds where one of the keys made it, by one of these algorithms, as far as the key allows that one. The header's own
     * `jwk`, `jku` and `x5u` count for nothing, and a `crit` is `malformed`. Who has read it by `readJws` need not have
     * it read again.
     */
    readonly verify: (
      jws: string | UnverifiedJws,
      keys: ReadonlyArray<PublicKey>,
      allowed: ReadonlyArray<Algorithm>
    ) => Effect.Effect<Verified, SignatureFault>
    /** A new pair for this algorithm, its private part wrapped. */
    readonly makeKey: (
      algorithm: Algorithm,
      wrappingOf: (made: PublicKey) => Wrapping
    ) => Effect.Effect<{ readonly publicKey: PublicKey; readonly wrapped: string }, SignatureFault>
    readonly rewrap: (key: WrappedKey, wrapping: Wrapping) => Effect.Effect<string, SignatureFault>
    /** Unwraps a key, so that a caller that is about to spend something for a signature knows that it will be had. */
    readonly signer: (key: WrappedKey, algorithm: Algorithm) => Effect.Effect<Signer, SignatureFault>
  }
>()("tessera/core/ports/Signatures") {
  /** A server without an adapter. */
  static readonly none: Signatures["Service"] = {
    verify: () => noAdapter,
    makeKey: () => noAdapter,
    rewrap: () => noAdapter,
    signer: () => noAdapter
  }
  static readonly layerNone = Layer.succeed(Signatures, Signatures.none)
}
