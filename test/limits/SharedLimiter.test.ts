import { describe, expect, test } from "bun:test"
import { Clock, Context, Effect, Fiber, Latch, Layer, type Scope } from "effect"
import { TestClock } from "effect/testing"
import * as Memory from "../../adapters/memory/Memory.ts"
import {
  isLimitFactor,
  LimitSharing,
  limitKind,
  limitsOf,
  setBackBy,
  layer as sharedLimits,
  toldBackBy
} from "../../core/limits/SharedLimiter.ts"
import { Entropy } from "../../core/ports/Entropy.ts"
import { allowances, Limiter, type LimitKey } from "../../core/ports/Limiter.ts"
import { type NewRecord, Storage, StorageUnavailable } from "../../core/ports/Storage.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"

const key: LimitKey = {
  allowance: { name: "knock", burst: 10, refill: 1000 },
  workspace: WorkspaceId.make("home"),
  of: "somebody"
}

const takeTimes = (of: Context.Context<Limiter>, times: number, what: LimitKey = key) =>
  Effect.forEach(Array.from({ length: times }), () => Context.get(of, Limiter).take(what), { discard: true })

/** Two processes over one store. */
const twoProcesses = Effect.gen(function* () {
  const below = yield* Effect.context<Storage | Entropy>()
  const process = Layer.build(Layer.fresh(sharedLimits)).pipe(Effect.provideContext(below))
  const one = yield* process
  const two = yield* process
  const takeAll = (of: Context.Context<Limiter>, times: number, what: LimitKey = key) =>
    Effect.forEach(Array.from({ length: times }), () => Effect.result(Context.get(of, Limiter).take(what))).pipe(
      Effect.map((results) => results.filter((result) => result._tag === "Success").length)
    )
  const share = (of: Context.Context<LimitSharing>) => Context.get(of, LimitSharing).share
  return { one, two, takeAll, share }
})

/** A process that is kept busy by something whenever it has told the store what was taken. */
const tellingSlowly = Effect.fnUntraced(function* (busy: Effect.Effect<unknown, unknown>) {
  const below = yield* Storage
  const slow = {
    ...below,
    insert: (record: NewRecord) => Effect.tap(below.insert(record), () => Effect.ignore(busy))
  }
  return yield* Layer.build(Layer.fresh(sharedLimits)).pipe(Effect.provideService(Storage, slow))
})

const run = <A, E>(body: Effect.Effect<A, E, Storage | Entropy | Scope.Scope>): Promise<A> =>
  Effect.runPromise(
    Effect.scoped(TestClock.setTime(1_900_000_000_000).pipe(Effect.andThen(body))).pipe(
      Effect.provide(Layer.merge(Memory.layer, Entropy.layer)),
      Effect.provide(TestClock.layer())
    )
  )

test.each([
  { factor: 0.1, fits: true },
  { factor: 0.099, fits: false },
  { factor: 4, fits: true },
  { factor: 1000, fits: true },
  { factor: 1000.1, fits: false },
  { factor: Number.NaN, fits: false },
  { factor: "4", fits: false },
  { factor: undefined, fits: false }
])("a factor of limits: $factor", ({ factor, fits }) => {
  expect(isLimitFactor(factor)).toBe(fits)
})

test.each([
  [-1, 0, 0],
  [0, 0, 0],
  [1, 1, 0],
  [60_000, 60_000, 0],
  // Two processes differ by less: this clock was set back.
  [60_001, 60_001, 60_001]
])(
  "a clock that showed %p ms more before was set back by %p, and by %p since another process told",
  (more, own, told) => {
    expect([setBackBy(1e12 + more, 1e12), toldBackBy(1e12 + more, 1e12)]).toEqual([own, told])
  }
)

