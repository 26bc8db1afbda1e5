import { describe, expect, test } from "bun:test"
import { Clock, Effect, Exit, Layer, Logger, References, Scope } from "effect"
import { TestClock } from "effect/testing"
import { kindsGathered, makeRefusals } from "../../core/http/Refusals.ts"
import type { Call } from "../../core/http/Route.ts"
import type { AuditEntry } from "../../core/ports/Audit.ts"
import { Limiter } from "../../core/ports/Limiter.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { InvalidToken, TooManyRequests } from "../../core/rules/Refusal.ts"
import { postRegistration } from "../given/flow.ts"
import { inWorld, requestOf, theWorkspace, type World } from "../given/World.ts"

const exhausted = Layer.succeed(Limiter, {
  take: ({ allowance }) => Effect.fail(new TooManyRequests({ limit: allowance.name, retryAfterSeconds: 1 }))
})

const knock = (world: World) => postRegistration(world, { redirect_uris: ["https://app.example/back"] })

const countsOf = (audit: ReadonlyArray<AuditEntry>) =>
  audit.flatMap(({ event }) =>
    event._tag === "Refused" && event.refusal === "TooManyRequests" ? [event.count ?? 1] : []
  )

const call = (endpoint: string, requestId = "r"): Call => ({
  request: requestOf("GET", "/", {}),
  workspace: theWorkspace,
  path: "/",
  endpoint,
  now: Instant.make(0),
  requestId
})

const tooMany = new TooManyRequests({ limit: "account", retryAfterSeconds: 1 })

type Refuse = Effect.Success<ReturnType<typeof makeRefusals>>

const twice = (refuse: Refuse) => Effect.forEach([1, 2], () => refuse(call("/a"), tooMany), { discard: true })

/** Refusals in a scope that the test ends. */
const withRefusals = (
  body: (refuse: Refuse, audit: ReadonlyArray<AuditEntry>, end: Effect.Effect<void>) => Effect.Effect<void>
) =>
  Effect.gen(function* () {
    const audit: Array<AuditEntry> = []
    const scope = yield* Scope.make()
    const refuse = yield* Effect.provideService(
      makeRefusals({ record: (entry) => Effect.sync(() => void audit.push(entry)) }),
      Scope.Scope,
      scope
    )
    yield* body(refuse, audit, Scope.close(scope, Exit.void))
  }).pipe(
    Effect.provide(TestClock.layer()),
    Effect.provideService(References.MinimumLogLevel, "None"),
    Effect.runPromise
  )

