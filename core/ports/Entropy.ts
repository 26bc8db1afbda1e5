import { Context, Layer } from "effect"

/** Where random bytes come from. Synchronous, because every platform has such a source and decisions draw a lot. */
export class Entropy extends Context.Service<
  Entropy,
  {
    readonly bytes: (length: number) => Uint8Array
  }
>()("tessera/core/ports/Entropy") {
  /** The platform's own, by the web standard `crypto.getRandomValues`. */
  static readonly layer = Layer.succeed(Entropy, {
    bytes: (length) => globalThis.crypto.getRandomValues(new Uint8Array(length))
  })
}
