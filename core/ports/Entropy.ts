import { Context, Layer } from "effect"

/** Where random bytes come from. Synchronous, because every platform has such a source and decisions draw a lot. */
export class Entropy extends Context.Service<
  Entropy,
  {
    readonly bytes: (length: number) => Uint8Array
  }
>()("tessera/core/ports/Entropy") {
  /** The platform's own, by the web standard `crypto.getRandomValues`. */
  static readonly layer = Layer.sync(Entropy, () => ({ bytes: drawing() }))
}

const fill = (bytes: Uint8Array<ArrayBuffer>): Uint8Array => globalThis.crypto.getRandomValues(bytes)

const poolLength = 2048

/** Asking the platform costs more than the bytes, so it is asked for many. None is handed out twice, or kept. */
const drawing = () => {
  const pool = new Uint8Array(poolLength)
  let next = poolLength
  return (length: number): Uint8Array => {
    if (length > poolLength) return fill(new Uint8Array(length))
    if (next + length > poolLength) {
      fill(pool)
      next = 0
    }
    // Byte by byte: a few of them cost less so than by the array's own methods.
    const drawn = new Uint8Array(length)
    for (let i = 0; i < length; i++, next++) {
      drawn[i] = pool[next] ?? 0
      pool[next] = 0
    }
    return drawn
  }
}