describe("refusals by a limit", () => {
  test("over HTTP: one line at once, then one a second with the number, in the log and the audit stream", () =>
    inWorld(
      function* (world) {
        for (let n = 0; n < 5; n++) expect((yield* knock(world)).status).toBe(429)
        expect(countsOf(world.audit)).toEqual([1])
        yield* TestClock.adjust("1 second")
        expect(countsOf(world.audit)).toEqual([1, 4])
        for (let n = 0; n < 3; n++) yield* knock(world)
        expect(countsOf(world.audit)).toEqual([1, 4])
        yield* TestClock.adjust("1 second")
        expect(countsOf(world.audit)).toEqual([1, 4, 3])
        expect(world.log.filter((line) => line.includes("TooManyRequests"))).toHaveLength(3)
        expect(world.log.join()).toContain('"count":4')
        yield* TestClock.adjust("10 seconds")
        expect(countsOf(world.audit)).toEqual([1, 4, 3])
        yield* knock(world)
        expect(countsOf(world.audit)).toEqual([1, 4, 3, 1])
      },
      { limiter: exhausted }
    ))

  test("are told apart by endpoint and limit, and every other refusal has its own line", () =>
    withRefusals((refuse, audit) =>
      Effect.gen(function* () {
        const other = new TooManyRequests({ limit: "sign_in", retryAfterSeconds: 1 })
        for (let n = 0; n < 3; n++) {
          yield* refuse(call("/a"), tooMany)
          yield* refuse(call("/b"), tooMany)
          yield* refuse(call("/a"), other)
          yield* refuse(call("/a"), new InvalidToken({ reason: "unknown" }))
        }
        expect(countsOf(audit)).toEqual([1, 1, 1])
        expect(audit).toHaveLength(6)
        yield* TestClock.adjust("1 second")
        expect(audit.slice(6).map(({ event }) => event)).toEqual([
          { _tag: "Refused", endpoint: "/a", refusal: "TooManyRequests", reason: "account", count: 2 },
          { _tag: "Refused", endpoint: "/b", refusal: "TooManyRequests", reason: "account", count: 2 },
          { _tag: "Refused", endpoint: "/a", refusal: "TooManyRequests", reason: "sign_in", count: 2 }
        ])
      })
    ))

  test("are written when the server ends, and none is counted twice", () =>
    withRefusals((refuse, audit, end) =>
      Effect.gen(function* () {
        for (const id of ["one", "two", "three"]) yield* refuse(call("/a", id), tooMany)
        yield* end
        expect(countsOf(audit)).toEqual([1, 2])
        expect(audit.map(({ requestId }) => requestId)).toEqual(["one", "three"])
        yield* TestClock.adjust("1 minute")
        expect(countsOf(audit)).toEqual([1, 2])
      })
    ))

  test("have one line a second each, though they began at other moments", () =>
    withRefusals((refuse, audit) =>
      Effect.gen(function* () {
        yield* refuse(call("/a"), tooMany)
        yield* TestClock.adjust("500 millis")
        yield* refuse(call("/b"), tooMany)
        yield* refuse(call("/a"), tooMany)
        yield* TestClock.adjust("500 millis")
        expect(countsOf(audit)).toEqual([1, 1, 1])
        yield* refuse(call("/a"), tooMany)
        yield* TestClock.adjust("500 millis")
        expect(countsOf(audit)).toEqual([1, 1, 1])
        yield* TestClock.adjust("500 millis")
        expect(countsOf(audit)).toEqual([1, 1, 1, 1])
      })
    ))

  test("that begin together are written together, and begin anew only after a second without any", () =>
    withRefusals((refuse, audit) =>
      Effect.gen(function* () {
        yield* twice(refuse)
        yield* refuse(call("/b"), tooMany)
        yield* TestClock.adjust("1 second")
        expect(countsOf(audit)).toEqual([1, 1, 1])
        yield* refuse(call("/a"), tooMany)
        expect(countsOf(audit)).toEqual([1, 1, 1])
        yield* TestClock.adjust("2 seconds")
        yield* refuse(call("/a"), tooMany)
        expect(countsOf(audit)).toEqual([1, 1, 1, 1, 1])
      })
    ))

  test("are gathered without a scope too, and with one no longer than it lasts", () =>
    withRefusals((refuse, audit, end) =>
      Effect.gen(function* () {
        const anywhere: Array<AuditEntry> = []
        const elsewhere = yield* makeRefusals({ record: (entry) => Effect.sync(() => void anywhere.push(entry)) })
        yield* Effect.forEach([refuse, elsewhere], twice)
        yield* end
        expect([countsOf(audit), countsOf(anywhere)]).toEqual([[1, 1], [1]])
        yield* Effect.forEach([refuse, elsewhere], twice)
        const ended = countsOf(audit)
        yield* TestClock.adjust("1 second")
        expect([countsOf(audit), countsOf(anywhere)]).toEqual([ended, [1, 3]])
      })
    ))

  test("wake no timer once a second has passed without any", () =>
    Effect.gen(function* () {
      let woken = 0
      const clock = yield* Clock.Clock
      const sleep: typeof clock.sleep = (duration) =>
        Effect.tap(clock.sleep(duration), () => Effect.sync(() => void woken++))
      yield* Effect.gen(function* () {
        const refuse = yield* makeRefusals({ record: () => Effect.void })
        for (const expected of [2, 4]) {
          yield* twice(refuse)
          yield* TestClock.adjust("1 hour")
          expect(woken).toBe(expected)
        }
      }).pipe(Effect.provideService(Clock.Clock, { ...clock, sleep }))
    }).pipe(
      Effect.provide(TestClock.layer()),
      Effect.provideService(References.MinimumLogLevel, "None"),
      Effect.runPromise
    ))

  test("are told in the log as any other refusal is", () => {
    const log: Array<unknown> = []
    return Effect.gen(function* () {
      const refuse = yield* makeRefusals({ record: () => Effect.void })
      yield* refuse(call("/a"), new InvalidToken({ reason: "unknown" }))
      yield* twice(refuse)
      yield* TestClock.adjust("1 second")
      expect(new Set(log).size).toBe(1)
      expect(log).toHaveLength(3)
    }).pipe(
      Effect.provide(TestClock.layer()),
      Effect.provide(Logger.layer([Logger.make(({ message }) => void log.push([message].flat()[0]))])),
      Effect.provideService(References.MinimumLogLevel, "All"),
      Effect.runPromise
    )
  })

  test("of many kinds take bounded room, and each is still counted", () =>
    withRefusals((refuse, audit) =>
      Effect.gen(function* () {
        for (let n = 0; n < 2 * kindsGathered + 5; n++) {
          yield* refuse(call(`/${n}`), tooMany)
          yield* refuse(call(`/${n}`), tooMany)
        }
        // What was gathered before there was no room left is written by now.
        expect(countsOf(audit).reduce((sum, count) => sum + count, 0)).toBe(2 * (2 * kindsGathered + 5) - 5)
        yield* TestClock.adjust("1 second")
        expect(countsOf(audit).reduce((sum, count) => sum + count, 0)).toBe(2 * (2 * kindsGathered + 5))
      })
    ))
})
