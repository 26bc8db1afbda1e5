import * as crypto from "node:crypto"
import { type Argon2id, derived } from "./Argon2id.ts"

/** `crypto.argon2` of Node 24.7 and later. */
type NodeArgon2 = (
  algorithm: "argon2id",
  parameters: {
    readonly message: Uint8Array
    readonly nonce: Uint8Array
    readonly parallelism: number
    readonly tagLength: number
    readonly memory: number
    readonly passes: number
  },
  callback: (error: Error | null, tag: Uint8Array) => void
) => void

// The type definitions are of an older Node, so the function is looked up by name.
const found: unknown = Reflect.get(crypto, "argon2")
const isNodeArgon2 = (value: unknown): value is NodeArgon2 => typeof value === "function"

const withNode = (argon2: NodeArgon2): Argon2id =>
  derived("node", (password, salt, cost, tagLength) => {
    const parameters = {
      message: password,
      nonce: salt,
      parallelism: cost.lanes,
      tagLength,
      memory: cost.memory,
      passes: cost.passes
    }
    return new Promise((resolve, reject) => {
      argon2("argon2id", parameters, (error, tag) => (error === null ? resolve(tag) : reject(error)))
    })
  })

/** Node's own, on its thread pool. `undefined` where this Node has none. */
export const node: Argon2id | undefined = isNodeArgon2(found) ? withNode(found) : undefined
