import { expect, test } from "bun:test"
import { Effect, Option } from "effect"
import type { Redis } from "ioredis"
import { Storage } from "../../core/ports/Storage.ts"
import { pollUntil } from "../harness/pollUntil.ts"
import { startRedis } from "../harness/startRedis.ts"
import { call, keepReplacing, openAdmin, over, recordOf, scoped, untilItAnswers } from "./redisGiven.ts"
import { startSentinel } from "./startSentinel.ts"

const limit = 60_000

/** Completes once something was published on the channel from now on. */
const told = (listener: Redis, channel: string) =>
  Effect.promise(async () => {
    const message = new Promise((resolve) => listener.once("message", resolve))
    await listener.subscribe(channel)
    return Effect.promise(() => message)
  })

test(
  "after a failover the storage writes to the new master, by the sentinels' word",
  () =>
    scoped(
      Effect.gen(function* () {
        const master = yield* startRedis({ settings: { "repl-diskless-sync-delay": "0" } })
        const replica = yield* startRedis()
        const replicaAdmin = yield* openAdmin(replica.url)
        yield* call(replicaAdmin, "REPLICAOF", "127.0.0.1", master.port)
        const sentinel = yield* startSentinel(master.port)
        const sentinelAdmin = yield* openAdmin(sentinel.url)
        const knowsReplica = Effect.promise(async () => {
          const known = await sentinelAdmin.call("SENTINEL", "replicas", "main")
          return Array.isArray(known) && known.length === 1 && `${known[0]}`.includes("master-link-status,ok")
        })
        expect(yield* pollUntil(knowsReplica, limit)).toBe(true)

        yield* Effect.gen(function* () {
          const store = yield* Storage
          yield* store.insert(recordOf("before"))
          const arrived = Effect.promise(async () => (await replicaAdmin.dbsize()) === 3)
          expect(yield* pollUntil(arrived, limit)).toBe(true)
          const switched = yield* told(yield* openAdmin(sentinel.url), "+switch-master")
          yield* master.kill

          yield* untilItAnswers(store.insert(recordOf("after")))
          // The sentinels name the new master before they are done, and when they say that they are, the client, which has
          // gone there already, connects anew. It was told when we were, and had its turn while we asked.
          yield* switched
          yield* Effect.repeat(call(sentinelAdmin, "PING"), { times: 2 })
          yield* untilItAnswers(store.get(recordOf("after")))

          expect(Option.isSome(yield* store.get(recordOf("before")))).toBe(true)
          let replaces = 0
          const { acknowledged, attempts } = yield* keepReplacing("after", () => ++replaces > 10)
          expect(acknowledged).toBe(attempts)
          const role = yield* call(replicaAdmin, "ROLE")
          expect(Array.isArray(role) ? role[0] : role).toBe("master")
        }).pipe(over(`redis+sentinel://127.0.0.1:${sentinel.port}/main`))
      })
    ),
  limit
)
