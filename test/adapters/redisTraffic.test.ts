import { describe, expect, test } from "bun:test"
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import { Effect, Fiber, Option } from "effect"
import type { Redis } from "ioredis"
import { type Conflict, Storage, type StorageUnavailable } from "../../core/ports/Storage.ts"
import { startRedis } from "../harness/startRedis.ts"
import { call, commandCounts, keepReplacing, openAdmin, over, overRedis, recordOf, scoped } from "./redisGiven.ts"

/** What the server counted while this ran. What a script calls counts too, though it costs no round trip. */
const counted = Effect.fnUntraced(function* <R>(
  admin: Redis,
  effect: Effect.Effect<unknown, Conflict | StorageUnavailable, R>
) {
  yield* call(admin, "CONFIG", "RESETSTAT")
  yield* Effect.ignore(effect)
  return yield* commandCounts(admin)
})

const readsOf = (redis: Redis) =>
  Effect.map(
    Effect.promise(() => redis.info("stats")),
    (text) => Number(/total_reads_processed:(\d+)/.exec(text)?.[1])
  )

const fiveHundred = Array.from({ length: 500 }, (_, n) => `id-${n}`)

describe("what Redis sees", () => {
  test("of each verb, as it counts itself", () =>
    overRedis(({ admin, store }) =>
      Effect.gen(function* () {
        const record = recordOf("a", {}, { expiresAt: 4e12 })
        const list = { ...record, after: undefined, limit: 10 }

        expect(yield* counted(admin, store.insert(record))).toEqual({ zadd: 2, evalsha: 1, exists: 1, set: 1 })
        expect(yield* counted(admin, store.insert(record))).toEqual({ evalsha: 1, exists: 1 })
        expect(yield* counted(admin, store.get(record))).toEqual({ get: 1 })
        expect(yield* counted(admin, store.replace(1, { ...record, expiresAt: 5e12 }))).toEqual({
          evalsha: 1,
          get: 1,
          set: 1
        })
        expect(yield* counted(admin, store.replace(1, record))).toEqual({ evalsha: 1, get: 1 })
        expect(yield* counted(admin, store.list(list))).toEqual({ zrangebylex: 1, get: 1 })
        expect(yield* counted(admin, store.remove(record))).toEqual({ evalsha: 1, get: 1, del: 1, zrem: 2 })
        expect(yield* counted(admin, store.sweep(1e12, 100))).toEqual({ zrangebyscore: 256 })
      })
    ))

  test.each([
    { when: "as it comes", pipelining: true, user: "all", gets: { mget: 1 }, scripts: 1 },
    { when: "without pipelining", pipelining: false, user: "all", gets: { get: 50 }, scripts: 50 },
    { when: "for a user without MGET", pipelining: true, user: "few", gets: { get: 50 }, scripts: 50 }
  ])("of 50 calls at once $when", ({ gets, pipelining, scripts, user }) =>
    scoped(
      Effect.gen(function* () {
        const server = yield* startRedis()
        const admin = yield* openAdmin(server.url)
        yield* call(admin, "ACL", "SETUSER", "all", "on", ">secret", "~*", "&*", "+@all")
        yield* call(admin, "ACL", "SETUSER", "few", "on", ">secret", "~*", "&*", "+@all", "-mget")
        const url = server.url.replace("//", `//${user}:secret@`)
        yield* Effect.gen(function* () {
          const store = yield* Storage
          const atOnce = <A, E, R>(act: (id: string) => Effect.Effect<A, E, R>) =>
            Effect.forEach(fiveHundred.slice(0, 50), act, { concurrency: "unbounded" })
          yield* atOnce((id) => store.insert(recordOf(id)))

          expect(
            yield* counted(
              admin,
              atOnce((id) => store.replace(1, recordOf(id, { id })))
            )
          ).toEqual({
            evalsha: scripts,
            get: 50,
            set: 50
          })
          expect(
            yield* counted(
              admin,
              atOnce((id) => store.get(recordOf(id)))
            )
          ).toEqual(gets)
          const found = yield* atOnce((id) => store.get(recordOf(id)))
          expect(found.map(Option.map(({ body }) => body))).toEqual(
            fiveHundred.slice(0, 50).map((id) => Option.some({ id }))
          )
        }).pipe(over(url, { pipelining }))
      })
    )
  )

  test.each([
    { pipelining: true, most: 20 },
    { pipelining: false, most: 600 }
  ])("of 500 calls at once: a few pipelines, unless it is turned off ($pipelining)", ({ pipelining, most }) =>
    overRedis(
      ({ admin, store }) =>
        Effect.gen(function* () {
          const before = yield* readsOf(admin)
          yield* Effect.forEach(fiveHundred, (id) => store.get(recordOf(id)), { concurrency: "unbounded" })
          const reads = (yield* readsOf(admin)) - before
          expect(reads).toBeLessThan(most)
          expect(reads).toBeGreaterThan(1)
        }),
      { pipelining }
    )
  )

  test("of scripts that it forgets in the middle of a run: no caller notices", () =>
    overRedis(({ admin, store }) =>
      Effect.gen(function* () {
        const ids = fiveHundred.slice(0, 20)
        yield* Effect.forEach(ids, (id) => store.insert(recordOf(id)), { concurrency: "unbounded" })
        yield* call(admin, "CONFIG", "RESETSTAT")
        let isOver = false
        const writers = yield* Effect.forkChild(
          Effect.forEach(ids, (id) => keepReplacing(id, () => isOver), { concurrency: "unbounded" })
        )
        for (let round = 0; round < 20; round++) {
          yield* call(admin, "SCRIPT", "FLUSH")
          yield* call(admin, "PING")
        }
        isOver = true
        const ledgers = yield* Fiber.join(writers)
        for (const { acknowledged, attempts } of ledgers) expect(acknowledged).toBe(attempts)
        // It did forget.
        expect((yield* commandCounts(admin)).eval ?? 0).toBeGreaterThan(0)
      })
    ))
})

describe("a grant that is read again", () => {
  test("has the body of the last time, alone and in a batch, until it is another", () =>
    overRedis(({ store }) =>
      Effect.gen(function* () {
        const read = (id: string) => Effect.map(store.get(recordOf(id)), Option.getOrThrow)
        for (const id of ["a", "b"]) yield* store.insert(recordOf(id, { n: 1 }))
        const first = yield* read("a")
        const [again] = yield* Effect.all([read("a"), read("b")], { concurrency: "unbounded" })
        expect(again.body).toBe(first.body)
        expect(again).toMatchObject({ version: 1, owner: "owner", body: { n: 1 } })
        yield* store.replace(1, recordOf("a", { n: 2 }))
        const changed = yield* read("a")
        expect(changed).toMatchObject({ version: 2, body: { n: 2 } })
      })
    ))
})

test("what Redis is sent is told to no listener of the driver in this process", () =>
  scoped(
    Effect.gen(function* () {
      const heard: Array<unknown> = []
      const note = (message: unknown) => void heard.push(message)
      subscribe("tracing:ioredis:command:start", note)
      yield* Effect.addFinalizer(() => Effect.sync(() => unsubscribe("tracing:ioredis:command:start", note)))
      const server = yield* startRedis()
      yield* Effect.gen(function* () {
        const store = yield* Storage
        const record = recordOf("half-of-a-token")
        yield* store.insert(record)
        yield* store.get(record)
        yield* store.replace(1, record)
        yield* store.remove(record)
      }).pipe(over(server.url))
      // What the driver says for itself is there, so the listener worked.
      expect(heard).not.toEqual([])
      expect(JSON.stringify(heard)).not.toContain("half-of-a-token")
    })
  ))
