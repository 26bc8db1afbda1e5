import { describe, expect, test } from "bun:test"
import { Clock, type Duration, Effect, Exit, Scope } from "effect"
import { TestClock } from "effect/testing"
import { makeDeadlines } from "../../../adapters/postgres/Pool.ts"

const run = (body: Effect.Effect<void, never, Scope.Scope>) => () =>
  Effect.runPromise(Effect.scoped(body).pipe(Effect.provide(TestClock.layer(), { local: true })))

/** Deadlines that write down who missed theirs. */
const noted = Effect.map(makeDeadlines, (deadlines) => {
  const missed: Array<string> = []
  return { missed, watch: (name: string, left: number) => deadlines(left, () => missed.push(name)) }
})

describe("deadlines by one timer", () => {
  test(
    "each is missed at its own time, whatever the order they came in",
    run(
      Effect.gen(function* () {
        const { missed, watch } = yield* noted
        watch("late", 900)
        watch("early", 300)
        yield* TestClock.adjust(100)
        watch("between", 400)
        yield* TestClock.adjust(199)
        expect(missed).toEqual([])
        yield* TestClock.adjust(1)
        expect(missed).toEqual(["early"])
        yield* TestClock.adjust(200)
        expect(missed).toEqual(["early", "between"])
        yield* TestClock.adjust(400)
        expect(missed).toEqual(["early", "between", "late"])
      })
    )
  )

  test(
    "who was answered in time misses nothing, and those who come after keep theirs",
    run(
      Effect.gen(function* () {
        const { missed, watch } = yield* noted
        const meet = watch("met", 500)
        yield* TestClock.adjust(200)
        meet()
        watch("missed", 500)
        yield* TestClock.adjust(499)
        expect(missed).toEqual([])
        yield* TestClock.adjust(1)
        expect(missed).toEqual(["missed"])
        yield* TestClock.adjust(5000)
        watch("long after", 500)
        yield* TestClock.adjust(500)
        expect(missed).toEqual(["missed", "long after"])
      })
    )
  )

  test(
    "one that is set while another is missed has its time too",
    run(
      Effect.gen(function* () {
        const deadlines = yield* makeDeadlines
        const missed: Array<string> = []
        deadlines(100, () => {
          missed.push("first")
          deadlines(50, () => missed.push("second"))
        })
        deadlines(120, () => missed.push("other"))
        yield* TestClock.adjust(100)
        expect(missed).toEqual(["first"])
        yield* TestClock.adjust(20)
        expect(missed).toEqual(["first", "other"])
        yield* TestClock.adjust(30)
        expect(missed).toEqual(["first", "other", "second"])
      })
    )
  )

  test(
    "what is out when the store closes keeps its deadline",
    run(
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const { missed, watch } = yield* Scope.provide(noted, scope)
        const meet = watch("answered", 100)
        watch("out", 200)
        yield* Scope.close(scope, Exit.void)
        meet()
        yield* TestClock.adjust(200)
        expect(missed).toEqual(["out"])
      })
    )
  )

  test(
    "one timer at most runs, and none when the store is closed and the last is answered",
    run(
      Effect.gen(function* () {
        let running = 0
        const clock = yield* Clock.Clock
        const sleep = (duration: Duration.Duration) => {
          running++
          return Effect.ensuring(
            clock.sleep(duration),
            Effect.sync(() => void running--)
          )
        }
        const counted = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
          Effect.provideService(effect, Clock.Clock, { ...clock, sleep })
        for (const answered of ["before", "after"]) {
          const scope = yield* Scope.make()
          const { missed, watch } = yield* counted(Scope.provide(noted, scope))
          const late = watch("late", 900)
          const early = watch("early", 300)
          yield* TestClock.adjust(1)
          expect(running).toBe(1)
          if (answered === "before") for (const meet of [late, early]) meet()
          yield* Scope.close(scope, Exit.void)
          if (answered === "after") for (const meet of [late, early]) meet()
          yield* TestClock.adjust(1)
          expect([answered, running]).toEqual([answered, 0])
          expect(missed).toEqual([])
        }
      })
    )
  )
})
