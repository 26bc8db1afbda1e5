import { Option } from "effect"
import { endsIn } from "../../core/rules/endsIn.ts"
import { type Argon2id, type Cost, tagLength } from "./Argon2id.ts"
import { readPhc, writePhc } from "./phc.ts"

/** The bare function, as libraries offer it. */
export type Derive = (password: Uint8Array, salt: Uint8Array, cost: Cost, tagLength: number) => Promise<Uint8Array>

/** Hashing and verifying by a function that knows nothing of PHC strings. */
export const derived = (name: Argon2id["name"], derive: Derive): Argon2id => ({
  name,
  hash: async (password, cost, salt) => writePhc({ cost, salt, tag: await derive(password, salt, cost, tagLength) }),
  verify: async (password, hash) => {
    const stored = Option.getOrUndefined(readPhc(hash))
    if (stored === undefined) return false
    // As long as the tag is, so to end in it is to be it.
    return endsIn(await derive(password, stored.salt, stored.cost, stored.tag.length), stored.tag)
  }
})
