import { describe, expect, test } from "bun:test"
import { Cause, Clock, Deferred, type Duration, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { type Coalescing, coalesce } from "../../adapters/batching/coalesce.ts"
import { roundsDuring } from "./roundsDuring.ts"

/** A batch that left, held until the test answers it. */
interface Batch {
  readonly items: ReadonlyArray<string>
  readonly left: number
  readonly answer: (exits: Effect.Effect<ReadonlyArray<Exit.Exit<string, string>>, string>) => Effect.Effect<unknown>
}

const sharing = { identity: (item: string) => item, second: "share" } as const

const held = (options: Partial<Coalescing<string, string, string>> = {}) =>
  Effect.gen(function* () {
    const batches: Array<Batch> = []
    const call = yield* coalesce<string, string, string>({
      run: (items, left) =>
        Effect.gen(function* () {
          const answer = yield* Deferred.make<ReadonlyArray<Exit.Exit<string, string>>, string>()
          batches.push({ items, left, answer: (exits) => Deferred.complete(answer, exits) })
          return yield* Deferred.await(answer)
        }),
      same: { identity: (item) => item, second: "wait" },
      size: 100,
      underWay: 1,
      within: 1000,
      late: () => "late",
      ...options
    })
    const start = (item: string) => Effect.forkChild(call(item), { startImmediately: true })
    const batch = (i: number): Batch => {
      const found = batches[i]
      if (found === undefined) throw new Error(`batch ${i} has not left`)
      return found
    }
    return { batches, batch, call, start }
  })

/** Two batches under way, five milliseconds of patience, and how often it asked to be woken. */
const patient = Effect.gen(function* () {
  let timers = 0
  const clock = yield* Clock.Clock
  const sleep = (duration: Duration.Duration) => {
    timers++
    return clock.sleep(duration)
  }
  const given = yield* held({ underWay: 2, patience: 5 }).pipe(Effect.provideService(Clock.Clock, { ...clock, sleep }))
  return { ...given, timers: () => timers }
})

const upper = (batch: Batch) =>
  batch.answer(Effect.succeed(batch.items.map((item) => Exit.succeed(item.toUpperCase()))))
/** Lets what is scheduled for this turn happen. */
const turn = Effect.promise(() => Promise.resolve())
/** The same for what is scheduled until all that has arrived has had its turn. */
const round = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
const shape = (batches: ReadonlyArray<Batch>) => batches.map((batch) => batch.items.join(""))

const run = (body: Effect.Effect<void, unknown>) => () =>
  Effect.runPromise(body.pipe(Effect.provide(TestClock.layer(), { local: true })))

describe("what travels together", () => {
  test(
    "calls of one turn",
    run(
      Effect.gen(function* () {
        const { batch, batches, start } = yield* held()
        const calls = yield* Effect.all([start("a"), start("b"), start("c")])
        yield* turn
        expect(shape(batches)).toEqual(["abc"])
        yield* upper(batch(0))
        expect(yield* Fiber.joinAll(calls)).toEqual(["A", "B", "C"])
      })
    )
  )

  test(
    "a lone call leaves in its own turn, and what comes while it is out goes together afterwards",
    run(
      Effect.gen(function* () {
        const { batch, batches, start } = yield* held()
        const first = yield* start("a")
        yield* turn
        expect(shape(batches)).toEqual(["a"])
        const second = yield* start("b")
        yield* turn
        const third = yield* start("c")
        yield* turn
        expect(shape(batches)).toEqual(["a"])
        yield* upper(batch(0))
        yield* turn
        expect(shape(batches)).toEqual(["a", "bc"])
        yield* upper(batch(1))
        expect(yield* Fiber.joinAll([first, second, third])).toEqual(["A", "B", "C"])
      })
    )
  )

  test(
    "after a batch of several, the next calls wait for those of their round; after a lone one, for none",
    run(
      Effect.gen(function* () {
        const { batch, batches, start } = yield* held({ leaves: "crowd" })
        yield* start("a")
        yield* turn
        expect(shape(batches)).toEqual(["a"])
        yield* start("b")
        yield* start("c")
        yield* upper(batch(0))
        expect(shape(batches)).toEqual(["a", "bc"])
        yield* upper(batch(1))
        yield* start("d")
        yield* turn
        yield* start("e")
        yield* turn
        expect(shape(batches)).toEqual(["a", "bc"])
        yield* round
        expect(shape(batches)).toEqual(["a", "bc", "de"])
        yield* upper(batch(2))
        yield* start("f")
        yield* round
        yield* upper(batch(3))
        yield* start("g")
        yield* turn
        expect(shape(batches)).toEqual(["a", "bc", "de", "f", "g"])
      })
    )
  )

  test(
    "in a lull, once a round has brought no more, or as a full batch",
    run(
      Effect.gen(function* () {
        const { batch, batches, start } = yield* held({ leaves: "lull", size: 4 })
        yield* start("a")
        yield* round
        expect(shape(batches)).toEqual([])
        yield* start("b")
        yield* round
        expect(shape(batches)).toEqual([])
        yield* round
        expect(shape(batches)).toEqual(["ab"])
        yield* upper(batch(0))
        yield* Effect.forEach([..."cdef"], start)
        yield* round
        expect(shape(batches)).toEqual(["ab", "cdef"])
      })
    )
  )

  test(
    "what the answered ask for next leaves when its mode says, with what gathered while they were out",
    run(
      Effect.gen(function* () {
        for (const leaves of ["turn", "crowd", "lull"] as const) {
          const { batch, batches, call, start } = yield* held({ leaves })
          const twice = (item: string) =>
            Effect.forkChild(Effect.andThen(call(item), call(item)), { startImmediately: true })
          const calls = [yield* twice("a"), yield* twice("b")]
          yield* Effect.andThen(round, round)
          calls.push(yield* start("c"))
          yield* upper(batch(0))
          expect(shape(batches)).toEqual(["ab"])
          yield* turn
          expect(shape(batches)).toEqual(leaves === "turn" ? ["ab", "cab"] : ["ab"])
          yield* Effect.andThen(round, round)
          expect(shape(batches)).toEqual(["ab", "cab"])
          yield* upper(batch(1))
          expect(yield* Fiber.joinAll(calls)).toEqual([..."ABC"])
        }
      })
    )
  )

  test(
    "calls that one caller makes one after the other, each answered at once, do not pile up on the stack",
    run(
      Effect.gen(function* () {
        for (const leaves of ["turn", "crowd", "lull"] as const) {
          const { call } = yield* held({
            leaves,
            run: (items) => Effect.succeed(items.map((item) => Exit.succeed(item)))
          })
          for (let i = 0; i < 20_000; i++) yield* call("a")
        }
      })
    )
  )

  test(
    "calls that wait for a lull leave all others a turn between any two batches",
    run(
      Effect.gen(function* () {
        let batches = 0
        const { call } = yield* held({
          leaves: "lull",
          size: 2,
          run: (items) =>
            Effect.sync(() => {
              batches++
              return items.map((item) => Exit.succeed(item))
            })
        })
        const often = (item: string) => Effect.repeat(call(item), { times: 99 })
        const rounds = yield* roundsDuring(Effect.all(["a", "b", "c"].map(often), { concurrency: "unbounded" }))
        expect(batches).toBeGreaterThanOrEqual(150)
        expect(rounds).toBeGreaterThanOrEqual(batches)
      })
    )
  )

  test(
    "at most `size` in a batch and at most `underWay` batches, in the order of the calls",
    run(
      Effect.gen(function* () {
        const { batch, batches, start } = yield* held({ size: 2, underWay: 2 })
        const calls = yield* Effect.forEach([..."abcdefg"], start)
        yield* turn
        expect(shape(batches)).toEqual(["ab", "cd"])
        yield* upper(batch(1))
        yield* turn
        expect(shape(batches)).toEqual(["ab", "cd", "ef"])
        yield* upper(batch(0))
        yield* upper(batch(2))
        yield* turn
        yield* upper(batch(3))
        expect(yield* Fiber.joinAll(calls)).toEqual([..."ABCDEFG"])
      })
    )
  )

  test(
    "a batch waits patiently for those that are out, but no longer, and not when it is full",
    run(
      Effect.gen(function* () {
        const { batch, batches, start } = yield* held({ size: 3, underWay: 3, patience: 5 })
        const calls = [yield* start("a")]
        yield* turn
        calls.push(yield* start("b"), yield* start("c"))
        yield* turn
        expect(shape(batches)).toEqual(["a"])
        calls.push(yield* start("d"))
        yield* turn
        expect(shape(batches)).toEqual(["a", "bcd"])
        calls.push(yield* start("e"))
        yield* TestClock.adjust(4)
        calls.push(yield* start("f"))
        yield* turn
        expect(shape(batches)).toEqual(["a", "bcd"])
        yield* TestClock.adjust(1)
        expect(shape(batches)).toEqual(["a", "bcd", "ef"])
        calls.push(yield* start("g"))
        yield* TestClock.adjust(5)
        calls.push(yield* start("h"))
        yield* turn
        expect(batches.length).toBe(3)
        for (const i of [0, 1, 2]) yield* upper(batch(i))
        yield* turn
        yield* upper(batch(3))
        expect(yield* Fiber.joinAll(calls)).toEqual([..."ABCDEFGH"])
      })
    )
  )

  test(
    "a call that no answer came back for is a defect, and no other call's answer",
    run(
      Effect.gen(function* () {
        const { batch, start } = yield* held()
        const [first, second] = yield* Effect.all([start("a"), start("b")])
        yield* turn
        yield* batch(0).answer(Effect.succeed([Exit.succeed("A")]))
        expect(yield* Fiber.join(first)).toBe("A")
        const exit = yield* Fiber.await(second)
        expect(Exit.isFailure(exit) && Cause.hasDies(exit.cause)).toBe(true)
      })
    )
  )

  test.each([
    ["", false, 700],
    [" who still waits", true, 800]
  ])("those who share an answer have to the time of the most urgent of them%s", (_who, leaves, left) =>
    run(
      Effect.gen(function* () {
        const { batch, start } = yield* held({ same: sharing })
        yield* start("slow")
        yield* turn
        const first = yield* start("a")
        for (let more = 0; more < 2; more++) {
          yield* TestClock.adjust(100)
          yield* start("a")
        }
        yield* TestClock.adjust(100)
        if (leaves) yield* Fiber.interrupt(first)
        yield* upper(batch(0))
        expect([batch(1).items, batch(1).left]).toEqual([["a"], left])
      })
    )()
  )

  test(
    "what waits patiently behind a slow batch leaves when the patience is over, and one timer looks after that",
    run(
      Effect.gen(function* () {
        const { batch, batches, start, timers } = yield* patient
        const slow = yield* start("a")
        yield* turn
        const calls = yield* Effect.forEach([..."bcd"], start)
        expect([shape(batches), timers()]).toEqual([["a"], 1])
        yield* TestClock.adjust(5)
        expect([shape(batches), timers()]).toEqual([["a", "bcd"], 1])

        // The round is full under way; then it has room, but a call left a moment ago.
        calls.push(yield* start("e"))
        yield* TestClock.adjust(2)
        expect([shape(batches), timers()]).toEqual([["a", "bcd"], 1])
        yield* upper(batch(1))
        expect([shape(batches), timers()]).toEqual([["a", "bcd"], 2])
        yield* TestClock.adjust(3)
        expect([shape(batches), timers()]).toEqual([["a", "bcd", "e"], 2])

        for (const i of [0, 2]) yield* upper(batch(i))
        expect(yield* Fiber.joinAll([slow, ...calls])).toEqual([..."ABCDE"])
      })
    )
  )

  test(
    "however many quick batches leave, there is one timer for so long as the patience",
    run(
      Effect.gen(function* () {
        const { batch, batches, start, timers } = yield* patient
        yield* start("a")
        yield* turn
        for (let i = 0; i < 100; i++) {
          yield* start("b")
          yield* upper(batch(i))
          if (i === 50) yield* TestClock.adjust(3)
        }
        expect([batches.length, timers()]).toEqual([101, 1])
        // The last ones left two milliseconds ago.
        yield* start("c")
        yield* TestClock.adjust(2)
        expect([batches.length, timers()]).toEqual([101, 2])
        yield* TestClock.adjust(3)
        expect([batches.length, timers()]).toEqual([102, 2])
        // No call waits, so no timer starts.
        yield* upper(batch(100))
        yield* upper(batch(101))
        yield* TestClock.adjust(100)
        expect(timers()).toBe(2)
      })
    )
  )

  test(
    "never two of one identity where the second must wait",
    run(
      Effect.gen(function* () {
        const { batch, batches, start } = yield* held()
        const calls = yield* Effect.forEach([..."aabab"], start)
        yield* turn
        expect(shape(batches)).toEqual(["ab"])
        yield* upper(batch(0))
        yield* turn
        yield* upper(batch(1))
        yield* turn
        yield* upper(batch(2))
        expect(shape(batches)).toEqual(["ab", "ab", "a"])
        expect(yield* Fiber.joinAll(calls)).toEqual([..."AABAB"])
      })
    )
  )

  test(
    "of one identity only one where answers are shared, but never with a batch that has left",
    run(
      Effect.gen(function* () {
        const { batch, batches, start } = yield* held({ same: sharing })
        const early = yield* Effect.forEach([..."aaab"], start)
        yield* turn
        const late = yield* Effect.forEach([..."aa"], start)
        yield* turn
        expect(shape(batches)).toEqual(["ab"])
        yield* upper(batch(0))
        expect(yield* Fiber.joinAll(early)).toEqual([..."AAAB"])
        yield* turn
        expect(shape(batches)).toEqual(["ab", "a"])
        yield* batch(1).answer(Effect.succeed([Exit.succeed("newer")]))
        expect(yield* Fiber.joinAll(late)).toEqual(["newer", "newer"])
      })
    )
  )
})

describe("whose answer it is", () => {
  test(
    "each caller gets its own answer or error",
    run(
      Effect.gen(function* () {
        const { batch, start } = yield* held()
        const a = yield* start("a")
        const b = yield* start("b")
        yield* turn
        yield* batch(0).answer(Effect.succeed([Exit.fail("only a"), Exit.succeed("fine")]))
        expect(yield* Effect.flip(Fiber.join(a))).toBe("only a")
        expect(yield* Fiber.join(b)).toBe("fine")
      })
    )
  )

  test(
    "a batch that fails fails each of its callers, and the next batch leaves",
    run(
      Effect.gen(function* () {
        const { batch, start } = yield* held()
        const a = yield* start("a")
        const b = yield* start("b")
        yield* turn
        const c = yield* start("c")
        yield* batch(0).answer(Effect.fail("away"))
        expect(yield* Effect.flip(Fiber.join(a))).toBe("away")
        expect(yield* Effect.flip(Fiber.join(b))).toBe("away")
        yield* turn
        yield* upper(batch(1))
        expect(yield* Fiber.join(c)).toBe("C")
      })
    )
  )

  test(
    "a batch that dies is a defect of each caller, and the next batch leaves",
    run(
      Effect.gen(function* () {
        const { batch, start } = yield* held()
        const a = yield* start("a")
        yield* turn
        const b = yield* start("b")
        yield* batch(0).answer(Effect.die("bug"))
        expect(Exit.hasDies(yield* Fiber.await(a))).toBe(true)
        yield* turn
        yield* batch(1).answer(Effect.succeed([]))
        expect(Exit.hasDies(yield* Fiber.await(b))).toBe(true)
      })
    )
  )

  test(
    "a batch that cannot even be put into words is a defect of each caller, and the next one leaves",
    run(
      Effect.gen(function* () {
        const { call } = yield* held({
          run: (items) => {
            if (items.includes("odd")) throw new Error("bug")
            return Effect.succeed(items.map((item) => Exit.succeed(item.toUpperCase())))
          }
        })
        expect(Exit.hasDies(yield* Effect.exit(call("odd")))).toBe(true)
        expect(yield* call("a")).toBe("A")
      })
    )
  )
})

describe("interruption", () => {
  test(
    "who is interrupted while waiting does not leave",
    run(
      Effect.gen(function* () {
        const { batch, batches, start } = yield* held()
        const a = yield* start("a")
        yield* turn
        const b = yield* start("b")
        const c = yield* start("c")
        yield* Fiber.interrupt(b)
        yield* upper(batch(0))
        yield* turn
        expect(shape(batches)).toEqual(["a", "c"])
        yield* upper(batch(1))
        expect(yield* Fiber.joinAll([a, c])).toEqual(["A", "C"])
      })
    )
  )

  test(
    "where all are interrupted who waited, nothing leaves",
    run(
      Effect.gen(function* () {
        const { batch, batches, start } = yield* held()
        const a = yield* start("a")
        yield* turn
        yield* Effect.forEach([yield* start("b"), yield* start("c")], Fiber.interrupt)
        yield* upper(batch(0))
        yield* turn
        expect(shape(batches)).toEqual(["a"])
        expect(yield* Fiber.join(a)).toBe("A")
      })
    )
  )

  test(
    "an interrupted call interrupts no other",
    run(
      Effect.gen(function* () {
        const { batch, start } = yield* held()
        const a = yield* start("a")
        const b = yield* start("b")
        yield* turn
        yield* Fiber.interrupt(a)
        yield* upper(batch(0))
        expect(yield* Fiber.join(b)).toBe("B")
        const c = yield* start("c")
        yield* turn
        yield* upper(batch(1))
        expect(yield* Fiber.join(c)).toBe("C")
      })
    )
  )

  test(
    "a shared call travels as long as one caller wants it",
    run(
      Effect.gen(function* () {
        const { batch, batches, start } = yield* held({ same: sharing })
        const a = yield* start("a")
        yield* turn
        const [b1, b2, c1, c2] = yield* Effect.all([start("b"), start("b"), start("c"), start("c")])
        yield* Effect.forEach([b1, c1, c2], Fiber.interrupt)
        yield* upper(batch(0))
        yield* turn
        expect(shape(batches)).toEqual(["a", "b"])
        yield* upper(batch(1))
        expect(yield* Fiber.joinAll([a, b2])).toEqual(["A", "B"])
      })
    )
  )
})

describe("deadlines", () => {
  test(
    "a batch has what its most urgent caller has left",
    run(
      Effect.gen(function* () {
        const { batch, start } = yield* held()
        yield* start("a")
        yield* turn
        yield* TestClock.adjust(300)
        yield* start("b")
        yield* TestClock.adjust(200)
        yield* start("c")
        yield* TestClock.adjust(100)
        yield* upper(batch(0))
        yield* turn
        expect(batch(0).left).toBe(1000)
        expect(batch(1).items).toEqual(["b", "c"])
        expect(batch(1).left).toBe(700)
      })
    )
  )

  test(
    "who could not leave in time is told so, and the others leave",
    run(
      Effect.gen(function* () {
        const { batch, batches, start } = yield* held({ same: sharing })
        yield* start("a")
        yield* turn
        const old = yield* start("b")
        yield* TestClock.adjust(600)
        const sharer = yield* start("b")
        const young = yield* start("c")
        yield* TestClock.adjust(400)
        yield* upper(batch(0))
        yield* turn
        expect(yield* Effect.flip(Fiber.join(old))).toBe("late")
        expect(shape(batches)).toEqual(["a", "bc"])
        expect(batch(1).left).toBe(600)
        yield* upper(batch(1))
        expect(yield* Fiber.joinAll([sharer, young])).toEqual(["B", "C"])
      })
    )
  )

  test(
    "who comes on top of too many is told so at once, and may come again",
    run(
      Effect.gen(function* () {
        const { batch, batches, start } = yield* held({ mostWaiting: 2 })
        yield* start("a")
        yield* turn
        const waiting = yield* Effect.forEach([..."bc"], start)
        expect(yield* Effect.flip(Fiber.join(yield* start("d")))).toBe("late")
        yield* upper(batch(0))
        yield* turn
        const again = yield* start("d")
        yield* upper(batch(1))
        yield* turn
        yield* upper(batch(2))
        expect(shape(batches)).toEqual(["a", "bc", "d"])
        expect(yield* Fiber.joinAll([...waiting, again])).toEqual(["B", "C", "D"])
      })
    )
  )
})
