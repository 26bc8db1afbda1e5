import { describe, expect, test } from "bun:test"
import { Clock, Effect, Layer, Schedule } from "effect"
import { TestClock } from "effect/testing"
import * as Memory from "../../adapters/memory/Memory.ts"
import { makeRecords } from "../../core/engine/Records.ts"
import {
  FailureTable,
  failuresKind,
  latest,
  type Rule,
  shareFailures,
  toTell
} from "../../core/people/SignInFailures.ts"
import { type Attempt, SignInThrottle } from "../../core/people/SignInThrottle.ts"
import { Entropy } from "../../core/ports/Entropy.ts"
import { type NewRecord, Storage, StorageUnavailable } from "../../core/ports/Storage.ts"
import { currentInstant, Instant } from "../../core/rules/Instant.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import { drawFrom } from "../../core/testing/Draw.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"

const home = WorkspaceId.make("home")
/** Long enough to be in no digest by chance. */
const ada = "the login of ada"
const at = (network: string, login = ada): Attempt => ({ workspace: home, login, network, device: undefined })
const here = at("192.0.2.1")
const known: Attempt = { ...here, device: "her own" }

const times = <A>(count: number, item: (index: number) => A) => Array.from({ length: count }, (_, index) => item(index))

/** A process over the store, with what a sign-in does to its counters. */
const processOver = (storage: Storage["Service"]) =>
  Effect.map(Entropy, (entropy) => {
    const throttle = new SignInThrottle()
    const begin = (attempt: Attempt) => Effect.map(currentInstant, (now) => throttle.begin(attempt, now))
    return {
      throttle,
      share: throttle.sharing(storage, entropy),
      /** Whether the wrong password was looked at. */
      guess: (attempt: Attempt) =>
        Effect.gen(function* () {
          const refused = yield* begin(attempt)
          if (refused === undefined) throttle.fail(attempt, yield* currentInstant)
          return refused === undefined
        }),
      /** How long an attempt would have to wait; one that may come is taken back. */
      wait: (attempt: Attempt) =>
        Effect.map(begin(attempt), (refused) => {
          if (refused === undefined) throttle.abandon(attempt)
          return refused?.retryAfterSeconds ?? 0
        }),
      signIn: (attempt: Attempt) =>
        Effect.gen(function* () {
          const refused = yield* begin(attempt)
          if (refused === undefined) throttle.succeed(attempt, yield* currentInstant)
          return refused === undefined
        })
    }
  })
type Process = Effect.Success<ReturnType<typeof processOver>>

const processes = (count: number) =>
  Effect.flatMap(Storage, (storage) => Effect.all(times(count, () => processOver(storage))))

const two = Effect.map(processes(2), ([one, other]) => {
  if (one === undefined || other === undefined) throw new Error("there are two")
  return { one, other }
})

const shareAll = (all: ReadonlyArray<Process>) => Effect.forEach(all, ({ share }) => share, { discard: true })

const guessAll = (of: Process, attempts: ReadonlyArray<Attempt>) =>
  Effect.map(Effect.forEach(attempts, of.guess), (passed) => passed.filter(Boolean).length)

const told = Effect.gen(function* () {
  const store = yield* Storage
  const listing = { workspace: home, kind: "limit", owner: "sign-ins", after: undefined, limit: 1000 } as const
  return (yield* store.list(listing)).records
})

const run = <A, E>(body: Effect.Effect<A, E, Storage | Entropy>): Promise<A> =>
  Effect.runPromise(
    TestClock.setTime(1_900_000_000_000).pipe(
      Effect.andThen(body),
      Effect.provide(Layer.merge(Memory.layer, Entropy.layer)),
      Effect.provide(TestClock.layer())
    )
  )

const second = 1000
const hour = 3600 * second

/** How many guesses get through in this time, if each process is tried every so often, one after the other. */
const throughIn = Effect.fnUntraced(function* (count: number, millis: number, every: number, attempt: Attempt) {
  const all = yield* processes(count)
  let passed = 0
  for (let since = 0; since < millis; since += every) {
    for (const one of all) if (yield* one.guess(attempt)) passed++
    yield* shareAll(all)
    yield* TestClock.adjust(every)
  }
  return passed
})

