import { describe, expect, test } from "bun:test"
import { Context, Effect, Exit, Layer, Option } from "effect"
import { layerAtOnce } from "../../adapters/memory/MemoryStorage.ts"
import { Storage } from "../../core/ports/Storage.ts"
import { troubledStorage } from "../../core/testing/play/TroubledStorage.ts"

const record = { workspace: "w", kind: "grant", id: "g", owner: "o", expiresAt: null, body: 1 } as const

/** Over a store that does its work when it is called, not when its effect runs. */
const troubled = Effect.gen(function* () {
  const below = Context.get(yield* Layer.build(layerAtOnce), Storage)
  const { storage, trouble } = troubledStorage(below, Effect.die("killed"))
  yield* storage.insert(record)
  return {
    storage,
    trouble,
    body: Effect.suspend(() =>
      Effect.map(
        below.get(record),
        Option.map((kept) => kept.body)
      )
    )
  }
})

describe("a store that troubles are made for", () => {
  test.each(["not done", "lost, not applied", "killed before"] as const)("a write that is %s changes nothing", (what) =>
    Effect.gen(function* () {
      const { body, storage, trouble } = yield* troubled
      trouble({ what, write: 1 })
      yield* Effect.exit(storage.replace(1, { ...record, body: 2 }))
      expect(yield* body).toEqual(Option.some(1))
    }).pipe(Effect.scoped, Effect.runPromise)
  )

  test("a write of the key that signs counts for itself", () =>
    Effect.gen(function* () {
      const { body, storage, trouble } = yield* troubled
      const key = { ...record, kind: "signing" } as const
      trouble({ what: "not done", write: 1 })
      yield* storage.insert(key)
      expect(Exit.isFailure(yield* Effect.exit(storage.replace(1, { ...record, body: 2 })))).toBe(true)
      trouble({ what: "not done", write: "signing key" })
      yield* storage.replace(1, { ...record, body: 3 })
      expect(Exit.isFailure(yield* Effect.exit(storage.replace(1, { ...key, body: 2 })))).toBe(true)
      expect(yield* body).toEqual(Option.some(3))
    }).pipe(Effect.scoped, Effect.runPromise))

  test.each(["lost, applied", "killed after"] as const)("a write that is %s is there", (what) =>
    Effect.gen(function* () {
      const { body, storage, trouble } = yield* troubled
      trouble({ what, write: 1 })
      yield* Effect.exit(storage.replace(1, { ...record, body: 2 }))
      expect(yield* body).toEqual(Option.some(2))
    }).pipe(Effect.scoped, Effect.runPromise)
  )
})
