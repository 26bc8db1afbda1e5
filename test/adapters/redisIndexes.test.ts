import { describe, expect, test } from "bun:test"
import { Effect, Option } from "effect"
import type { Redis } from "ioredis"
import { lineOf, ownerKey, pathOf, placeOf } from "../../adapters/redis/RecordPlace.ts"
import type { RedisOptions } from "../../adapters/redis/Redis.ts"
import { type Listing, type NewRecord, Storage } from "../../core/ports/Storage.ts"
import { stoppedAt } from "../../core/testing/stoppedClock.ts"
import { redisClusterUrl, redisUrl } from "../harness/given.ts"
import { pollUntil } from "../harness/pollUntil.ts"
import { call, openAdmin, over, recordOf, scoped } from "./redisGiven.ts"

const hour = 3_600_000

const listing: Listing = { workspace: "acme", kind: "grant", owner: "owner", after: undefined, limit: 100 }

const listed = Effect.gen(function* () {
  const store = yield* Storage
  return (yield* store.list(listing)).records.map(({ id }) => id)
})

/** A prefix of its own, a store on it and a look behind it. */
const behind = <E>(
  body: (look: {
    readonly lines: Effect.Effect<number>
    readonly plant: (id: string, born: number) => Effect.Effect<unknown>
    readonly inIndex: (record: NewRecord) => Effect.Effect<unknown>
    readonly redis: Redis
    readonly prefix: string
  }) => Effect.Effect<void, E, Storage>,
  options: Omit<RedisOptions, "url" | "prefix"> = {}
) =>
  scoped(
    Effect.gen(function* () {
      const prefix = `indexes-${crypto.randomUUID()}`
      const redis = yield* openAdmin(redisUrl())
      const list = ownerKey(prefix, listing)
      yield* body({
        redis,
        prefix,
        lines: Effect.map(call(redis, "ZCARD", list), Number),
        plant: (id, born) => call(redis, "ZADD", list, 0, lineOf(id, `${born.toString(36)}.test.0`)),
        inIndex: (record) => {
          const { path, shard } = placeOf(prefix, pathOf(record))
          return call(redis, "ZSCORE", shard, path)
        }
      }).pipe(over(redisUrl(), { ...options, prefix }))
    })
  )

describe("an owner's list", () => {
  test("is read through its records: the line of an insert that never came is not shown, and struck when it is old", () =>
    behind(({ lines, plant }) =>
      Effect.gen(function* () {
        const store = yield* Storage
        const now = 100 * hour
        yield* store.insert(recordOf("b")).pipe(stoppedAt(now))
        yield* plant("a", now - hour)
        yield* plant("c", now - hour + 1)
        expect(yield* listed.pipe(stoppedAt(now))).toEqual(["b"])
        // "c" may still be on its way.
        expect(yield* lines).toBe(2)

        expect(yield* listed.pipe(stoppedAt(now + 1))).toEqual(["b"])
        expect(yield* lines).toBe(1)

        // That of a record which is there stays, however old it is.
        for (const later of [hour, 2 * hour]) expect(yield* listed.pipe(stoppedAt(now + later))).toEqual(["b"])
        expect(yield* lines).toBe(1)
      })
    ))

  test("never shows a record twice, nor by the line of another attempt to insert it", () =>
    behind(({ lines, plant }) =>
      Effect.gen(function* () {
        const store = yield* Storage
        yield* store.insert(recordOf("a"))
        yield* plant("a", 0)
        expect(yield* listed).toEqual(["a"])
        expect(yield* lines).toBe(1)
        expect(yield* listed).toEqual(["a"])
      })
    ))

  test("pages on over any number of stale lines, and is rid of them then", () =>
    behind(({ lines, plant }) =>
      Effect.gen(function* () {
        const store = yield* Storage
        yield* Effect.forEach(Array.from({ length: 200 }), (_, n) => plant(`stale-${n}`, 0), {
          concurrency: "unbounded"
        })
        for (const id of ["a", "z"]) yield* store.insert(recordOf(id))
        const first = yield* store.list({ ...listing, limit: 1 })
        expect(first.records.map(({ id }) => id)).toEqual(["a"])
        expect(first.next).toBe("a")
        const second = yield* store.list({ ...listing, limit: 1, after: first.next })
        expect(second.records.map(({ id }) => id)).toEqual(["z"])
        expect(second.next).toBeUndefined()
        expect(yield* lines).toBe(2)
      })
    ))

  test("loses the lines of what was removed, swept or refused", () =>
    behind(({ lines }) =>
      Effect.gen(function* () {
        const store = yield* Storage
        yield* store.insert(recordOf("removed"))
        yield* store.insert(recordOf("swept", {}, { expiresAt: 1000 }))
        yield* store.insert(recordOf("stays"))
        yield* Effect.flip(store.insert(recordOf("stays")))
        yield* store.remove(recordOf("removed"))
        yield* store.sweep(1000, 100)
        expect(yield* lines).toBe(1)
        expect(yield* listed).toEqual(["stays"])
      })
    ))
})