/** Failures that count for good, so that nothing but what was done changes their number. */
const plain: Rule = {
  name: "plain",
  left: ({ count }) => count,
  wait: () => 0,
  most: Number.POSITIVE_INFINITY,
  worthTelling: 1,
  joined: (_, last) => last
}

/** One process's failures at one place, the attempts there that have not ended, and how many failed since the last success. */
const counterOver = (storage: Storage["Service"]) =>
  Effect.map(Entropy, (entropy) => {
    const untold = toTell()
    const table = new FailureTable(plain, untold)
    const model = { failed: 0, underWay: 0 }
    const place = "a place"
    const acts = {
      begin: (now: Instant) => {
        table.begin(home, place, now)
        model.underWay++
      },
      fail: (now: Instant) => {
        table.fail(home, place, now)
        // What ended with a success of another attempt, or never began, is no failure.
        if (model.underWay === 0) return
        model.underWay--
        model.failed++
      },
      undo: () => {
        if (model.underWay === 0) return
        table.undo(home, place)
        model.underWay--
      },
      succeed: (now: Instant) => {
        if (model.underWay === 0) return
        table.clear(home, place, now)
        Object.assign(model, { failed: 0, underWay: 0 })
      }
    }
    return {
      model,
      acts,
      count: (now: Instant) => table.count(home, place, now),
      ask: () => table.ask(home, place),
      untold: () => [...untold].length,
      share: shareFailures(untold, makeRecords(storage, failuresKind), entropy)
    }
  })

const seeds = times(40, (n) => `failures ${n}`)

describe("whatever attempts come to, in any order", () => {
  const toldCount = Effect.map(told, (records) =>
    records.reduce((sum, { body }) => sum + Number(Object(body).count), 0)
  )

  test("those count that failed since the last success, and that are under way; others are told of the failures", () =>
    run(
      Effect.gen(function* () {
        const storage = yield* Storage
        for (const seed of seeds) {
          const draw = drawFrom(seed)
          const one = yield* counterOver(storage)
          for (const { id } of yield* told) yield* storage.remove({ workspace: home, kind: "limit", id })
          for (let step = 0; step < 40; step++) {
            const now = yield* currentInstant
            one.acts[draw.oneOf(["begin", "begin", "begin", "fail", "fail", "undo", "succeed"] as const)](now)
            expect([seed, step, one.count(now)]).toEqual([seed, step, one.model.failed + one.model.underWay])
            if (draw.below(4) > 0) continue
            yield* one.share
            expect([seed, step, yield* toldCount, one.untold()]).toEqual([seed, step, one.model.failed, 0])
            expect([seed, step, one.count(now)]).toEqual([seed, step, one.model.failed + one.model.underWay])
            yield* TestClock.adjust(draw.below(3) * second)
          }
        }
      })
    ))

  test("two processes count the failures of both once each has told and asked, and their own that are under way", () =>
    run(
      Effect.gen(function* () {
        const storage = yield* Storage
        for (const seed of seeds) {
          const draw = drawFrom(seed)
          const both = [yield* counterOver(storage), yield* counterOver(storage)] as const
          for (const { id } of yield* told) yield* storage.remove({ workspace: home, kind: "limit", id })
          for (let step = 0; step < 40; step++) {
            const one = draw.oneOf(both)
            one.acts[draw.oneOf(["begin", "begin", "fail", "undo"] as const)](yield* currentInstant)
            if (draw.below(8) === 0) yield* one.share
          }
          const now = yield* currentInstant
          for (const one of both) one.acts.begin(now)
          for (const _ of [1, 2]) {
            for (const one of both) {
              one.ask()
              yield* one.share
            }
          }
          const failed = both.reduce((sum, { model }) => sum + model.failed, 0)
          expect([seed, yield* toldCount]).toEqual([seed, failed])
          for (const one of both) expect([seed, one.count(now)]).toEqual([seed, failed + one.model.underWay])
        }
      })
    ))
})

