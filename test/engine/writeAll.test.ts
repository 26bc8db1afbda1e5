import { expect, test } from "bun:test"
import { Deferred, Effect, Fiber } from "effect"
import { writeAll } from "../../core/engine/lists.ts"

const names = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)

/** Writes that wait for the test. */
const held = Effect.gen(function* () {
  const begun: Array<number> = []
  const failed: Array<number> = []
  const [first, others] = [yield* Deferred.make<void, string>(), yield* Deferred.make<void, string>()]
  const all = yield* Effect.forkChild(
    Effect.result(
      writeAll(
        names(0, 200),
        (n) =>
          Effect.suspend(() => {
            begun.push(n)
            return Deferred.await(n === 0 ? first : others)
          }),
        (n) => failed.push(n)
      )
    ),
    { startImmediately: true }
  )
  return { all, begun, failed, first, others }
})

test("many are under way at once, but no more than a store may be asked for, and all are written", () =>
  Effect.runPromise(
    Effect.gen(function* () {
      const { all, begun, failed, first, others } = yield* held
      expect(begun).toEqual(names(0, 64))
      yield* Deferred.succeed(first, undefined)
      yield* Effect.yieldNow
      expect(begun).toEqual(names(0, 65))
      yield* Deferred.succeed(others, undefined)
      expect(yield* Fiber.join(all)).toMatchObject({ _tag: "Success", success: 200 })
      expect([begun, failed]).toEqual([names(0, 200), []])
    })
  ))

test("one that fails takes none with it that is under way, and none is begun after it", () =>
  Effect.runPromise(
    Effect.gen(function* () {
      const { all, begun, failed, first, others } = yield* held
      yield* Deferred.fail(first, "away")
      yield* Effect.yieldNow
      expect(all.pollUnsafe()).toBe(undefined)
      yield* Deferred.succeed(others, undefined)
      expect(yield* Fiber.join(all)).toMatchObject({ _tag: "Failure", failure: "away" })
      expect([begun, failed]).toEqual([names(0, 64), [0]])
    })
  ))

test("of several that fail, the first is told", () =>
  Effect.runPromise(
    Effect.gen(function* () {
      const { all, failed, first, others } = yield* held
      yield* Deferred.fail(first, "away")
      yield* Deferred.fail(others, "away too")
      expect(yield* Fiber.join(all)).toMatchObject({ _tag: "Failure", failure: "away" })
      expect(failed).toEqual([0])
    })
  ))
