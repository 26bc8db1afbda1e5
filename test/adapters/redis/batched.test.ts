import { describe, expect, test } from "bun:test"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { batched } from "../../../adapters/redis/RedisStorage.ts"
import type { Deadline } from "../../../adapters/redis/Wire.ts"
import { StorageUnavailable } from "../../../core/ports/Storage.ts"

const busy = new StorageUnavailable({ outcome: "not_done", message: "too busy" })
const oneOfItsOwn = 1e9

/** Commands that wait for the test to answer them, and the deadline that each was given. */
const held = Effect.fnUntraced(function* (several: boolean, maximumWaiting: number) {
  const answer = yield* Deferred.make<void>()
  const sent: Array<{ readonly items: ReadonlyArray<string>; readonly left: number }> = []
  const call = yield* batched<string, string, never>(
    { tooBusy: () => busy, deadline: () => performance.now() + oneOfItsOwn },
    { several, deadlineMillis: 1000, maximumWaiting },
    {
      send: (items, deadline: Deadline) => {
        sent.push({ items, left: Math.round(deadline - performance.now()) })
        return Effect.as(
          Deferred.await(answer),
          items.map((item) => Exit.succeed(item.toUpperCase()))
        )
      }
    }
  )
  const start = (item: string) =>
    Effect.tap(Effect.forkChild(Effect.result(call(item)), { startImmediately: true }), () =>
      Effect.promise(() => Promise.resolve())
    )
  return { answer: Deferred.succeed(answer, undefined), sent, start }
})

const run = (body: Effect.Effect<void, unknown>) => () =>
  Effect.runPromise(body.pipe(Effect.provide(TestClock.layer(), { local: true })))

describe("calls that meet", () => {
  test(
    "travel within the time of who waited longest; who waited too long, or comes on top of too many, is told",
    run(
      Effect.gen(function* () {
        const { answer, sent, start } = yield* held(true, 2)
        const first = yield* start("a")
        yield* TestClock.adjust(100)
        const late = yield* start("b")
        yield* TestClock.adjust(600)
        const next = yield* start("c")
        const onTop = yield* start("d")
        expect(yield* Fiber.join(onTop)).toMatchObject({ failure: busy })
        yield* TestClock.adjust(400)
        yield* answer
        yield* Effect.forEach([first, next], Fiber.join)
        expect(yield* Fiber.join(late)).toMatchObject({ failure: busy })
        expect(sent.map(({ items }) => items)).toEqual([["a"], ["c"]])
        // Some of it may have gone by since.
        expect(sent[0]?.left).toBeWithin(1, 1001)
        expect(sent[1]?.left).toBeWithin(1, 601)
      })
    )
  )

  test(
    "are one command at a time, and no more of them than a server may be held up by",
    run(
      Effect.gen(function* () {
        const { answer, sent, start } = yield* held(true, 1000)
        const calls = yield* Effect.forEach(
          Array.from({ length: 131 }, (_, n) => `${n}`),
          start
        )
        expect(sent.map(({ items }) => items.length)).toEqual([1])
        yield* answer
        yield* Effect.forEach(calls, Fiber.join)
        expect(sent.map(({ items }) => items.length)).toEqual([1, 64, 64, 2])
      })
    )
  )

  test(
    "where a command may be about one record only, each go alone, at once",
    run(
      Effect.gen(function* () {
        const { answer, sent, start } = yield* held(false, 2)
        const calls = yield* Effect.forEach([..."abc"], start)
        expect(sent.map(({ items }) => items)).toEqual([["a"], ["b"], ["c"]])
        yield* answer
        for (const call of calls) expect(yield* Fiber.join(call)).toMatchObject({ _tag: "Success" })
      })
    )
  )
})
