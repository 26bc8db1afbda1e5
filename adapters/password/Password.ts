import { Effect, Layer, Option, Redacted } from "effect"
import { Entropy } from "../../core/ports/Entropy.ts"
import { PasswordHasher } from "../../core/ports/PasswordHasher.ts"
import { type Argon2id, type Cost, readPhc, saltLength, standardCost, tagLength, writePhc } from "./Argon2id.ts"
import { bun } from "./bun.ts"
import { noble } from "./noble.ts"
import { node } from "./node.ts"

/** The runtime's own implementation, if it has one. */
export const fastest: Argon2id = bun ?? node ?? noble

const utf8 = new TextEncoder()
const bytesOf = (password: Redacted.Redacted<string>) => utf8.encode(Redacted.value(password))

/** Argon2id by one implementation, at one cost. */
export const layerOf = (argon2id: Argon2id, cost: Cost) =>
  Layer.effect(
    PasswordHasher,
    Effect.map(Entropy, (entropy) => ({
      // A defect: the platform throws only for lack of memory or a broken build.
      hash: (password) => Effect.promise(() => argon2id.hash(bytesOf(password), cost, entropy.bytes(saltLength))),
      verify: (password, hash) =>
        Option.isNone(readPhc(hash))
          ? Effect.as(Effect.logError("a stored password hash cannot be read"), false)
          : Effect.promise(() => argon2id.verify(bytesOf(password), hash)),
      isOutdated: (hash) =>
        Option.match(readPhc(hash), {
          onNone: () => true,
          onSome: (stored) => stored.cost.memory < cost.memory || stored.cost.passes < cost.passes
        }),
      decoy: writePhc({ cost, salt: entropy.bytes(saltLength), tag: entropy.bytes(tagLength) })
    }))
  )

export const layer = layerOf(fastest, standardCost)
