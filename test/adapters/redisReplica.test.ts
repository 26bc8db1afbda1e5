import { describe, expect, test } from "bun:test"
import { Effect, Fiber, Option, Result } from "effect"
import { ownerKey } from "../../adapters/redis/RecordPlace.ts"
import { parseRedisUrl } from "../../adapters/redis/RedisUrl.ts"
import { makeRecords } from "../../core/engine/Records.ts"
import { transact } from "../../core/engine/transact.ts"
import { usageKind } from "../../core/engine/Usage.ts"
import { answerAndKeep } from "../../core/grant/Decision.ts"
import { Entropy } from "../../core/ports/Entropy.ts"
import { Conflict, Storage } from "../../core/ports/Storage.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"
import { pollUntil } from "../harness/pollUntil.ts"
import { startRedis } from "../harness/startRedis.ts"
import { call, openAdmin, over, recordOf, scoped } from "./redisGiven.ts"

const limit = 60_000
const ownersList = ownerKey("tessera", recordOf("any"))

/** A Redis with a replica that `admin` speaks to, and that `follow` has it follow again. */
const replicated = Effect.gen(function* () {
  const master = yield* startRedis({ settings: { "repl-diskless-sync-delay": "0" } })
  const replica = yield* startRedis()
  const admin = yield* openAdmin(replica.url)
  const isLinked = Effect.map(call(admin, "ROLE"), (role) => Array.isArray(role) && role[3] === "connected")
  const follow = Effect.andThen(call(admin, "REPLICAOF", "127.0.0.1", master.port), pollUntil(isLinked, limit))
  expect(yield* follow).toBe(true)
  return { admin, follow, master }
})

describe("a Redis whose writes wait for a replica", () => {
  test(
    "acknowledges what a replica has, and calls the outcome unknown where none has it",
    () =>
      scoped(
        Effect.gen(function* () {
          const { admin, master } = yield* replicated

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
            // A call that writes nothing waits for no replica.
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

  test(
    "takes a write for done only once a replica has it, though it is read back before",
    () =>
      scoped(
        Effect.gen(function* () {
          const { admin, follow, master } = yield* replicated

          yield* Effect.gen(function* () {
            const store = yield* Storage
            const entropy = yield* Entropy
            const records = makeRecords(store, usageKind)
            const home = WorkspaceId.make("home")
            const used = (id: string, at: number) =>
              transact(records, entropy, home, id, () => answerAndKeep({ id, usedAt: Instant.make(at) }, at))
            expect(yield* used("a", 1)).toEqual(Result.succeed(1))
            expect(yield* used("b", 1)).toEqual(Result.succeed(1))

            yield* call(admin, "REPLICAOF", "NO", "ONE")
            const unavailable = { _tag: "StorageUnavailable" }
            expect(yield* Effect.flip(used("a", 2))).toMatchObject({ ...unavailable, outcome: "unknown" })
            expect(yield* Effect.flip(used("c", 2))).toMatchObject({ ...unavailable, outcome: "unknown" })
            // Nor does another request of this process take it for done, or take it away.
            const a = { workspace: home, kind: "usage", id: "a" } as const
            expect(yield* Effect.flip(store.get(a))).toMatchObject({ ...unavailable, outcome: "not_done" })
            expect(yield* Effect.flip(store.remove(a))).toMatchObject({ ...unavailable, outcome: "not_done" })
            const listing = { workspace: home, kind: "usage", owner: "usage", after: undefined, limit: 10 } as const
            expect(yield* Effect.flip(store.list(listing))).toMatchObject({ ...unavailable, outcome: "not_done" })
            // Other records are read as ever.
            expect(Option.isSome(yield* store.get({ ...a, id: "b" }))).toBe(true)

            expect(yield* follow).toBe(true)
            expect((yield* records.get(home, "a"))?.value.usedAt).toBe(Instant.make(2))
            expect((yield* store.list(listing)).records.map(({ id }) => id)).toEqual(["a", "b", "c"])
            expect(yield* used("a", 3)).toEqual(Result.succeed(3))
            expect((yield* records.get(home, "c"))?.value.usedAt).toBe(Instant.make(2))
          }).pipe(over(`${master.url}?wait=1`), Effect.provide(Entropy.layer))
        })
      ),
    limit
  )

  test(
    "nor shows anybody a write that no replica has yet, while it is under way or once its caller has gone",
    () =>
      scoped(
        Effect.gen(function* () {
          const { admin, follow, master } = yield* replicated

          yield* Effect.gen(function* () {
            const store = yield* Storage
            const beside = yield* openAdmin(master.url)
            const isThere = (count: number) => Effect.map(call(beside, "ZCARD", ownersList), (there) => there === count)
            yield* store.insert(recordOf("a"))
            yield* call(admin, "REPLICAOF", "NO", "ONE")
            const notDone = { _tag: "StorageUnavailable", outcome: "not_done" }
            const unknown = { _tag: "StorageUnavailable", outcome: "unknown" }
            const [written, read, listed] = yield* Effect.all(
              [
                Effect.flip(store.replace(1, recordOf("a", { n: 1 }))),
                Effect.flip(store.get(recordOf("a"))),
                Effect.flip(store.list({ ...recordOf("a"), after: undefined, limit: 10 }))
              ],
              { concurrency: "unbounded" }
            )
            expect(written).toMatchObject(unknown)
            expect(read).toMatchObject(notDone)
            expect(listed).toMatchObject(notDone)

            const caller = yield* Effect.forkChild(store.insert(recordOf("b")), { startImmediately: true })
            expect(yield* pollUntil(isThere(2), limit)).toBe(true)
            yield* Fiber.interrupt(caller)
            expect(yield* Effect.flip(store.get(recordOf("b")))).toMatchObject(notDone)

            expect(yield* follow).toBe(true)
            expect(Option.getOrThrow(yield* store.get(recordOf("a"))).version).toBe(2)
            expect(Option.isSome(yield* store.get(recordOf("b")))).toBe(true)
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