describe("a share", () => {
  for (const factor of [0.1, 0.3, 1, 4, 1000]) {
    test(`is ${factor} times as much, and refills so many times as fast`, () =>
      run(
        Effect.gen(function* () {
          const of = yield* Layer.build(Layer.fresh(limitsOf({ factor })))
          const { takeAll } = yield* twoProcesses
          expect(yield* takeAll(of, 20 * factor)).toBe(10 * factor)
          yield* TestClock.adjust("5 seconds")
          expect(yield* takeAll(of, 20 * factor)).toBe(Math.floor(5 * factor))
        })
      ))
  }

  test("has no bound without limits, and one of its own by default", () =>
    run(
      Effect.gen(function* () {
        const { takeAll } = yield* twoProcesses
        expect(yield* takeAll(yield* Layer.build(Layer.fresh(limitsOf(true))), 20)).toBe(10)
        expect(yield* takeAll(yield* Layer.build(Layer.fresh(limitsOf(false))), 20)).toBe(20)
      })
    ))

  test("is a burst, and one more with every refill", () =>
    run(
      Effect.gen(function* () {
        const { one, takeAll } = yield* twoProcesses
        expect(yield* takeAll(one, 12)).toBe(10)
        yield* TestClock.adjust("2 seconds")
        expect(yield* takeAll(one, 5)).toBe(2)
      })
    ))

  test("is refused with the time after which there is room", () =>
    run(
      Effect.gen(function* () {
        const { one, takeAll } = yield* twoProcesses
        yield* takeAll(one, 10)
        const refusal = yield* Effect.flip(Context.get(one, Limiter).take(key))
        expect(refusal).toMatchObject({ _tag: "TooManyRequests", limit: "knock", retryAfterSeconds: 1 })
        yield* TestClock.adjust(`${refusal.retryAfterSeconds} seconds`)
        yield* Context.get(one, Limiter).take(key)

        // A part of a second is told as a whole one, never as none.
        yield* TestClock.adjust(600)
        expect(yield* Effect.flip(Context.get(one, Limiter).take(key))).toMatchObject({ retryAfterSeconds: 1 })
      })
    ))

  test("is one caller's own", () =>
    run(
      Effect.gen(function* () {
        const { one, takeAll } = yield* twoProcesses
        yield* takeAll(one, 10)
        expect(yield* takeAll(one, 1, { ...key, of: "somebody else" })).toBe(1)
        expect(yield* takeAll(one, 1, { ...key, workspace: WorkspaceId.make("other") })).toBe(1)
        expect(yield* takeAll(one, 1, { ...key, allowance: { ...key.allowance, name: "ring" } })).toBe(1)
      })
    ))

  test("is one for all processes, once they have told each other", () =>
    run(
      Effect.gen(function* () {
        const { one, two, takeAll, share } = yield* twoProcesses
        expect(yield* takeAll(one, 6)).toBe(6)
        expect(yield* takeAll(two, 4)).toBe(4)
        yield* share(one)
        yield* share(two)
        expect(yield* takeAll(two, 3)).toBe(0)
      })
    ))

  test("of a device is one poll in four seconds, at however many processes it polls", () =>
    run(
      Effect.gen(function* () {
        const { one, share, takeAll, two } = yield* twoProcesses
        const device = { ...key, allowance: allowances.devicePoll }
        let polls = 0
        for (let second = 0; second < 60; second++) {
          for (const process of [one, two]) polls += yield* takeAll(process, 5, device)
          for (const process of [one, two]) yield* share(process)
          yield* TestClock.adjust(1000)
        }
        // The first at each comes before they have heard of each other.
        expect([polls >= 14, polls <= 17]).toEqual([true, true])
      })
    ))

  test("is one for each allowance, also where processes tell each other of one caller", () =>
    run(
      Effect.gen(function* () {
        const { one, two, takeAll, share } = yield* twoProcesses
        const ring = { ...key, allowance: { ...key.allowance, name: "ring" } }
        yield* takeAll(one, 10)
        yield* share(one)
        expect(yield* takeAll(two, 6, ring)).toBe(6)
        yield* share(two)
        expect(yield* takeAll(two, 4, ring)).toBe(4)
      })
    ))

  test("is told other processes at all that was taken of it at once", () =>
    run(
      Effect.gen(function* () {
        const { one, two, takeAll, share } = yield* twoProcesses
        yield* takeTimes(one, 8)
        yield* share(one)
        yield* takeAll(two, 4)
        yield* share(two)
        expect(yield* takeAll(two, 1)).toBe(0)
      })
    ))

  test("is told other processes without what was refilled before they heard of it", () =>
    run(
      Effect.gen(function* () {
        const { one, two, takeAll, share } = yield* twoProcesses
        yield* takeAll(one, 10)
        yield* TestClock.adjust("5 seconds")
        yield* share(one)
        expect(yield* takeAll(one, 6)).toBe(5)
        yield* takeAll(two, 4)
        yield* share(two)
        expect(yield* takeAll(two, 2)).toBe(1)
      })
    ))

  test("is told where its refill is no whole number of milliseconds", () =>
    run(
      Effect.gen(function* () {
        const { one, two, takeAll, share } = yield* twoProcesses
        const odd = { ...key, allowance: { ...key.allowance, refill: 1000 / 7 } }
        yield* takeAll(one, 5, odd)
        expect(yield* share(one)).toBe(1)
        yield* takeAll(two, 5, odd)
        expect(yield* share(two)).toBe(1)
        expect(yield* takeAll(two, 1, odd)).toBe(0)
        // A store may have no room for parts of one.
        expect((yield* told).map(({ expiresAt }) => Number.isInteger(expiresAt))).toEqual([true])
      })
    ))

  const told = Effect.gen(function* () {
    const store = yield* Storage
    const listing = { workspace: key.workspace, kind: "limit", owner: "limits", after: undefined, limit: 1000 } as const
    return (yield* store.list(listing)).records
  })

  test("is told by a name that tells of no caller, and is kept for no longer than until it is full", () =>
    run(
      Effect.gen(function* () {
        const { one, takeAll, share } = yield* twoProcesses
        yield* takeAll(one, 10)
        yield* share(one)
        const records = yield* told
        expect(records.map(({ expiresAt }) => expiresAt)).toEqual([1_900_000_010_000])
        expect(JSON.stringify(records)).not.toContain(key.of)
      })
    ))

  test("that cannot be told keeps none of the others from it for long", () =>
    run(
      Effect.gen(function* () {
        const below = yield* Storage
        const away = new StorageUnavailable({ outcome: "not_done", message: "away" })
        let refused: string | undefined
        const insert = (record: NewRecord) => {
          refused ??= record.id
          return record.id === refused ? Effect.fail(away) : below.insert(record)
        }
        const one = yield* Layer.build(Layer.fresh(sharedLimits)).pipe(
          Effect.provideService(Storage, { ...below, insert })
        )
        // More than are told at once.
        for (let n = 0; n < 200; n++) yield* takeTimes(one, 10, { ...key, of: `${n}` })
        const { share } = Context.get(one, LimitSharing)
        for (let round = 0; round < 2; round++) yield* Effect.flip(share)
        expect((yield* told).length).toBe(199)
      })
    ))

  test("is forgotten of who was heard of longest ago, where there are too many to count", () =>
    run(
      Effect.gen(function* () {
        const { one, takeAll } = yield* twoProcesses
        expect(yield* takeAll(one, 11)).toBe(10)
        const { take } = Context.get(one, Limiter)
        for (let n = 0; n < 100_000; n++) yield* take({ ...key, of: `${n}` })
        expect(yield* takeAll(one, 1)).toBe(1)
      })
    ))

  test("goes on being counted while it is told", () =>
    run(
      Effect.gen(function* () {
        let meanwhile: Effect.Effect<unknown, unknown> = Effect.void
        const one = yield* tellingSlowly(Effect.suspend(() => meanwhile))
        const two = yield* Layer.build(Layer.fresh(sharedLimits))
        const shareOf = (of: Context.Context<LimitSharing>) => Context.get(of, LimitSharing).share
        yield* takeTimes(one, 4)
        meanwhile = Effect.suspend(() => takeTimes(one, 4))
        yield* shareOf(one)
        meanwhile = Effect.void
        expect(yield* shareOf(one)).toBe(1)
        yield* takeTimes(two, 3)
        yield* shareOf(two)
        expect((yield* Effect.result(Context.get(two, Limiter).take(key)))._tag).toBe("Failure")
      })
    ))

  test("costs the store nothing for a caller that uses little of it", () =>
    run(
      Effect.gen(function* () {
        const { one, takeAll, share } = yield* twoProcesses
        yield* takeAll(one, 2)
        expect(yield* share(one)).toBe(0)
        yield* takeAll(one, 1)
        expect(yield* share(one)).toBe(1)
        expect(yield* share(one)).toBe(0)
        expect(yield* share(yield* Layer.build(limitsOf(false)))).toBe(0)
      })
    ))

  test("is worth telling from a quarter of it on", () =>
    run(
      Effect.gen(function* () {
        const { one, takeAll, share } = yield* twoProcesses
        const even = { ...key, allowance: { ...key.allowance, burst: 8 } }
        yield* takeAll(one, 2, even)
        expect(yield* share(one)).toBe(1)
      })
    ))
})