describe("what is kept of failures", () => {
  const start = Instant.make(1_900_000_000_000)

  test("stays, however many attempts elsewhere came to nothing", () => {
    const table = new FailureTable(plain, toTell())
    for (let n = 0; n < 3; n++) {
      table.begin(home, "guessed", start)
      table.fail(home, "guessed", start)
    }
    // As many as would push it out, if each left something behind.
    for (let n = 0; n < 110_000; n++) {
      table.begin(home, `${n}`, start)
      table.undo(home, `${n}`)
    }
    table.undo(home, "nobody")
    table.ask(home, "nobody")
    expect(["guessed", "nobody"].map((of) => table.count(home, of, start))).toEqual([3, 0])
  })

  test("is told with the moment of the last failure, and a success with its own, once", () =>
    run(
      Effect.gen(function* () {
        const one = yield* counterOver(yield* Storage)
        const act = (name: keyof typeof one.acts) => Effect.map(currentInstant, (now) => one.acts[name](now))
        const share = Effect.gen(function* () {
          yield* TestClock.adjust("1 second")
          yield* one.share
          const [record] = yield* told
          const { count, last } = Object(record?.body)
          return [count, last - start, record?.version]
        })
        yield* act("begin")
        yield* act("fail")
        expect(yield* share).toEqual([1, 0, 1])
        yield* act("begin")
        yield* act("succeed")
        expect(yield* share).toEqual([0, 2 * second, 2])
        yield* act("begin")
        yield* act("succeed")
        expect(yield* share).toEqual([0, 2 * second, 2])
      })
    ))

  test("is told again by a process that knows of it, where the store has lost it", () =>
    run(
      Effect.gen(function* () {
        const storage = yield* Storage
        const [one, other] = [yield* counterOver(storage), yield* counterOver(storage)]
        const fail = (of: typeof one) =>
          Effect.gen(function* () {
            of.acts.begin(yield* currentInstant)
            of.acts.fail(yield* currentInstant)
            yield* of.share
          })
        for (const of of [one, one, one, other]) yield* fail(of)
        for (const { id } of yield* told) yield* storage.remove({ workspace: home, kind: "limit", id })
        other.acts.begin(yield* currentInstant)
        yield* fail(other)
        expect((yield* told).map(({ body }) => Object(body).count)).toEqual([5])
        expect(other.count(start)).toBe(6)
      })
    ))

  test.each([
    [0, 24],
    [0.5, 1],
    [1, 1],
    [4.9, 1],
    [5, 24],
    [60, 24]
  ])("is for %d of them swept %d hours after the last", (count, hours) => {
    const shared = { id: "x", count, last: start, toldAt: Instant.make(0) }
    expect(failuresKind.expiresAt(shared)).toBe(Instant.make(start + hours * hour))
    expect([latest(start, shared.toldAt), latest(shared.toldAt, start)]).toEqual([start, start])
  })
})

