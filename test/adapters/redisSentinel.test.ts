import { expect, test } from "bun:test"
import { Effect, Option } from "effect"
import type { Redis } from "ioredis"
import { Storage } from "../../core/ports/Storage.ts"
import { pollUntil } from "../harness/pollUntil.ts"
import { startRedis } from "../harness/startRedis.ts"
import { call, keepReplacing, openAdmin, over, recordOf, scoped, untilItAnswers } from "./redisGiven.ts"
import { slowSentinel } from "./slowSentinel.ts"
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

          // A sentinel that gets no turn for two seconds waits for thirty, so its word is waited for and not a time.
          yield* switched
          // An insert whose answer was lost finds its own record.
          const inserted = (id: string) =>
            untilItAnswers(store.insert(recordOf(id))).pipe(Effect.catchTag("Conflict", () => Effect.void))
          yield* inserted("after")
          // The client is told when we are, and then connects anew, even where it has gone to the new master already.
          expect(Option.isSome(yield* untilItAnswers(store.get(recordOf("before"))))).toBe(true)

          // What meets that fails and says so, which `keepReplacing` checks; afterwards nothing fails any more.
          let failures = 0
          for (let round = 1; round === 1 || failures > 0; round++) {
            expect(round).toBeLessThan(20)
            const id = `after ${round}`
            yield* inserted(id)
            let replaces = 0
            const { acknowledged, attempts } = yield* keepReplacing(id, () => ++replaces > 10)
            failures = attempts - acknowledged
          }
          const role = yield* call(replicaAdmin, "ROLE")
          expect(Array.isArray(role) ? role[0] : role).toBe("master")
        }).pipe(over(`redis+sentinel://127.0.0.1:${sentinel.port}/main`))
      })
    ),
  3 * limit
)

test(
  "a failover that is told while a sentinel is asked for the master leaves the storage connected",
  () =>
    scoped(
      Effect.gen(function* () {
        const master = yield* startRedis()
        const admin = yield* openAdmin(master.url)
        const sentinel = yield* slowSentinel(master.port)
        yield* Effect.gen(function* () {
          const store = yield* Storage
          yield* store.insert(recordOf("before"))
          yield* sentinel.listened
          const told = sentinel.tellBeforeNextAnswer()
          yield* call(admin, "CLIENT", "KILL", "TYPE", "normal")
          yield* told
          expect(Option.isSome(yield* untilItAnswers(store.get(recordOf("before"))))).toBe(true)
        }).pipe(over(`redis+sentinel://127.0.0.1:${sentinel.port}/main`))
      })
    ),
  2 * limit
)