describe("what Redis itself forgets, long after its expiry", () => {
  test("leaves the list when it is met, and the index with the next sweep, which does not count it", () =>
    behind(
      ({ lines, inIndex }) =>
        Effect.gen(function* () {
          const store = yield* Storage
          const record = recordOf("forgotten", {}, { expiresAt: 1000 })
          yield* store.insert(record)
          const isGone = Effect.map(Effect.orDie(store.get(record)), Option.isNone)
          expect(yield* pollUntil(isGone, 10_000)).toBe(true)
          expect(yield* inIndex(record)).not.toBeNull()

          expect(yield* store.sweep(1000, 100)).toBe(0)
          expect(yield* inIndex(record)).toBeNull()
          expect(yield* listed.pipe(stoppedAt(Date.now() + hour))).toEqual([])
          expect(yield* lines).toBe(0)
          yield* store.insert(record)
        }),
      { backstop: "1 millis" }
    ))

  test("is kept for the backstop past its expiry, by the port's clock", () =>
    behind(({ redis, prefix }) =>
      Effect.gen(function* () {
        const store = yield* Storage
        const week = 7 * 24 * hour
        const left = (id: string) =>
          Effect.map(call(redis, "PTTL", placeOf(prefix, pathOf(recordOf(id))).record), Number)
        const at = (expiresAt: number | null) => ({ expiresAt })

        yield* store.insert(recordOf("expired", {}, at(0))).pipe(stoppedAt(5000))
        yield* store.insert(recordOf("in an hour", {}, at(5000 + hour))).pipe(stoppedAt(5000))
        yield* store.insert(recordOf("never"))
        yield* store.insert(recordOf("extended", {}, at(5000))).pipe(stoppedAt(5000))
        yield* store.replace(1, recordOf("extended", {}, at(5000 + hour))).pipe(stoppedAt(5000))
        yield* store.insert(recordOf("kept", {}, at(5000))).pipe(stoppedAt(5000))
        yield* store.replace(1, recordOf("kept")).pipe(stoppedAt(5000))
        // Longer than Redis can count.
        yield* store.insert(recordOf("for ages", {}, at(1e300)))
        yield* store.replace(1, recordOf("for ages", { n: 1 }, at(1e299)))

        // Some time may have passed on the server.
        const minute = 60_000
        for (const [id, millis] of [
          ["expired", week],
          ["in an hour", week + hour],
          ["extended", week + hour]
        ] as const) {
          expect(yield* left(id)).toBeLessThanOrEqual(millis)
          expect(yield* left(id)).toBeGreaterThan(millis - minute)
        }
        expect(yield* left("never")).toBe(-1)
        expect(yield* left("kept")).toBe(-1)
        expect(yield* left("for ages")).toBe(-1)
      })
    ))
})

