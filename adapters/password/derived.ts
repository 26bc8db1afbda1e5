import { Option } from "effect"
import { type Argon2id, type Cost, tagLength } from "./Argon2id.ts"
import { readPhc, writePhc } from "./phc.ts"

/** The bare function, as libraries offer it. */
export type Derive = (password: Uint8Array, salt: Uint8Array, cost: Cost, tagLength: number) => Promise<Uint8Array>

/** In a time that says nothing about where two of them differ. */
const sameBytes = (a: Uint8Array, b: Uint8Array): boolean => {
  let difference = a.length ^ b.length
  for (let i = 0; i < a.length; i++) difference |= (a[i] ?? 0) ^ (b[i] ?? 0)
  return difference === 0
}

/** Hashing and verifying by a function that knows nothing of PHC strings. */
export const derived = (name: Argon2id["name"], derive: Derive): Argon2id => ({
  name,
  hash: async (password, cost, salt) => writePhc({ cost, salt, tag: await derive(password, salt, cost, tagLength) }),
  verify: async (password, hash) => {
    const stored = Option.getOrUndefined(readPhc(hash))
    if (stored === undefined) return false
    return sameBytes(await derive(password, stored.salt, stored.cost, stored.tag.length), stored.tag)
  }
})