describe("guessing over several processes", () => {
  for (const attempt of [here, known]) {
    const where = attempt.device === undefined ? "a network" : "a known browser"

    test(`from ${where} is as steep as over one, once they have told each other`, () =>
      run(
        Effect.gen(function* () {
          const { one, other } = yield* two
          expect(yield* guessAll(one, [attempt, attempt, attempt])).toBe(3)
          expect(yield* guessAll(other, [attempt, attempt, attempt])).toBe(3)
          yield* shareAll([one, other])
          expect(yield* other.wait(attempt)).toBe(2)
        })
      ))

    test(`from ${where} comes to no more over four of them, but for a few of each before it has heard`, async () => {
      const overOne = await run(throughIn(1, 2 * hour, 5 * second, attempt))
      const overFour = await run(throughIn(4, 2 * hour, 5 * second, attempt))
      expect(overFour).toBeLessThanOrEqual(overOne + 4)
    })
  }

  test("at one login from many networks spends one share", () =>
    run(
      Effect.gen(function* () {
        const all = yield* processes(4)
        for (const [index, one] of all.entries()) {
          expect(
            yield* guessAll(
              one,
              times(15, (n) => at(`192.0.2.${20 * index + n}`))
            )
          ).toBe(15)
        }
        yield* shareAll(all)
        // The last to tell has heard of all.
        const again = at("192.0.2.60")
        expect(yield* all[3]?.wait(again) ?? Effect.succeed(0)).toBe(60)
      })
    ))

  test("shuts a login for no longer than over one", () =>
    run(
      Effect.gen(function* () {
        const all = yield* processes(4)
        for (const [index, one] of all.entries()) {
          yield* guessAll(
            one,
            times(60, (n) => at(`10.0.${index}.${n}`))
          )
        }
        yield* shareAll(all)
        expect(yield* Effect.forEach(all, (one, index) => one.wait(at(`10.0.${index}.0`)))).toEqual([60, 60, 60, 60])
        yield* TestClock.adjust("1 minute")
        expect(yield* Effect.forEach(all, (one, index) => one.wait(at(`10.0.${index}.0`)))).toEqual([0, 0, 0, 0])
      })
    ))

  test("at ever other logins spends one share of the network", () =>
    run(
      Effect.gen(function* () {
        const { one, other } = yield* two
        expect(
          yield* guessAll(
            one,
            times(100, (n) => at("192.0.2.1", `login ${n}`))
          )
        ).toBe(100)
        expect(
          yield* guessAll(
            other,
            times(100, (n) => at("192.0.2.1", `other ${n}`))
          )
        ).toBe(100)
        yield* shareAll([one, other])
        expect(yield* other.wait(at("192.0.2.1", "bob"))).toBe(6)
      })
    ))

  test("has one share of first tries for a region", () =>
    run(
      Effect.gen(function* () {
        const { one, other } = yield* two
        for (const process of [one, other]) {
          yield* guessAll(
            process,
            times(60, (n) => at(`192.0.2.${n % 20}`))
          )
          yield* guessAll(
            process,
            times(4, (n) => at(`2001:db8:1:${process === one ? n : 10 + n}::/64`))
          )
        }
        yield* shareAll([one, other])
        expect(yield* other.guess(at("2001:db8:1:ff::/64"))).toBe(false)
        expect(yield* other.guess(at("2001:db8:2:ff::/64"))).toBe(true)
      })
    ))

  test("in one workspace slows no sign-in down in another", () =>
    run(
      Effect.gen(function* () {
        const { one, other } = yield* two
        yield* guessAll(
          one,
          times(9, () => here)
        )
        yield* shareAll([one])
        const elsewhere = { ...here, workspace: WorkspaceId.make("elsewhere") }
        yield* guessAll(other, [elsewhere])
        yield* shareAll([other])
        expect(yield* other.wait(elsewhere)).toBe(0)
      })
    ))
})

describe("a success in one process", () => {
  test("ends the wait in another, once a person has waited there", () =>
    run(
      Effect.gen(function* () {
        const { one, other } = yield* two
        yield* guessAll(
          one,
          times(5, () => here)
        )
        yield* shareAll([one])
        expect(yield* other.signIn(here)).toBe(true)
        yield* shareAll([other])
        expect(yield* one.wait(here)).toBe(1)
        yield* shareAll([one])
        expect(yield* one.wait(here)).toBe(0)
        // All of it: the next free failures are as many as ever.
        expect(
          yield* guessAll(
            one,
            times(9, () => here)
          )
        ).toBe(5)
      })
    ))

  test("clears what is told later too, and gives nothing back of the login's share", () =>
    run(
      Effect.gen(function* () {
        const { one, other } = yield* two
        yield* guessAll(
          one,
          times(60, (n) => at(`192.0.2.${n % 20}`))
        )
        yield* shareAll([one])
        expect(yield* other.signIn(at("192.0.2.1"))).toBe(true)
        expect(yield* other.signIn(known)).toBe(true)
        yield* shareAll([other])
        const logins = (yield* told).filter(({ id }) => id.startsWith("sign_in_login:"))
        expect(logins.map(({ body }) => (body as { count: number }).count)).toEqual([60])
        const pair = (yield* told).find(({ id }) => id === `sign_in_pair:${digestOf(`${ada} 192.0.2.1`)}`)
        expect(pair).toMatchObject({ body: { count: 0 } })
      })
    ))

  test("among those that are being told is not undone by them", () =>
    run(
      Effect.gen(function* () {
        const below = yield* Storage
        let meanwhile: Effect.Effect<unknown, unknown> = Effect.void
        const insert = (record: NewRecord) =>
          Effect.tap(below.insert(record), () => Effect.ignore(Effect.suspend(() => meanwhile)))
        const one = yield* processOver({ ...below, insert })
        yield* guessAll(
          one,
          times(4, () => here)
        )
        meanwhile = one.signIn(here)
        yield* one.share
        expect(
          yield* guessAll(
            one,
            times(4, () => here)
          )
        ).toBe(4)
        meanwhile = Effect.void
        yield* one.share
        const other = yield* processOver(below)
        yield* guessAll(other, [here])
        yield* other.share
        expect(yield* other.wait(here)).toBe(1)
      })
    ))

  test("that nothing went before costs the store no write, nor does an attempt that is under way", () =>
    run(
      Effect.gen(function* () {
        const { one } = yield* two
        expect(yield* one.signIn(here)).toBe(true)
        one.throttle.begin(known, yield* currentInstant)
        yield* one.share
        expect(yield* told).toEqual([])
        one.throttle.abandon(known)
        yield* one.share
        expect(yield* told).toEqual([])
      })
    ))
})

