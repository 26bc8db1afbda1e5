import { afterAll, describe, expect, test } from "bun:test"
import { Effect, ManagedRuntime, Option } from "effect"
import { layer } from "../../adapters/memory/Memory.ts"
import { layerAtOnce } from "../../adapters/memory/MemoryStorage.ts"
import { Storage, writtenKept } from "../../core/ports/Storage.ts"
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

test("tells the last writes of a kind from when it was first asked: what was there and was replaced, removed or swept", () =>
  Effect.runPromise(
    Effect.gen(function* () {
      const store = yield* Storage
      const write = (id: string) =>
        ({ workspace: "w", kind: "client", id, owner: "o", expiresAt: 1, body: {} }) as const
      yield* store.insert(write("early"))
      yield* store.remove(write("early"))
      const written = store.written?.("client")
      if (written === undefined) throw new Error("the store tells nothing")
      for (const id of ["replaced", "removed", "swept"]) yield* store.insert(write(id))
      yield* store.insert({ ...write("of another kind"), kind: "grant", expiresAt: null })
      expect(written).toMatchObject({ count: 0, last: [] })
      yield* store.replace(1, write("replaced"))
      yield* Effect.flip(store.replace(1, write("replaced")))
      yield* store.remove(write("removed"))
      yield* store.remove(write("nowhere"))
      yield* store.replace(1, { ...write("of another kind"), kind: "grant" })
      yield* store.replace(2, { ...write("replaced"), expiresAt: null })
      yield* store.sweep(1, 10)
      expect(written.count).toBe(4)
      expect(written.last.map(({ id }) => id)).toEqual(["replaced", "removed", "replaced", "swept"])
      for (let version = 3; version < 5 * writtenKept; version++) {
        yield* store.replace(version, { ...write("replaced"), expiresAt: null })
        expect(written.last.length).toBeGreaterThanOrEqual(Math.min(written.count, writtenKept))
        expect(written.last.length).toBeLessThanOrEqual(2 * writtenKept)
      }
      expect(store.written?.("client")).toBe(written)
    }).pipe(Effect.provide(layerAtOnce, { local: true }))
  ))