describe("a clock that is set back", () => {
  const anHour = 3_600_000
  const setBack = Effect.flatMap(Clock.currentTimeMillis, (now) => TestClock.setTime(now - anHour))

  test("shuts no caller out, and gives none a burst", () =>
    run(
      Effect.gen(function* () {
        const { one, takeAll, share } = yield* twoProcesses
        expect(yield* takeAll(one, 4)).toBe(4)
        yield* setBack
        expect(yield* takeAll(one, 8)).toBe(6)
        yield* setBack
        expect(yield* share(one)).toBe(1)
        yield* TestClock.adjust("2 seconds")
        expect(yield* takeAll(one, 3)).toBe(2)
      })
    ))

  test("does so neither where other processes had told what they took", () =>
    run(
      Effect.gen(function* () {
        const { one, two, takeAll, share } = yield* twoProcesses
        yield* takeAll(one, 4)
        yield* share(one)
        yield* setBack
        yield* takeAll(two, 3)
        yield* share(two)
        expect(yield* takeAll(two, 5)).toBe(3)
        yield* share(two)
        yield* TestClock.adjust("2 seconds")
        expect(yield* takeAll(one, 3)).toBe(3)
        expect(yield* takeAll(two, 3)).toBe(2)
      })
    ))

  test("while a process tells what was taken, does so neither", () =>
    run(
      Effect.gen(function* () {
        let meanwhile: Effect.Effect<unknown, unknown> = Effect.void
        const limiter = yield* tellingSlowly(
          Effect.andThen(
            setBack,
            Effect.suspend(() => meanwhile)
          )
        )
        const { take } = Context.get(limiter, Limiter)
        meanwhile = take(key)
        yield* takeTimes(limiter, 8)
        yield* Context.get(limiter, LimitSharing).share
        yield* take(key)
        expect((yield* Effect.result(take(key)))._tag).toBe("Failure")
      })
    ))

  test("is not taken for one by processes whose clocks differ a little", () =>
    run(
      Effect.gen(function* () {
        const { one, two, takeAll, share } = yield* twoProcesses
        yield* takeAll(one, 6)
        yield* share(one)
        yield* Effect.flatMap(Clock.currentTimeMillis, (now) => TestClock.setTime(now - 5000))
        yield* takeAll(two, 4)
        yield* share(two)
        expect(yield* takeAll(two, 1)).toBe(0)
        // Nor does what was told by the clock behind look like less to the one ahead, once that hears of it.
        yield* TestClock.adjust("5 seconds")
        yield* takeAll(one, 1)
        yield* share(one)
        expect(yield* takeAll(one, 1)).toBe(0)
      })
    ))
})

