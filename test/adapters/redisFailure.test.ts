import { describe, expect, test } from "bun:test"
import { connect, createServer } from "node:net"
import { Deferred, Effect, Fiber, Option, Record, Schema } from "effect"
import { ownerKey, pathOf, placeOf } from "../../adapters/redis/RecordPlace.ts"
import { layer } from "../../adapters/redis/Redis.ts"
import { type Conflict, Storage, StorageUnavailable } from "../../core/ports/Storage.ts"
import { pollUntil } from "../harness/pollUntil.ts"
import { runProgram } from "../harness/runProgram.ts"
import type { Server } from "../harness/Server.ts"
import { startRedis } from "../harness/startRedis.ts"
import { startRedisCluster } from "../harness/startRedisCluster.ts"
import {
  call,
  commandCounts,
  keepReplacing,
  openAdmin,
  over,
  overRedis,
  recordOf,
  scoped,
  untilItAnswers
} from "./redisGiven.ts"

const limit = 60_000

const ids = Array.from({ length: 32 }, (_, index) => `grant-${index}`)

/** Inserts a record for each writer, lets all of them replace while `harm` is done, then adds up what they saw. */
const underLoad = Effect.fnUntraced(function* <E, R>(harm: Effect.Effect<void, E, R>) {
  const store = yield* Storage
  yield* Effect.forEach(ids, (id) => store.insert(recordOf(id)), { concurrency: "unbounded" })
  let isOver = false
  const writers = yield* Effect.forkChild(
    Effect.forEach(ids, (id) => keepReplacing(id, () => isOver), { concurrency: "unbounded" })
  )
  yield* harm
  isOver = true
  const ledgers = yield* Fiber.join(writers)

  const found = yield* Effect.forEach(ids, (id) => store.get(recordOf(id)))
  for (const [at, record] of found.entries()) {
    expect(Option.getOrThrow(record).version).toBe(ledgers[at]?.version ?? -1)
  }
  return ledgers.reduce(
    (sum, { acknowledged, unknown, attempts }) => ({
      acknowledged: sum.acknowledged + acknowledged,
      unknown: sum.unknown + unknown,
      attempts: sum.attempts + attempts,
      version: 0
    }),
    { acknowledged: 0, unknown: 0, attempts: 0, version: 0 }
  )
})

const fifty = Array.from({ length: 50 }, (_, n) => n)

const failureOf = <A>(effect: Effect.Effect<A, Conflict | StorageUnavailable, Storage>) =>
  Effect.map(Effect.flip(effect), (error) => (Schema.is(StorageUnavailable)(error) ? error : undefined))

/** Until so many scripts have run on the server since its statistics began. */
const scriptsRun = (server: Server, count: number) =>
  Effect.scoped(
    Effect.gen(function* () {
      const admin = yield* openAdmin(server.url)
      const reached = Effect.map(commandCounts(admin), ({ evalsha = 0 }) => evalsha >= count)
      expect(yield* pollUntil(reached, limit)).toBe(true)
    })
  )

/** A way to a server on which the next answer can be lost, and the connection with it. */
const lossyWay = Effect.fnUntraced(function* (to: number) {
  let lose = false
  const way = createServer((near) => {
    const far = connect(to, "127.0.0.1")
    const end = () => {
      near.destroy()
      far.destroy()
    }
    near.pipe(far)
    far.on("data", (answer) => {
      if (!lose) return void near.write(answer)
      lose = false
      end()
    })
    for (const socket of [near, far]) socket.on("error", end).on("close", end)
  })
  yield* Effect.addFinalizer(() => Effect.sync(() => way.close()))
  yield* Effect.callback<void>((resume) => void way.listen(0, "127.0.0.1", () => resume(Effect.void)))
  const address = way.address()
  const port = typeof address === "object" ? address?.port : undefined
  return {
    url: `redis://127.0.0.1:${port}`,
    loseNext: () => {
      lose = true
    }
  }
})

const answersAgain = Effect.gen(function* () {
  const store = yield* Storage
  yield* untilItAnswers(store.get(recordOf("anything")))
})