describe("what processes tell of failures", () => {
  test("names no person and no place", () =>
    run(
      Effect.gen(function* () {
        const { one } = yield* two
        yield* guessAll(
          one,
          times(60, (n) => at(`192.0.2.${n % 20}`))
        )
        yield* guessAll(
          one,
          times(60, (n) => at("192.0.2.99", `login ${n}`))
        )
        yield* guessAll(one, [known])
        yield* one.share
        const records = yield* told
        expect(new Set(records.map(({ id }) => id.split(":")[0]))).toEqual(
          new Set(["sign_in_device", "sign_in_login", "sign_in_network", "sign_in_pair"])
        )
        const text = JSON.stringify(records)
        for (const secret of [ada, "192.0.2", "her own", "login "]) expect(text).not.toContain(secret)
      })
    ))

  test("is kept for an hour where no sign-in has to wait yet, and for a day where one has", () =>
    run(
      Effect.gen(function* () {
        const { one } = yield* two
        const now = yield* Clock.currentTimeMillis
        yield* guessAll(one, [here])
        yield* one.share
        expect((yield* told).map(({ expiresAt }) => expiresAt)).toEqual([now + hour])
        yield* guessAll(
          one,
          times(4, () => here)
        )
        yield* one.share
        expect((yield* told).map(({ expiresAt }) => expiresAt)).toEqual([now + 24 * hour])
      })
    ))

  test("is told once the store is back, and once only", () =>
    run(
      Effect.gen(function* () {
        const below = yield* Storage
        let isAway = true
        const away = new StorageUnavailable({ outcome: "not_done", message: "away" })
        const insert = (record: NewRecord) => (isAway ? Effect.fail(away) : below.insert(record))
        const one = yield* processOver({ ...below, insert })
        yield* guessAll(
          one,
          times(3, () => here)
        )
        expect(yield* Effect.flip(one.share)).toBe(away)
        isAway = false
        yield* one.share
        expect(yield* one.share).toBe(0)
        expect((yield* told).map(({ body }) => (body as { count: number }).count)).toEqual([3])
      })
    ))

  test("is told past one record that cannot be had", () =>
    run(
      Effect.gen(function* () {
        const storage = yield* Storage
        const one = yield* processOver(storage)
        yield* storage.insert({
          workspace: home,
          kind: failuresKind.kind,
          id: `sign_in_pair:${digestOf(`${ada} 192.0.2.1`)}`,
          owner: "sign-ins",
          expiresAt: null,
          // As a later release might write it.
          body: { _v: 99, _by: "later" }
        })
        yield* one.guess(here)
        for (let n = 0; n < 200; n++) yield* one.guess(at(`192.0.2.${n}`, `login ${n}`))
        yield* one.share.pipe(Effect.ignore, Effect.repeat(Schedule.recurs(3)))
        expect((yield* told).filter(({ id }) => id.startsWith("sign_in_pair:")).length).toBe(201)
      })
    ))

  test("is heard by a clock that was set back as when it happened", () =>
    run(
      Effect.gen(function* () {
        const { one, other } = yield* two
        yield* guessAll(
          one,
          times(4, () => here)
        )
        yield* one.share
        yield* Effect.flatMap(Clock.currentTimeMillis, (now) => TestClock.setTime(now - hour))
        yield* guessAll(other, [here])
        yield* other.share
        expect(yield* other.wait(here)).toBe(1)
      })
    ))
})
