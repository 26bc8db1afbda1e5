import type { Entropy } from "../ports/Entropy.ts"
import { hexOf } from "../rules/Hex.ts"

const length = 8
/** Every request takes one, and many cost less than as many times one. They are no secret that may not wait here. */
const atOnce = 64

/** 64 random bits in hex for each request. */
export const requestIds = (entropy: Entropy["Service"]): (() => string) => {
  const ids: Array<string> = []
  return () => {
    if (ids.length === 0) {
      const bytes = entropy.bytes(atOnce * length)
      for (let at = bytes.length - length; at >= 0; at -= length) ids.push(hexOf(bytes, at, at + length))
    }
    return ids.pop() ?? ""
  }
}
