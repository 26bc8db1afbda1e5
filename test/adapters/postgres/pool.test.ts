import { expect, test } from "bun:test"
import { Duration, Effect, Exit, Fiber, Redacted, Scope } from "effect"
import { migrationSettings, readPostgresUrl } from "../../../adapters/postgres/Options.ts"
import { makePool, type Pool } from "../../../adapters/postgres/Pool.ts"
import { pollUntil } from "../../harness/pollUntil.ts"
import { fakeServer } from "./fakeServer.ts"

const poolOf = Effect.fnUntraced(function* (url: string, size: number) {
  const address = yield* Effect.orDie(readPostgresUrl(Redacted.make(url)))
  const long = Duration.minutes(1)
  return yield* makePool({
    ...migrationSettings(address),
    size,
    connectTimeout: long,
    idleTimeout: long,
    lifetime: long
  })
})

const ask = (pool: Pool, text: string, left = 20_000) => pool.run({ text, parameters: [], writes: true }, left)

const eventually = Effect.fnUntraced(function* (holds: () => boolean) {
  expect(yield* pollUntil(Effect.sync(holds), 20_000)).toBe(true)
})

test("as many connections as are allowed serve all, and no statement is sent twice", () =>
  Effect.gen(function* () {
    const { release, state, url } = yield* fakeServer
    const pool = yield* poolOf(url, 2)
    state.answers = false
    const names = ["a", "b", "c", "d", "e"]
    const asked = yield* Effect.forkChild(
      Effect.all(
        names.map((name) => ask(pool, name)),
        { concurrency: "unbounded" }
      )
    )
    yield* eventually(() => state.statements.length === 2)
    expect(state.logins).toBe(2)
    state.answers = true
    yield* release
    expect(yield* Fiber.join(asked)).toHaveLength(5)
    expect(state.statements.toSorted()).toEqual(names)
    expect([state.logins, state.open.size]).toEqual([2, 2])
  }).pipe(Effect.scoped, Effect.runPromise))

test("a statement whose time was over before it could be sent is never sent, and costs no connection", () =>
  Effect.gen(function* () {
    const { state, url } = yield* fakeServer
    const pool = yield* poolOf(url, 1)
    yield* ask(pool, "first")
    for (const left of [0, -5]) {
      expect(yield* Effect.flip(ask(pool, "late", left))).toMatchObject({ outcome: "not_done" })
    }
    yield* ask(pool, "last")
    expect(state.statements).toEqual(["first", "last"])
    expect(state.logins).toBe(1)
  }).pipe(Effect.scoped, Effect.runPromise))

test("a statement whose time is over is unknown, and its connection is given up; one that waits is never sent", () =>
  Effect.gen(function* () {
    const { state, url } = yield* fakeServer
    const pool = yield* poolOf(url, 1)
    yield* ask(pool, "first")
    state.answers = false
    const [sent, waits] = yield* Effect.all(
      [Effect.flip(ask(pool, "sent", 300)), Effect.flip(ask(pool, "waits", 100))],
      { concurrency: "unbounded" }
    )
    expect(sent).toMatchObject({ _tag: "Unanswered", failure: { rolledBack: false } })
    expect(waits).toMatchObject({ _tag: "StorageUnavailable", outcome: "not_done" })
    state.answers = true
    yield* ask(pool, "last")
    expect(state.statements).toEqual(["first", "sent", "last"])
    expect(state.logins).toBe(2)
    yield* eventually(() => state.open.size === 1)
  }).pipe(Effect.scoped, Effect.runPromise))

test("a call that is interrupted takes its connection with it, and the next has another", () =>
  Effect.gen(function* () {
    const { state, url } = yield* fakeServer
    const pool = yield* poolOf(url, 1)
    state.answers = false
    const left = yield* Effect.forkChild(ask(pool, "left"))
    yield* eventually(() => state.statements.length === 1)
    state.answers = true
    yield* Fiber.interrupt(left)
    yield* ask(pool, "next")
    expect(state.logins).toBe(2)
    yield* eventually(() => state.open.size === 1)
  }).pipe(Effect.scoped, Effect.runPromise))

test("a pool that is closed keeps no connection, not even one that came too late, and makes none", () =>
  Effect.gen(function* () {
    const { release, state, url } = yield* fakeServer
    const scope = Scope.makeUnsafe()
    const pool = yield* Scope.provide(poolOf(url, 3), scope)
    yield* ask(pool, "idle")
    state.answers = false
    const busy = yield* Effect.forkChild(ask(pool, "busy"))
    yield* eventually(() => state.statements.length === 2)
    state.admits = false
    const early = yield* Effect.forkChild(Effect.flip(ask(pool, "early")))
    yield* eventually(() => state.logins === 2)
    yield* Scope.close(scope, Exit.void)
    expect(yield* Fiber.join(early)).toMatchObject({ _tag: "StorageUnavailable", outcome: "not_done" })
    yield* release
    // What was under way is seen to its end.
    yield* Fiber.join(busy)
    yield* eventually(() => state.open.size === 0)
    expect(yield* Effect.flip(ask(pool, "late"))).toMatchObject({ _tag: "StorageUnavailable", outcome: "not_done" })
    expect([state.logins, state.statements]).toEqual([2, ["idle", "busy"]])
  }).pipe(Effect.scoped, Effect.runPromise))

test("who waits for a connection that is cut is served over another", () =>
  Effect.gen(function* () {
    const { state, url } = yield* fakeServer
    const pool = yield* poolOf(url, 1)
    state.answers = false
    const cut = yield* Effect.forkChild(Effect.flip(ask(pool, "cut")))
    yield* eventually(() => state.statements.length === 1)
    const waits = yield* Effect.forkChild(ask(pool, "waits"))
    yield* Effect.yieldNow
    state.answers = true
    for (const socket of state.open) socket.destroy()
    expect(yield* Fiber.join(cut)).toMatchObject({ _tag: "Unanswered", failure: { rolledBack: false } })
    yield* Fiber.join(waits)
    expect([state.logins, state.statements]).toEqual([2, ["cut", "waits"]])
  }).pipe(Effect.scoped, Effect.runPromise))

test("what nobody uses is closed with the pool", () =>
  Effect.gen(function* () {
    const { state, url } = yield* fakeServer
    yield* Effect.scoped(Effect.flatMap(poolOf(url, 2), (pool) => ask(pool, "one")))
    yield* eventually(() => state.logins === 1 && state.open.size === 0)
  }).pipe(Effect.scoped, Effect.runPromise))
