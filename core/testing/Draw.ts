/** Randomness that a seed gives again: for laws and models, never for secrets. */
export interface Draw {
  /** A whole number from 0 up to but not including `limit`. */
  readonly below: (limit: number) => number
  readonly oneOf: <A>(choices: readonly [A, ...ReadonlyArray<A>]) => A
  /** Letters and digits. */
  readonly text: (length: number) => string
  /** The id of a workspace that no other draw gives. */
  readonly workspace: () => string
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

/** xmur3: spreads a text over the start state. */
const hash = (text: string, salt: number): number => {
  let h = 1779033703 ^ text.length ^ salt
  for (let i = 0; i < text.length; i++) {
    h = Math.imul(h ^ text.charCodeAt(i), 3432918353)
    h = (h << 13) | (h >>> 19)
  }
  h = Math.imul(h ^ (h >>> 16), 2246822507)
  h = Math.imul(h ^ (h >>> 13), 3266489909)
  return h ^ (h >>> 16)
}

/** sfc32 */
export const drawFrom = (seed: string): Draw => {
  let [a, b, c, counter] = [hash(seed, 1), hash(seed, 2), hash(seed, 3), 1]
  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (c << 21) | (c >>> 11)
    c = (c + sum) | 0
    return (sum >>> 0) / 4294967296
  }
  for (let i = 0; i < 12; i++) next()

  const below = (limit: number) => Math.floor(next() * limit)
  const text = (length: number) => Array.from({ length }, () => alphabet.charAt(below(alphabet.length))).join("")
  return {
    below,
    text,
    // An index below the length holds one of them; `??` would pass over a `null` among the choices.
    oneOf: <A>(choices: readonly [A, ...ReadonlyArray<A>]) => choices[below(choices.length)] as A,
    workspace: () => `law-${text(20)}`
  }
}
