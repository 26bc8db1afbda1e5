import { afterAll, describe, expect, test } from "bun:test"
import { Effect, ManagedRuntime, Option } from "effect"
import { layer } from "../../adapters/memory/Memory.ts"
import { layerAtOnce } from "../../adapters/memory/MemoryStorage.ts"
import { Storage } from "../../core/ports/Storage.ts"
import { checkLaws, storageLaws, storageScanLaws } from "../../core/testing/StorageConformance.ts"
import { seed } from "./seed.ts"

describe("the store in memory", () => {
  const runtime = ManagedRuntime.make(layer)
  afterAll(() => runtime.dispose())

  checkLaws(storageLaws(seed), test, (law) => runtime.runPromise(law))
  checkLaws(storageScanLaws(seed), test, (law) => runtime.runPromise(law))
})

describe("the store in memory that trusts its callers", () => {
  const runtime = ManagedRuntime.make(layerAtOnce)
  afterAll(() => runtime.dispose())

  const laws = storageLaws(seed).filter(({ name }) => !name.startsWith("changing a body"))
  test("promises all but one thing", () => expect(laws.length).toBe(storageLaws(seed).length - 1))
  checkLaws(laws, test, (law) => runtime.runPromise(law))
})

test.each([
  ["layer", layer],
  ["layerAtOnce", layerAtOnce]
])("%s gives back the object that it was given, so that what was decoded from it can be remembered", (_, given) =>
  Effect.runPromise(
    Effect.gen(function* () {
      const store = yield* Storage
      const key = { workspace: "w", kind: "grant", id: "g" } as const
      const [first, second] = [{ n: 1 }, { n: 2 }]
      yield* store.insert({ ...key, owner: "o", expiresAt: null, body: first })
      expect(Option.getOrThrow(yield* store.get(key)).body).toBe(first)
      yield* store.replace(1, { ...key, owner: "o", expiresAt: null, body: second })
      expect(Option.getOrThrow(yield* store.get(key)).body).toBe(second)
    }).pipe(Effect.provide(given, { local: true }))
  )
)