describe("when Redis fails", () => {
  test(
    "kill -9 and a restart lose nothing acknowledged, repeat nothing, and need no restart of ours",
    () =>
      scoped(
        Effect.gen(function* () {
          const server = yield* startRedis({ settings: { appendfsync: "always" } })
          const harm = Effect.gen(function* () {
            // Each script is for many records, and waits for the disk.
            for (let round = 0; round < 3; round++) {
              yield* scriptsRun(server, 150)
              yield* server.kill
              yield* server.start
            }
            yield* scriptsRun(server, 150)
          })
          const { acknowledged } = yield* underLoad(harm).pipe(over(server.url))
          expect(acknowledged).toBeGreaterThan(1000)
        })
      ),
    limit
  )

  test.each([
    // What the server counts: with pipelining, writes of several records in one script.
    { pipelining: true, done: "set" },
    { pipelining: false, done: "evalsha" }
  ])(
    "connections cut in the middle of writes: each is done once or not at all, as its failure says ($pipelining)",
    ({ done, pipelining }) =>
      scoped(
        Effect.gen(function* () {
          const server = yield* startRedis()
          const admin = yield* openAdmin(server.url)
          const harm = Effect.gen(function* () {
            for (let round = 1; round <= 15; round++) {
              yield* scriptsRun(server, round * (pipelining ? 50 : 200))
              yield* call(admin, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            }
          })
          const { attempts, acknowledged } = yield* underLoad(harm).pipe(over(server.url, { pipelining }))
          const counts = yield* commandCounts(admin)

          expect(acknowledged).toBeGreaterThan(1000)
          // The one by which the start found out what the server takes.
          expect(counts.eval ?? 0).toBe(pipelining ? 1 : 0)
          // Counted since the server's start: writers are under way before the test could reset its statistics.
          const replaces = (counts[done] ?? 0) - ids.length
          // No more than were asked for: nothing was sent a second time.
          expect(replaces).toBeLessThanOrEqual(attempts)
          expect(replaces).toBeGreaterThanOrEqual(acknowledged)
        })
      ),
    limit
  )

  test(
    "a server that hangs: writes are unknown, reads not done, none waits past the deadline, and it goes on afterwards",
    () =>
      overRedis(
        ({ server, store }) =>
          Effect.gen(function* () {
            yield* store.insert(recordOf("one"))
            yield* server.freeze
            const one = recordOf("one", { n: 1 })
            // At once, so that all of it goes out before the connection is given up.
            const failures = yield* Effect.all(
              {
                write: failureOf(store.replace(1, one)),
                removal: failureOf(store.remove(recordOf("two"))),
                read: failureOf(store.get(one)),
                list: failureOf(store.list({ ...one, after: undefined, limit: 10 })),
                look: failureOf(store.sweep(1000, 10)),
                insert: failureOf(store.insert(recordOf("three")))
              },
              { concurrency: "unbounded" }
            )
            yield* server.thaw
            const { insert, removal, write, ...others } = Record.map(failures, (failure) => failure?.outcome)
            expect([insert, removal, write]).toEqual(["unknown", "unknown", "unknown"])
            expect(others).toEqual({ read: "not_done", list: "not_done", look: "not_done" })

            yield* answersAgain
            const { version } = Option.getOrThrow(yield* store.get(recordOf("one")))
            expect([1, 2]).toContain(version)
            yield* store.replace(version, recordOf("one", { n: 2 }))
          }),
        { deadline: "200 millis" }
      ),
    limit
  )

  test("a write whose answer was lost is not sent again, and a read is", () =>
    scoped(
      Effect.gen(function* () {
        const server = yield* startRedis()
        const admin = yield* openAdmin(server.url)
        const way = yield* lossyWay(server.port)
        yield* Effect.gen(function* () {
          const store = yield* Storage
          yield* store.insert(recordOf("one"))
          yield* call(admin, "CONFIG", "RESETSTAT")
          way.loseNext()
          expect((yield* failureOf(store.replace(1, recordOf("one", { n: 1 }))))?.outcome).toBe("unknown")
          expect(Option.getOrThrow(yield* untilItAnswers(store.get(recordOf("one")))).version).toBe(2)
          expect((yield* commandCounts(admin)).evalsha).toBe(1)

          yield* call(admin, "CONFIG", "RESETSTAT")
          way.loseNext()
          expect(Option.getOrThrow(yield* store.get(recordOf("one"))).version).toBe(2)
          expect((yield* commandCounts(admin)).get).toBe(2)
        }).pipe(over(way.url))
      })
    ))

  test("what was given up is not sent again: neither where its script was not known, nor over another connection", () =>
    overRedis(
      ({ admin, server, store }) =>
        Effect.gen(function* () {
          const get = store.get(recordOf("one"))
          yield* store.insert(recordOf("one"))
          yield* call(admin, "SCRIPT", "FLUSH")
          yield* call(admin, "CONFIG", "RESETSTAT")
          yield* server.freeze
          const write = store.replace(1, recordOf("one", { n: 1 }))
          expect((yield* failureOf(write))?.outcome).toBe("unknown")
          yield* server.thaw
          // Twice, so that the second one is behind all that the refusal of the script has led to.
          for (let time = 0; time < 2; time++) yield* untilItAnswers(get)
          yield* server.freeze
          yield* Fiber.interrupt(yield* Effect.forkChild(write, { startImmediately: true }))
          yield* server.thaw
          for (let time = 0; time < 2; time++) yield* untilItAnswers(get)
          expect(Option.getOrThrow(yield* get).version).toBe(1)
          const { eval: whole = 0, evalsha } = yield* commandCounts(admin)
          expect({ whole, evalsha }).toEqual({ whole: 0, evalsha: 2 })

          yield* server.freeze
          expect((yield* failureOf(store.insert(recordOf("two"))))?.outcome).toBe("not_done")
          const connectionLost = Effect.match(get, {
            onSuccess: () => false,
            onFailure: ({ message }) => /Socket timeout/.test(message)
          }).pipe(Effect.provideService(Storage, store))
          expect(yield* pollUntil(connectionLost, limit)).toBe(true)
          yield* server.thaw
          for (let time = 0; time < 2; time++) yield* untilItAnswers(get)
          expect((yield* commandCounts(admin)).zadd).toBe(1)
        }),
      { deadline: "200 millis", pipelining: false }
    ))

  test("a server that is down: nothing is done", () =>
    overRedis(({ server, store }) =>
      Effect.gen(function* () {
        yield* store.insert(recordOf("one"))
        yield* server.kill
        // Until the end of the connection is noticed, a write is sent into it.
        yield* failureOf(store.get(recordOf("one")))
        const failures = yield* Effect.forEach(fifty, (n) => failureOf(store.replace(1, recordOf("one", { n }))), {
          concurrency: "unbounded"
        })
        expect(failures.map((failure) => failure?.outcome)).toEqual(fifty.map(() => "not_done"))
      })
    ))

  test(
    "a server that is still loading: what was given up meanwhile is not done, and never will be",
    () =>
      scoped(
        Effect.gen(function* () {
          // A tenth of a millisecond for each command that it loads: more than a second.
          const server = yield* startRedis({ settings: { "key-load-delay": "100", appendfsync: "no" } })
          const admin = yield* openAdmin(server.url)
          yield* call(admin, "EVAL", "for i = 1, 12000 do redis.call('SET', 'other' .. i, '') end", 0)
          yield* Effect.gen(function* () {
            const store = yield* Storage
            yield* server.kill
            const starting = yield* Effect.forkChild(server.start)
            const oursIsThere = Effect.promise(async () => {
              const isLoading = /loading:1/.test(await admin.info("persistence"))
              return isLoading && `${await admin.client("LIST")}`.trim().split("\n").length > 1
            })
            expect(yield* pollUntil(oursIsThere, limit)).toBe(true)

            // What inserts begin with is no script, which a server that has just started would not know any more.
            const failures = yield* Effect.forEach(fifty, (n) => failureOf(store.insert(recordOf(`late-${n}`))), {
              concurrency: "unbounded"
            })
            expect(failures.map((failure) => failure?.outcome)).toEqual(fifty.map(() => "not_done"))
            yield* Fiber.join(starting)
            yield* answersAgain
            expect(yield* call(admin, "EXISTS", ownerKey("tessera", recordOf("late-0")))).toBe(0)
          }).pipe(over(server.url, { deadline: "200 millis" }))
        })
      ),
    limit
  )

  test("an owner's list that cannot be written: nothing is inserted, so nothing is lost from sight", () =>
    overRedis(({ admin, store }) =>
      Effect.gen(function* () {
        yield* call(admin, "SET", ownerKey("tessera", recordOf("one")), "in the way")
        // By its code alone: the rest of what Redis says may repeat what it was sent.
        expect(yield* failureOf(store.insert(recordOf("one")))).toMatchObject({
          outcome: "not_done",
          message: "Redis: refused with WRONGTYPE"
        })
        expect(Option.isNone(yield* store.get(recordOf("one")))).toBe(true)
      })
    ))

  test("what is in the way of one record, or of a shard's index, stops none of those that travel with it", () =>
    overRedis(({ admin, store }) =>
      Effect.gen(function* () {
        const later = { expiresAt: 4e12 }
        yield* Effect.forEach(ids, (id) => store.insert(recordOf(id, {}, later)), { concurrency: "unbounded" })
        const places = ids.map((id) => placeOf("tessera", pathOf(recordOf(id))))
        // The first, so that nothing has been written yet when the script meets it.
        const [blocked, indexless] = [places[0], places[7]]
        if (blocked === undefined || indexless === undefined) throw new Error("too few records")
        yield* call(admin, "DEL", blocked.record, indexless.shard)
        yield* call(admin, "LPUSH", blocked.record, "in the way")
        yield* call(admin, "SET", indexless.shard, "in the way")

        // Sooner than before, so that the index has to change too.
        const sooner = { expiresAt: 3e12 }
        yield* call(admin, "CONFIG", "RESETSTAT")
        const outcomes = yield* Effect.forEach(
          ids,
          (id) =>
            Effect.match(store.replace(1, recordOf(id, { n: 1 }, sooner)), {
              onSuccess: () => "done",
              onFailure: (error) => (error._tag === "Conflict" ? "conflict" : error.outcome)
            }),
          { concurrency: "unbounded" }
        )
        expect((yield* commandCounts(admin)).evalsha).toBe(1)
        const isHit = (at: number) => places[at] === blocked || places[at]?.shard === indexless.shard
        expect(outcomes).toEqual(ids.map((_, at) => (isHit(at) ? "not_done" : "done")))
        const found = yield* Effect.forEach(ids, (id) => store.get(recordOf(id)), { concurrency: "unbounded" })
        const versions = found.map(Option.map(({ version }) => version)).map(Option.getOrUndefined)
        expect(versions).toEqual(places.map((place, at) => (place === blocked ? undefined : isHit(at) ? 1 : 2)))
      })
    ))

  test.each([true, false])("no more than the bound may wait; the rest is told at once (pipelining: %p)", (pipelining) =>
    overRedis(
      ({ server, store }) =>
        Effect.gen(function* () {
          yield* server.freeze
          const failures = yield* Effect.forEach(
            Array.from({ length: 30 }, (_, n) => n),
            (n) => failureOf(store.replace(1, recordOf("one", { n }))),
            { concurrency: "unbounded" }
          )
          yield* server.thaw
          expect(failures.filter((failure) => failure?.outcome === "unknown")).toHaveLength(20)
          expect(failures.filter((failure) => failure?.outcome === "not_done")).toHaveLength(10)
        }),
      { deadline: "300 millis", maximumWaiting: 20, pipelining }
    )
  )

  test("a command that was refused waits no more: it takes no other's place for long", () =>
    overRedis(
      ({ admin, store }) =>
        Effect.gen(function* () {
          yield* call(admin, "LPUSH", placeOf("tessera", pathOf(recordOf("one"))).record, "in the way")
          const failures = yield* Effect.forEach(fifty, () => failureOf(store.get(recordOf("one"))))
          const refused = new StorageUnavailable({ outcome: "not_done", message: "Redis: refused with WRONGTYPE" })
          expect(failures).toEqual(fifty.map(() => refused))
        }),
      { maximumWaiting: 20, pipelining: false }
    ))

  test("a replica refuses writes: not done, while reads go on", () =>
    overRedis(({ admin, store }) =>
      Effect.gen(function* () {
        yield* store.insert(recordOf("one"))
        yield* call(admin, "REPLICAOF", "127.0.0.1", 1)
        const write = yield* failureOf(store.replace(1, recordOf("one", { n: 1 })))
        expect(write).toEqual(new StorageUnavailable({ outcome: "not_done", message: "Redis: refused with READONLY" }))
        expect(Option.getOrThrow(yield* store.get(recordOf("one"))).version).toBe(1)

        yield* call(admin, "REPLICAOF", "NO", "ONE")
        yield* untilItAnswers(store.replace(1, recordOf("one", { n: 1 })))
        expect(Option.getOrThrow(yield* store.get(recordOf("one"))).version).toBe(2)
      })
    ))

  test.each<[string, string, ReadonlyArray<string | number>]>([
    ["NOREPLICAS", "CONFIG", ["SET", "min-replicas-to-write", 1]],
    ["OOM", "CONFIG", ["SET", "maxmemory", 1]],
    ["READONLY", "REPLICAOF", ["127.0.0.1", 1]]
  ])("a server that answers writes with %s is quoted, also where a record is to end sooner", (code, harm, args) =>
    overRedis(({ admin, store }) =>
      Effect.gen(function* () {
        yield* store.insert(recordOf("one", {}, { expiresAt: 4e12 }))
        yield* call(admin, harm, ...args)
        // Sooner than before, so that the index is written first.
        const sooner = yield* failureOf(store.replace(1, recordOf("one", {}, { expiresAt: 3e12 })))
        expect(sooner).toEqual(new StorageUnavailable({ outcome: "not_done", message: `Redis: refused with ${code}` }))
      })
    )
  )

  test("a master that became a replica, and refuses to end a record sooner, is asked over a new connection", () =>
    scoped(
      Effect.gen(function* () {
        const server = yield* startRedis()
        const admin = yield* openAdmin(server.url)
        const connectionsMade = Effect.promise(async () =>
          Number(/total_connections_received:(\d+)/.exec(await admin.info("stats"))?.[1])
        )
        yield* Effect.gen(function* () {
          const store = yield* Storage
          yield* store.insert(recordOf("one", {}, { expiresAt: 4e12 }))
          yield* call(admin, "REPLICAOF", "127.0.0.1", 1)
          const before = yield* connectionsMade
          yield* failureOf(store.replace(1, recordOf("one", {}, { expiresAt: 3e12 })))
          yield* untilItAnswers(store.get(recordOf("one")))
          expect(yield* connectionsMade).toBe(before + 1)
        }).pipe(over(server.url))
      })
    ))

  test("an index that may not be written refuses nothing that was written beside it", () =>
    overRedis(({ admin, store }) =>
      Effect.gen(function* () {
        const expiries = ids.map((_, at) => ({ expiresAt: at === 7 ? 3e12 : 4e12 }))
        yield* Effect.forEach(ids, (id) => store.insert(recordOf(id, {}, { expiresAt: 4e12 })), {
          concurrency: "unbounded"
        })
        yield* call(admin, "ACL", "SETUSER", "default", "-zadd")
        yield* call(admin, "CONFIG", "RESETSTAT")
        const outcomes = yield* Effect.forEach(
          ids,
          (id, at) =>
            Effect.match(store.replace(1, recordOf(id, { n: 1 }, expiries[at])), {
              onSuccess: () => "done",
              onFailure: (error) => (error._tag === "Conflict" ? "conflict" : error.outcome)
            }),
          { concurrency: "unbounded" }
        )
        expect((yield* commandCounts(admin)).evalsha).toBe(1)
        expect(outcomes).toEqual(ids.map((_, at) => (at === 7 ? "not_done" : "done")))
        const found = yield* Effect.forEach(ids, (id) => store.get(recordOf(id)), { concurrency: "unbounded" })
        const versions = found.map(Option.getOrThrow).map(({ version }) => version)
        expect(versions).toEqual(ids.map((_, at) => (at === 7 ? 1 : 2)))
      })
    ))

  test("a full server: writes are not done and leave nothing behind, while reads go on", () =>
    scoped(
      Effect.gen(function* () {
        const server = yield* startRedis({ settings: { maxmemory: "8mb" } })
        const admin = yield* openAdmin(server.url)
        yield* Effect.gen(function* () {
          const store = yield* Storage
          const pad = "x".repeat(100_000)
          let kept = 0
          const filling = Effect.suspend(() => store.insert(recordOf(`grant-${kept}`, { pad }))).pipe(
            Effect.tap(() => Effect.sync(() => (kept += 1))),
            Effect.forever
          )
          const refusal = yield* Effect.flip(filling)
          expect(refusal).toEqual(new StorageUnavailable({ outcome: "not_done", message: "Redis: refused with OOM" }))
          expect(kept).toBeGreaterThan(5)
          expect(Option.isSome(yield* store.get(recordOf("grant-0")))).toBe(true)
          expect(Option.isNone(yield* store.get(recordOf(`grant-${kept}`)))).toBe(true)

          yield* call(admin, "CONFIG", "SET", "maxmemory", 0)
          yield* store.insert(recordOf(`grant-${kept}`))
        }).pipe(over(server.url))
      })
    ))

  test("a full server is swept, also of what stands beside a record that lives on", () =>
    scoped(
      Effect.gen(function* () {
        const server = yield* startRedis()
        const admin = yield* openAdmin(server.url)
        yield* Effect.gen(function* () {
          const store = yield* Storage
          // As each refresh leaves a grant: due in the index, and prolonged since.
          const prolonged = ["a", "b", "c"].map((id) => recordOf(id, {}, { expiresAt: 1000 }))
          yield* Effect.forEach(prolonged, (record) => store.insert(record))
          yield* Effect.forEach(prolonged, (record) => store.replace(1, { ...record, expiresAt: 5000 }))
          yield* store.insert(recordOf("ends", {}, { expiresAt: 1000 }))
          yield* call(admin, "CONFIG", "SET", "maxmemory", 1)
          expect(yield* Effect.flip(store.insert(recordOf("d")))).toMatchObject({ outcome: "not_done" })
          expect(yield* store.sweep(2000, 100)).toBe(1)
          expect(yield* store.sweep(2000, 100)).toBe(0)
          expect(yield* store.sweep(5000, 100)).toBe(3)
        }).pipe(over(server.url))
      })
    ))

  test("at start it gives up with the reason, which names no password", async () => {
    const start = (url: string) =>
      Effect.runPromise(Effect.flip(Effect.void.pipe(over(url, { startWithin: 0, deadline: "300 millis" }))))

    const nobody = await start("redis://:hunter2@127.0.0.1:1")
    expect(nobody._tag).toBe("StorageUnavailable")
    expect(nobody.message).toMatch(/^Redis: no connection \(last trouble: .*ECONNREFUSED/)
    expect(JSON.stringify(nobody)).not.toContain("hunter2")
    expect((await start("redis+cluster://127.0.0.1:1,127.0.0.1:2"))._tag).toBe("StorageUnavailable")
    expect((await start("redis+sentinel://127.0.0.1:1/mymaster"))._tag).toBe("StorageUnavailable")
  })

  test("a database that it may not choose: nothing is kept in another", () =>
    scoped(
      Effect.gen(function* () {
        const server = yield* startRedis()
        const beyond = Effect.void.pipe(over(`${server.url}/16`, { startWithin: 0, deadline: "1 second" }))
        const refused = yield* Effect.flip(beyond)
        expect(refused._tag).toBe("StorageUnavailable")
        expect(refused.message).toContain("DB index is out of range")

        const admin = yield* openAdmin(server.url)
        const inDatabase0 = Effect.promise(() => admin.dbsize())
        yield* Effect.gen(function* () {
          const store = yield* Storage
          yield* store.insert(recordOf("before"))
          yield* call(admin, "ACL", "SETUSER", "default", "-select")
          yield* call(admin, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
          expect(yield* failureOf(store.insert(recordOf("meanwhile")))).toBeDefined()
          expect(yield* inDatabase0).toBe(0)

          yield* call(admin, "ACL", "SETUSER", "default", "+select")
          yield* answersAgain
          expect(Option.isSome(yield* store.get(recordOf("before")))).toBe(true)
        }).pipe(over(`${server.url}/15`, { deadline: "1 second" }))
        expect(yield* inDatabase0).toBe(0)
      })
    ))

  test("of a cluster it does not wait for replicas, which only one connection to each master could", async () => {
    const asked = over("redis+cluster://127.0.0.1:1", { startWithin: 0, waitForReplica: true })
    expect((await Effect.runPromise(Effect.flip(asked(Effect.void))))._tag).toBe("BadRedisUrl")
  })

  test("at start it waits for a server that comes late", () =>
    scoped(
      Effect.gen(function* () {
        const server = yield* startRedis()
        yield* server.kill
        const ready = yield* Deferred.make<void>()
        const waiting = yield* Effect.forkChild(
          answersAgain.pipe(
            over(server.url),
            Effect.tap(() => Deferred.succeed(ready, undefined))
          )
        )
        yield* server.start
        yield* Deferred.await(ready)
        yield* Fiber.join(waiting)
      })
    ))
})

describe("when a cluster fails", () => {
  test(
    "a node that is killed takes only answers with it, and all goes on when it is back",
    () =>
      scoped(
        Effect.gen(function* () {
          const cluster = yield* startRedisCluster({ settings: { appendfsync: "always" } })
          const [node] = cluster.nodes
          if (node === undefined) throw new Error("a cluster without nodes")
          const harm = Effect.gen(function* () {
            yield* scriptsRun(node, 300)
            yield* node.kill
            yield* node.start
            yield* scriptsRun(node, 300)
          })
          const { acknowledged } = yield* underLoad(harm).pipe(over(cluster.url))
          expect(acknowledged).toBeGreaterThan(600)
        })
      ),
    limit
  )

  test(
    "a write whose answer was lost is not sent again",
    () =>
      scoped(
        Effect.gen(function* () {
          const cluster = yield* startRedisCluster()
          const admins = yield* Effect.forEach(cluster.nodes, ({ url }) => openAdmin(url))
          const ways = yield* Effect.forEach(cluster.nodes, ({ port }) => lossyWay(port))
          const ports = ways.map(({ url }) => new URL(url).port)
          for (const [n, admin] of admins.entries()) {
            yield* call(admin, "CONFIG", "SET", "cluster-announce-bus-port", Number(admin.options.port) + 10_000)
            yield* call(admin, "CONFIG", "SET", "cluster-announce-port", ports[n] ?? "")
          }
          // Each node tells all the ways, and no node's own port.
          const told = Effect.map(
            Effect.forEach(admins, (admin) => call(admin, "CLUSTER", "SLOTS")),
            (answers) => answers.every((slots) => ports.every((port) => JSON.stringify(slots).includes(`,${port},`)))
          )
          expect(yield* pollUntil(told, limit)).toBe(true)
          yield* Effect.gen(function* () {
            const store = yield* Storage
            yield* store.insert(recordOf("one"))
            for (const admin of admins) yield* call(admin, "CONFIG", "RESETSTAT")
            for (const way of ways) way.loseNext()
            expect((yield* failureOf(store.replace(1, recordOf("one", { n: 1 }))))?.outcome).toBe("unknown")
            expect(Option.getOrThrow(yield* untilItAnswers(store.get(recordOf("one")))).version).toBe(2)
            const counts = yield* Effect.forEach(admins, commandCounts)
            expect(counts.reduce((sum, { evalsha = 0 }) => sum + evalsha, 0)).toBe(1)
          }).pipe(over(`redis+cluster://${ports.map((port) => `127.0.0.1:${port}`).join(",")}`))
        })
      ),
    limit
  )

  test(
    "what goes to a node that is down is not done, and the others go on",
    () =>
      scoped(
        Effect.gen(function* () {
          const cluster = yield* startRedisCluster({ settings: { "cluster-require-full-coverage": "no" } })
          const [node] = cluster.nodes
          if (node === undefined) throw new Error("a cluster without nodes")
          const admin = yield* openAdmin(node.url)
          yield* Effect.gen(function* () {
            const store = yield* Storage
            yield* Effect.forEach(ids, (id) => store.insert(recordOf(id)), { concurrency: "unbounded" })
            const keys = yield* Effect.map(call(admin, "KEYS", "*:acme/grant/*"), (found) =>
              Array.isArray(found) ? found.map(String) : []
            )
            const isThere = (id: string) => keys.includes(placeOf("tessera", pathOf(recordOf(id))).record)
            expect(ids.filter(isThere).length).toBeGreaterThan(3)
            yield* node.kill
            yield* Effect.forEach(ids.filter(isThere), (id) => failureOf(store.get(recordOf(id))))

            const write = (id: string) => store.replace(1, recordOf(id, { n: 1 }))
            yield* Effect.forEach(
              ids.filter((id) => !isThere(id)),
              write,
              { concurrency: "unbounded" }
            )
            const failures = yield* Effect.forEach(ids.filter(isThere), (id) => failureOf(write(id)), {
              concurrency: "unbounded"
            })
            expect(failures.map((failure) => failure?.outcome)).toEqual(failures.map(() => "not_done"))
          }).pipe(over(cluster.url))
        })
      ),
    limit
  )

  test(
    "slots that move to another node meanwhile lose nothing and fail no call",
    () =>
      scoped(
        Effect.gen(function* () {
          const cluster = yield* startRedisCluster()
          const admins = yield* Effect.forEach(cluster.nodes, ({ url }) => openAdmin(url))
          const [from, to] = admins
          if (from === undefined || to === undefined) throw new Error("a cluster without nodes")
          const [giver, taker] = [yield* call(from, "CLUSTER", "MYID"), yield* call(to, "CLUSTER", "MYID")]
          const slots = yield* Effect.forEach(ids, (id) =>
            Effect.map(call(from, "CLUSTER", "KEYSLOT", placeOf("tessera", pathOf(recordOf(id))).record), Number)
          )
          const keysIn = (slot: number) =>
            Effect.map(call(from, "CLUSTER", "GETKEYSINSLOT", slot, 1), (keys) =>
              Array.isArray(keys) ? keys.map(String) : []
            )

          let moved = 0
          const move = Effect.fnUntraced(function* (slot: number) {
            yield* call(to, "CLUSTER", "SETSLOT", slot, "IMPORTING", `${giver}`)
            yield* call(from, "CLUSTER", "SETSLOT", slot, "MIGRATING", `${taker}`)
            // One by one, so that a record is on one side and its index on the other for a while.
            for (let [key] = yield* keysIn(slot); key !== undefined; [key] = yield* keysIn(slot)) {
              yield* call(from, "MIGRATE", to.options.host ?? "", to.options.port ?? 0, key, 0, 5000)
              moved += 1
            }
            yield* Effect.forEach(admins, (admin) => call(admin, "CLUSTER", "SETSLOT", slot, "NODE", `${taker}`))
          })
          const [node] = cluster.nodes
          if (node === undefined) throw new Error("a cluster without nodes")
          const harm = Effect.gen(function* () {
            yield* scriptsRun(node, 200)
            for (const slot of new Set(slots)) if ((yield* keysIn(slot)).length > 0) yield* move(slot)
          })
          const { acknowledged, attempts } = yield* underLoad(harm).pipe(over(cluster.url))
          expect(moved).toBeGreaterThan(6)
          expect(acknowledged).toBe(attempts)
        })
      ),
    limit
  )
})

describe("two processes on one Redis", () => {
  test(
    "never both win a swap",
    () =>
      scoped(
        Effect.gen(function* () {
          const server = yield* startRedis()
          const counters = ["a", "b", "c"].map((id) => recordOf(id, 0))
          yield* Effect.gen(function* () {
            const store = yield* Storage
            yield* Effect.forEach(counters, (counter) => store.insert(counter))
            const rival = () => runProgram(process.execPath, [`${import.meta.dir}/redisRival.ts`, server.url, "60"])
            const ended = yield* Effect.all([rival(), rival()], { concurrency: "unbounded" })
            expect(ended.map(({ stderr, status }) => `${status} ${stderr}`)).toEqual(["0 ", "0 "])

            const found = yield* Effect.forEach(counters, (counter) => store.get(counter))
            expect(found.map(Option.getOrThrow).map(({ body, version }) => [body, version])).toEqual([
              [120, 121],
              [120, 121],
              [120, 121]
            ])
          }).pipe(Effect.provide(layer({ url: server.url })))
        })
      ),
    limit
  )
})