const home = WorkspaceId.make("home")

const runShared = <A, E>(body: Effect.Effect<A, E, Storage | Entropy | Scope.Scope>): Promise<A> =>
  Effect.runPromise(
    Effect.scoped(TestClock.setTime(1_900_000_000_000).pipe(Effect.andThen(body))).pipe(
      Effect.provide(Layer.merge(Memory.layer, Entropy.layer)),
      Effect.provide(TestClock.layer())
    )
  )

const process = Effect.flatMap(Effect.context<Storage | Entropy>(), (below) =>
  Layer.build(Layer.fresh(sharedLimits)).pipe(Effect.provideContext(below))
)

describe("telling other processes what was taken", () => {
  test("does not punish a caller for what has long been refilled", () =>
    runShared(
      Effect.gen(function* () {
        const one = yield* process
        const { share } = Context.get(one, LimitSharing)
        const key: LimitKey = { allowance: allowances.authorize, workspace: home, of: "198.51.100.7" }
        let refused = 0
        // A little more than is refilled: in ten minutes 31,200 of the 33,000 that there may be.
        for (let second = 0; second < 600; second++) {
          for (let request = 0; request < 52; request++) {
            const taken = yield* Effect.result(Context.get(one, Limiter).take(key))
            if (taken._tag === "Failure") refused++
          }
          yield* share
          yield* TestClock.adjust("1 second")
        }
        expect(refused).toBe(0)
      })
    ))

  test("goes on past one record that cannot be had", () =>
    runShared(
      Effect.gen(function* () {
        const storage = yield* Storage
        const one = yield* process
        const two = yield* process
        const allowance = { name: "knock", burst: 10, refill: 1000 }
        const of = (name: string): LimitKey => ({ allowance, workspace: home, of: name })
        // As a later release might write it.
        yield* storage.insert({
          workspace: home,
          kind: limitKind.kind,
          id: `knock:${digestOf("poisoned")}`,
          owner: "limits",
          expiresAt: null,
          body: { _v: 99, _by: "later" }
        })
        const takeAll = (from: typeof one, name: string) =>
          Effect.forEach(Array.from({ length: 10 }), () => Effect.result(Context.get(from, Limiter).take(of(name))))
        yield* takeAll(one, "poisoned")
        yield* takeAll(one, "greedy")
        const { share } = Context.get(one, LimitSharing)
        expect((yield* Effect.result(share))._tag).toBe("Failure")
        expect((yield* Effect.result(share))._tag).toBe("Failure")

        yield* takeTimes(two, 3, of("greedy"))
        yield* Context.get(two, LimitSharing).share
        expect((yield* Effect.result(Context.get(two, Limiter).take(of("greedy"))))._tag).toBe("Failure")
      })
    ))

  test("is done many at once, and a write that fails does not fail the others", () =>
    runShared(
      Effect.gen(function* () {
        const storage = yield* Storage
        const gate = Latch.makeUnsafe()
        let begun = 0
        const refused = `knock:${digestOf("caller 0")}`
        const away = new StorageUnavailable({ outcome: "not_done", message: "away" })
        const one = yield* process.pipe(
          Effect.provideService(Storage, {
            ...storage,
            insert: (record) =>
              Effect.suspend(() => {
                begun++
                return Effect.andThen(gate.await, record.id === refused ? Effect.fail(away) : storage.insert(record))
              })
          })
        )
        const allowance = { name: "knock", burst: 10, refill: 1000 }
        for (let n = 0; n < 100; n++) {
          yield* takeTimes(one, 5, { allowance, workspace: home, of: `caller ${n}` })
        }
        const { share } = Context.get(one, LimitSharing)
        const sharing = yield* Effect.forkChild(Effect.result(share), { startImmediately: true })
        expect(begun).toBe(64)
        yield* gate.open
        expect((yield* Fiber.join(sharing))._tag).toBe("Failure")
        begun = 0
        expect((yield* Effect.result(share))._tag).toBe("Failure")
        expect(begun).toBe(37)
      })
    ))
})
