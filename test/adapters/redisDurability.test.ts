import { describe, expect, test } from "bun:test"
import { Effect, Result } from "effect"
import {
  type DurabilityWarning,
  EvictionRefused,
  inspectDurability,
  warningText
} from "../../adapters/redis/Durability.ts"
import { parseRedisUrl } from "../../adapters/redis/RedisUrl.ts"
import { openWire } from "../../adapters/redis/Wire.ts"
import { redisClusterUrl } from "../harness/given.ts"
import { startRedis } from "../harness/startRedis.ts"
import { call, openAdmin, over, scoped } from "./redisGiven.ts"

const inspected = (url: string, allowEviction = false, waitForReplica = false) =>
  Effect.scoped(
    Effect.gen(function* () {
      const target = Result.getOrThrow(parseRedisUrl(url))
      const wire = yield* openWire(target, {
        tls: undefined,
        deadlineMillis: 3000,
        pipelining: true,
        maximumWaiting: 1000
      })
      yield* wire.ask("ping", [], wire.deadline())
      return yield* inspectDurability(wire, target.kind, { allowEviction, waitForReplica })
    })
  )

describe("what a Redis would lose", () => {
  test("is nothing where each write is on the disk before it is acknowledged", () =>
    scoped(
      Effect.gen(function* () {
        const { url } = yield* startRedis({ settings: { appendfsync: "always" } })
        expect(yield* inspected(url)).toEqual([])
      })
    ))

  test.each([
    [{ appendonly: "no" }, { _tag: "AppendOnlyOff" }, "everything since the last snapshot"],
    [{ appendfsync: "everysec" }, { _tag: "LastWritesAtRisk", appendfsync: "everysec" }, "up to two seconds"],
    [{ appendfsync: "no" }, { _tag: "LastWritesAtRisk", appendfsync: "no" }, "perhaps half a minute"]
  ])("is said for %j", (settings, warning, loss) =>
    scoped(
      Effect.gen(function* () {
        const { url, port } = yield* startRedis({ settings })
        const found = yield* inspected(url)
        expect(found).toEqual([{ ...warning, node: `127.0.0.1:${port}` } as DurabilityWarning])
        for (const each of found) {
          expect(warningText(each)).toContain(`127.0.0.1:${port}`)
          expect(warningText(each)).toContain(loss)
        }
      })
    )
  )

  test("is said of replicas that no write waits for", () =>
    scoped(
      Effect.gen(function* () {
        const master = yield* startRedis({ settings: { appendfsync: "always", "repl-diskless-sync-delay": "0" } })
        const replica = yield* startRedis()
        const admin = yield* openAdmin(replica.url)
        yield* call(admin, "REPLICAOF", "127.0.0.1", master.port)
        const node = `127.0.0.1:${master.port}`
        const found = yield* Effect.repeat(inspected(master.url), { until: (warnings) => warnings.length > 0 })
        expect(found).toEqual([{ _tag: "FailoverLosesWrites", node, replicas: 1, kind: "single" }])

        const masters = yield* openAdmin(master.url)
        yield* call(masters, "CONFIG", "SET", "min-replicas-to-write", 1)
        expect(yield* inspected(master.url)).toEqual(found)
        expect(yield* inspected(master.url, false, true)).toEqual([])
      })
    ))

  test.each(["redis://a:1", "redis+cluster://a:1,b:2", "redis+sentinel://a:1/main"])(
    "is met by waiting for a replica where the URL may ask for it: %s",
    (url) => {
      const { kind } = Result.getOrThrow(parseRedisUrl(url))
      const text = warningText({ _tag: "FailoverLosesWrites", node: "a:1", replicas: 1, kind })
      expect(text.includes("wait=1")).toBe(Result.isSuccess(parseRedisUrl(`${url}?wait=1`)))
    }
  )

  test("is said of each node of a cluster", () =>
    scoped(
      Effect.gen(function* () {
        const found = yield* inspected(redisClusterUrl())
        expect(found.map(({ node }) => node).sort()).toEqual(
          redisClusterUrl().replace("redis+cluster://", "").split(",").sort()
        )
      })
    ))

  test.each(["allkeys-lru", "volatile-lru", "volatile-ttl"])(
    "refuses to start on eviction by %s, unless told",
    (policy) =>
      scoped(
        Effect.gen(function* () {
          const settings = { appendfsync: "always", "maxmemory-policy": policy }
          const { url, port } = yield* startRedis({ settings })
          const node = `127.0.0.1:${port}`
          const refusal = yield* Effect.flip(Effect.void.pipe(over(url)))
          expect(refusal).toEqual(new EvictionRefused({ node, policy }))
          expect(refusal.message).toContain(policy)

          yield* Effect.void.pipe(over(url, { allowEviction: true }))
          expect(yield* inspected(url, true)).toEqual([{ _tag: "EvictionOn", node, policy }])
        })
      )
  )

  test("is not known where CONFIG is forbidden, and eviction is refused all the same", () =>
    scoped(
      Effect.gen(function* () {
        const { url, port } = yield* startRedis()
        const admin = yield* openAdmin(url)
        const node = `127.0.0.1:${port}`
        yield* call(admin, "ACL", "SETUSER", "guest", "on", ">pw", "~*", "+@all", "-config")
        const asGuest = url.replace("redis://", "redis://guest:pw@")
        expect(yield* inspected(asGuest)).toEqual([{ _tag: "CouldNotLook", node, settings: ["appendfsync"] }])

        // INFO says whether there is a file at all.
        yield* call(admin, "CONFIG", "SET", "appendonly", "no")
        expect(yield* inspected(asGuest)).toEqual([{ _tag: "AppendOnlyOff", node }])

        yield* call(admin, "CONFIG", "SET", "maxmemory-policy", "allkeys-random")
        expect(yield* Effect.flip(inspected(asGuest))).toEqual(new EvictionRefused({ node, policy: "allkeys-random" }))
      })
    ))
})
