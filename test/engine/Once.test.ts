import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import * as Memory from "../../adapters/memory/Memory.ts"
import { makeOnce, type Once } from "../../core/engine/Once.ts"
import { Storage } from "../../core/ports/Storage.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"
import { type Away, partlyAway } from "../given/countingStorage.ts"

const [home, other] = [WorkspaceId.make("home"), WorkspaceId.make("other")]
const end = Instant.make(1_900_000_000_000)

const inStore = <A, E>(body: (storage: Storage["Service"], once: Once, away: Away) => Effect.Effect<A, E>) => {
  const away: Away = new Set()
  return Effect.runPromise(
    Effect.flatMap(Storage, (storage) => body(storage, makeOnce(partlyAway(away)(storage)), away)).pipe(
      Effect.provide(Memory.layer)
    )
  )
}

describe("what is good once", () => {
  test("is the first taker's, however often that one comes, and no other's", () =>
    inStore((_, once) =>
      Effect.gen(function* () {
        const take = (by: string, value = "v", workspace = home) => once.take(workspace, "set-up", value, by, end)
        expect(yield* take("a")).toBe(true)
        expect(yield* take("b")).toBe(false)
        expect(yield* take("a")).toBe(true)
        expect([yield* take("b", "w"), yield* take("b", "v", other)]).toEqual([true, true])
      })
    ))

  test("is one taker's of many at once", () =>
    inStore((_, once) =>
      Effect.gen(function* () {
        const takers = Array.from({ length: 20 }, (_, by) => once.take(home, "set-up", "v", String(by), end))
        const taken = yield* Effect.all(takers, { concurrency: "unbounded" })
        expect(taken.filter((mine) => mine)).toHaveLength(1)
      })
    ))

  test("keeps no more than a digest of the value, and is free again once it is swept, a minute after its end", () =>
    inStore((storage, once) =>
      Effect.gen(function* () {
        yield* once.take(home, "set-up", "the value", "a", end)
        const listing = { workspace: home, kind: "once", owner: "set-up", after: undefined, limit: 10 } as const
        const { records } = yield* storage.list(listing)
        const swept = end + 60_000
        expect(records).toMatchObject([{ id: digestOf("set-up the value"), expiresAt: swept, version: 1 }])
        expect(JSON.stringify(records)).not.toContain("the value")
        expect(yield* storage.sweep(swept - 1, 10)).toBe(0)
        expect(yield* storage.sweep(swept, 10)).toBe(1)
        expect(yield* once.take(home, "set-up", "the value", "b", end)).toBe(true)
      })
    ))

  test("is not taken where what took it was swept between two looks", () =>
    inStore((storage) =>
      Effect.gen(function* () {
        const once = makeOnce({ ...storage, get: () => Effect.succeedNone })
        expect(yield* once.take(home, "set-up", "v", "a", end)).toBe(true)
        expect(yield* once.take(home, "set-up", "v", "b", end)).toBe(false)
      })
    ))

  test("is not taken where the store does not answer", () =>
    inStore((_, once, away) =>
      Effect.gen(function* () {
        away.add("insert once")
        expect(yield* Effect.flip(once.take(home, "set-up", "v", "a", end))).toMatchObject({
          _tag: "StorageUnavailable"
        })
        away.clear()
        yield* once.take(home, "set-up", "v", "a", end)
        away.add("get once")
        expect(yield* Effect.flip(once.take(home, "set-up", "v", "b", end))).toMatchObject({
          _tag: "StorageUnavailable"
        })
      })
    ))
})