describe("the index of a shard", () => {
  test("is left behind by a record that lives on, and catches up when a sweep meets it", () =>
    behind(({ inIndex }) =>
      Effect.gen(function* () {
        const store = yield* Storage
        const record = recordOf("a", {}, { expiresAt: 1000 })
        yield* store.insert(record)
        yield* store.replace(1, { ...record, expiresAt: 5000 })
        expect(yield* inIndex(record)).toBe("1000")
        expect(yield* store.sweep(2000, 100)).toBe(0)
        expect(yield* inIndex(record)).toBe("5000")
        yield* store.replace(2, { ...record, expiresAt: 3000 })
        expect(yield* inIndex(record)).toBe("3000")
        expect(yield* store.sweep(3000, 100)).toBe(1)
      })
    ))

  test("is not swept of what never expires, by no time whatever", () =>
    behind(() =>
      Effect.gen(function* () {
        const store = yield* Storage
        yield* store.insert(recordOf("ends", {}, { expiresAt: 4e12 }))
        yield* store.insert(recordOf("stays"))
        expect(yield* store.sweep(Number.POSITIVE_INFINITY, 100)).toBe(1)
        expect(yield* listed).toEqual(["stays"])
      })
    ))

  test("of many shards is swept no further than the limit", () =>
    behind(() =>
      Effect.gen(function* () {
        const store = yield* Storage
        const crowd = Array.from({ length: 300 }, (_, n) => `id-${n}`)
        yield* Effect.forEach(crowd, (id) => store.insert(recordOf(id, {}, { expiresAt: 1000 })), { concurrency: 50 })
        // More than one to a shard, so that a sweep mostly ends within one.
        for (let round = 0; round < 6; round++) expect(yield* store.sweep(1000, 50)).toBe(50)
        expect(yield* store.sweep(1000, 50)).toBe(0)
      })
    ))

  test("of more than a batch is swept to its end, and no further than the limit", () =>
    behind(({ lines, prefix, redis }) =>
      Effect.gen(function* () {
        const store = yield* Storage
        // All of one shard: the same place for each is not to be had, but twenty thousand names have enough of one.
        const shardOf = (id: string) => placeOf("x", pathOf(recordOf(id))).shard
        const same = Array.from({ length: 80_000 }, (_, n) => `id-${n}`).filter((id) => shardOf(id) === shardOf("id-0"))
        const crowd = same.slice(0, 250)
        expect(crowd).toHaveLength(250)
        const ownerOf = (n: number) => (n % 2 === 0 ? "owner" : "another")
        yield* Effect.forEach(
          crowd.map((id, n) => recordOf(id, {}, { expiresAt: 1000, owner: ownerOf(n) })),
          (record) => store.insert(record),
          { concurrency: 50 }
        )
        expect(yield* store.sweep(1000, 120)).toBe(120)
        expect(yield* store.sweep(1000, 1000)).toBe(130)
        expect(yield* lines).toBe(0)
        expect(yield* call(redis, "EXISTS", ownerKey(prefix, { ...listing, owner: "another" }))).toBe(0)
        expect(yield* listed).toEqual([])
      })
    ))
})

describe("the place of a record", () => {
  test("is in one hash slot with its index, as the server counts slots", () =>
    scoped(
      Effect.gen(function* () {
        const [node = ""] = redisClusterUrl().replace("redis+cluster://", "").split(",")
        const redis = yield* openAdmin(`redis://${node}`)
        const slotOf = (key: string) => Effect.map(call(redis, "CLUSTER", "KEYSLOT", key), Number)
        const places = ["a", "b{c}d", "}{", "ä", "😀", "\ud800", ""].map((id) =>
          placeOf("tessera", pathOf({ ...recordOf(id), workspace: `{${id}}` }))
        )
        for (const { record, shard } of places) expect(yield* slotOf(record)).toBe(yield* slotOf(shard))

        const shards = new Set(Array.from({ length: 20_000 }, (_, n) => placeOf("t", `acme/grant/${n}`).shard))
        const slots = yield* Effect.forEach(shards, slotOf)
        // One in each of 256 equal parts: a cluster that is cut into equal parts holds equally much everywhere.
        expect(new Set(slots.map((slot) => Math.floor(slot / 64))).size).toBe(256)
      })
    ))
})
