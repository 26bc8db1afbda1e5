import { describe, expect, test } from "bun:test"
import { Effect, Option, Result } from "effect"
import { parseRedisUrl } from "../../adapters/redis/RedisUrl.ts"
import { Conflict, Storage } from "../../core/ports/Storage.ts"
import { pollUntil } from "../harness/pollUntil.ts"
import { startRedis } from "../harness/startRedis.ts"
import { call, openAdmin, over, recordOf, scoped } from "./redisGiven.ts"

const limit = 60_000

describe("a Redis whose writes wait for a replica", () => {
  test(
    "acknowledges what a replica has, and calls the outcome unknown where none has it",
    () =>
      scoped(
        Effect.gen(function* () {
          const master = yield* startRedis({ settings: { "repl-diskless-sync-delay": "0" } })
          const replica = yield* startRedis()
          const admin = yield* openAdmin(replica.url)
          yield* call(admin, "REPLICAOF", "127.0.0.1", master.port)
          const isLinked = Effect.map(call(admin, "ROLE"), (role) => Array.isArray(role) && role[3] === "connected")
          expect(yield* pollUntil(isLinked, limit)).toBe(true)

          yield* Effect.gen(function* () {
            const store = yield* Storage
            const onReplica = Effect.map(call(admin, "DBSIZE"), Number)
            for (const id of ["a", "b", "c"]) {
              const before = yield* onReplica
              yield* store.insert(recordOf(id))
              // At once, without waiting for it here.
              expect(yield* onReplica).toBeGreaterThan(before)
            }
            yield* Effect.all(
              ["a", "b"].map((id) => store.replace(1, recordOf(id, { n: 1 }))),
              { concurrency: "unbounded" }
            )
            yield* store.remove(recordOf("c"))

            yield* call(admin, "REPLICAOF", "NO", "ONE")
            // What writes nothing waits for nobody.
            expect(yield* Effect.flip(store.insert(recordOf("a")))).toBeInstanceOf(Conflict)
            expect(yield* Effect.flip(store.replace(1, recordOf("a")))).toBeInstanceOf(Conflict)
            yield* store.remove(recordOf("c"))
            expect(Option.getOrThrow(yield* store.get(recordOf("a"))).version).toBe(2)

            const unknown = { _tag: "StorageUnavailable", outcome: "unknown" }
            expect(yield* Effect.flip(store.insert(recordOf("d")))).toMatchObject(unknown)
            expect(yield* Effect.flip(store.replace(2, recordOf("a", { n: 2 })))).toMatchObject(unknown)
            expect(yield* Effect.flip(store.remove(recordOf("b")))).toMatchObject(unknown)
          }).pipe(over(`${master.url}?wait=1`))
        })
      ),
    limit
  )

  test("is not to be had on a cluster, where a connection knows one master of several", () => {
    expect(Result.isFailure(parseRedisUrl("redis+cluster://a:1,b:2?wait=1"))).toBe(true)
    expect(Result.isSuccess(parseRedisUrl("redis+cluster://a:1,b:2?wait=0"))).toBe(true)
    expect(Result.getOrThrow(parseRedisUrl("redis+sentinel://a:1/main?wait=1")).settings).toEqual({
      waitForReplica: true
    })
    expect(Result.isFailure(parseRedisUrl("redis://a?wait=2"))).toBe(true)
  })
})
