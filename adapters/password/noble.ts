import { argon2idAsync } from "@noble/hashes/argon2.js"
import { derived } from "./Argon2id.ts"

/** In JavaScript, a good ten times slower than a native one; it lets others have a turn every few milliseconds. */
export const noble = derived("noble", (password, salt, cost, tagLength) =>
  argon2idAsync(password, salt, { m: cost.memory, t: cost.passes, p: cost.lanes, dkLen: tagLength, asyncTick: 10 })
)
