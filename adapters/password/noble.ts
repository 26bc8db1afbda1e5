import { argon2idAsync } from "@noble/hashes/argon2.js"
import { derived } from "./Argon2id.ts"

/** JavaScript, more than ten times slower than native; it yields to the event loop every 10 ms. */
export const noble = derived("noble", (password, salt, cost, tagLength) =>
  argon2idAsync(password, salt, { m: cost.memory, t: cost.passes, p: cost.lanes, dkLen: tagLength, asyncTick: 10 })
)
