import { describe, expect, test } from "bun:test"
import { createServer } from "node:net"
import { Deferred, Effect, Fiber, Option, Result, type Scope } from "effect"
import type { PostgresOptions } from "../../adapters/postgres/Postgres.ts"
import type { Conflict, Storage, StorageUnavailable } from "../../core/ports/Storage.ts"
import { postgresUrl } from "../harness/given.ts"
import { pollUntil } from "../harness/pollUntil.ts"
import { startPostgres } from "../harness/startPostgres.ts"
import { freshDatabase } from "./postgres/freshDatabase.ts"
import { silentAfter } from "./postgres/silentAfter.ts"
import { key, type Meddler, meddler, openStore, record } from "./postgres/withStore.ts"

type Store = Storage["Service"]

const within = (body: Effect.Effect<void, unknown, Scope.Scope>) => () => Effect.runPromise(Effect.scoped(body))

/** A store in a database of its own, and a connection that meddles with it. */
const meddledStore = (options: Partial<PostgresOptions> = {}) =>
  Effect.gen(function* () {
    const { url } = yield* Effect.acquireRelease(freshDatabase(postgresUrl()), ({ drop }) => drop)
    const store = yield* openStore(url, options)
    return { url, store, meddle: yield* meddler(url), other: yield* meddler(url) }
  })

const outcomeOf = (answer: Result.Result<unknown, Conflict | StorageUnavailable>): string =>
  Result.isSuccess(answer) ? "done" : answer.failure._tag === "Conflict" ? "conflict" : answer.failure.outcome

const attempt = <A>(effect: Effect.Effect<A, Conflict | StorageUnavailable>) =>
  Effect.map(Effect.result(effect), outcomeOf)
/** Each in a statement of its own. */
const removeAll = (store: Storage["Service"], ids: ReadonlyArray<string>) =>
  Effect.forEach(ids, (id) => attempt(store.remove(key(id))), { concurrency: "unbounded" })

const replaceAll = (store: Store, ids: ReadonlyArray<string>) =>
  Effect.forEach(ids, (id) => attempt(store.replace(1, record(id, { n: 2 }))), { concurrency: "unbounded" })
const versionOf = (store: Store, id: string) =>
  Effect.map(store.get(key(id)), (found) => Option.getOrThrow(found).version)
const insertAll = (store: Store, ids: ReadonlyArray<string>) =>
  Effect.forEach(ids, (id) => store.insert(record(id)), { concurrency: "unbounded", discard: true })

/** Until the meddler says `COMMIT`. */
const holdRow = (meddle: Meddler, id: string) =>
  Effect.andThen(meddle.say("BEGIN"), meddle.say(`SELECT FROM tessera.grants WHERE id = '${id}' FOR UPDATE`))

/** How many of the store's statements wait for another's lock. */
const waiting = (meddle: Meddler, count: number) =>
  pollUntil(
    Effect.map(
      meddle.say(
        "SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tessera' AND wait_event_type = 'Lock'"
      ),
      (rows) => rows[0]?.n === count
    ),
    20_000
  )
/** Ends every connection of the store, and lets the news of it arrive. */
const cutAll = Effect.fnUntraced(function* (meddle: Meddler) {
  yield* meddle.say(terminateAll)
  let quiet = 0
  const ended = Effect.map(meddle.say(connections), ([row]) => {
    quiet = row?.n === 0 ? quiet + 1 : 0
    return quiet > 2
  })
  expect(yield* pollUntil(ended, 20_000)).toBe(true)
})
const connections =
  "SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tessera'"
const terminateAll =
  "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tessera'"

const ids = ["a", "b", "c", "d", "e"]

describe("a store whose server fails", () => {
  test(
    "loses nothing acknowledged and reports no outcome wrongly while the server is killed with -9 in mid-load",
    within(
      Effect.gen(function* () {
        const server = yield* startPostgres()
        const store = yield* openStore(server.url)
        const writers = Array.from({ length: 24 }, (_, i) => `writer-${i}`)
        yield* insertAll(store, writers)
        const seen = { done: 0, unknown: 0, not_done: 0, conflict: 0 }
        let stop = false
        const goOn = (more: number) =>
          Effect.flatMap(
            Effect.sync(() => seen.done + more),
            (goal) =>
              pollUntil(
                Effect.sync(() => seen.done >= goal),
                40_000
              )
          )
        /** The truth, however long the server takes to come back. */
        const settled = (id: string): Effect.Effect<number> =>
          store.get(key(id)).pipe(
            Effect.map((found) => Option.getOrThrow(found).version),
            Effect.catch(() => Effect.andThen(Effect.sleep(20), settled(id)))
          )
        const write = (id: string) =>
          Effect.gen(function* () {
            let version = 1
            while (!stop) {
              const outcome = yield* attempt(store.replace(version, record(id, { written: version })))
              if (outcome === "done") {
                version++
                seen.done++
                continue
              }
              const now = yield* settled(id)
              if (outcome === "unknown") {
                seen.unknown++
                expect([version, version + 1]).toContain(now)
              } else {
                // No other process writes here, so a conflict would be a lie too.
                expect([outcome, now]).toEqual(["not_done", version])
                seen.not_done++
              }
              version = now
            }
            return [id, version] as const
          })

        /** Never looks whether the server is there. */
        const insert = (writer: string) =>
          Effect.gen(function* () {
            const said = new Map<string, string>()
            for (let n = 0; !stop; n++) {
              const id = `${writer}-${n}`
              const outcome = yield* attempt(store.insert(record(id)))
              said.set(id, outcome)
              if (outcome !== "done") yield* Effect.sleep(20)
            }
            return said
          })

        const load = yield* Effect.forkChild(Effect.forEach(writers, write, { concurrency: "unbounded" }))
        const inserts = yield* Effect.forkChild(Effect.forEach(["x", "y", "z"], insert, { concurrency: "unbounded" }))
        for (let round = 0; round < 3; round++) {
          expect(yield* goOn(200)).toBe(true)
          yield* server.kill
          yield* server.start
        }
        expect(yield* goOn(200)).toBe(true)
        stop = true
        for (const [id, version] of yield* Fiber.join(load)) expect(yield* versionOf(store, id)).toBe(version)
        const outcomes = new Map((yield* Fiber.join(inserts)).flatMap((said) => [...said]))
        for (const [id, outcome] of outcomes) {
          const there = Option.isSome(yield* store.get(key(id)))
          if (outcome !== "unknown") expect([id, outcome, there]).toEqual([id, there ? "done" : "not_done", there])
        }
        // Without any of these, this has shown nothing.
        expect(seen.unknown).toBeGreaterThan(0)
        expect([...outcomes.values()]).toContain("done")
        expect([...outcomes.values()]).toContain("not_done")
      })
    )
  )

  test(
    "answers by its deadline while the server is frozen, says what is not known, and goes on afterwards",
    within(
      Effect.gen(function* () {
        const server = yield* startPostgres()
        const store = yield* openStore(server.url, { deadline: "500 millis" })
        yield* insertAll(store, ids)
        yield* server.freeze
        expect(yield* replaceAll(store, ids)).toEqual(ids.map(() => "unknown"))
        expect(yield* attempt(store.get(key("a")))).toBe("not_done")
        // By now every connection was given up, and a new one cannot be made: this write cannot have left.
        expect(yield* attempt(store.replace(1, record("a")))).toBe("not_done")
        yield* server.thaw
        expect(
          yield* pollUntil(
            Effect.map(attempt(store.get(key("a"))), (outcome) => outcome === "done"),
            20_000
          )
        ).toBe(true)
      })
    )
  )

  test(
    "says that a write is unknown when its connection is cut in mid-transaction, and that a read was not done",
    within(
      Effect.gen(function* () {
        const { meddle, other, store } = yield* meddledStore()
        yield* insertAll(store, ids)
        yield* holdRow(meddle, "c")
        const writes = yield* Effect.forkChild(replaceAll(store, ids))
        expect(yield* waiting(other, 1)).toBe(true)
        yield* other.say(terminateAll)
        expect(yield* Fiber.join(writes)).toEqual(ids.map(() => "unknown"))
        yield* meddle.say("COMMIT")

        yield* meddle.say("BEGIN")
        yield* meddle.say("LOCK TABLE tessera.grants")
        const read = yield* Effect.forkChild(attempt(store.get(key("a"))))
        expect(yield* waiting(other, 1)).toBe(true)
        yield* other.say(terminateAll)
        expect(yield* Fiber.join(read)).toBe("not_done")
        yield* meddle.say("COMMIT")

        expect(yield* Effect.forEach(ids, (id) => versionOf(store, id))).toEqual(ids.map(() => 1))
        expect(yield* replaceAll(store, ids)).toEqual(ids.map(() => "done"))
      })
    )
  )

  test(
    "serves those who wait for a connection over another one, when theirs is cut",
    within(
      Effect.gen(function* () {
        const { meddle, other, store } = yield* meddledStore({ poolSize: 1 })
        yield* insertAll(store, ids)
        yield* holdRow(meddle, "a")
        const writes = yield* Effect.forkChild(removeAll(store, ids))
        expect(yield* waiting(other, 1)).toBe(true)
        yield* other.say(terminateAll)
        expect(yield* Fiber.join(writes)).toEqual(["unknown", "done", "done", "done", "done"])
        yield* meddle.say("COMMIT")
      })
    )
  )

  test(
    "does not notice that idle connections were cut",
    within(
      Effect.gen(function* () {
        const { meddle, store } = yield* meddledStore({ poolSize: 3 })
        yield* insertAll(store, ids)
        for (const id of ids) {
          yield* cutAll(meddle)
          expect(yield* attempt(store.replace(1, record(id)))).toBe("done")
        }
      })
    )
  )

  test(
    "reports a server that only reads as not done, and writes again, without a restart, when it may",
    within(
      Effect.gen(function* () {
        const { meddle, store } = yield* meddledStore()
        yield* insertAll(store, ids)
        const [row] = yield* meddle.say("SELECT current_database() AS name")
        yield* meddle.say(`ALTER DATABASE ${row?.name} SET default_transaction_read_only = on`)
        yield* cutAll(meddle)
        expect(yield* attempt(store.insert(record("new")))).toBe("not_done")
        expect(yield* replaceAll(store, ids)).toEqual(ids.map(() => "not_done"))
        expect(yield* attempt(store.remove(key("a")))).toBe("not_done")
        expect(yield* versionOf(store, "a")).toBe(1)
        yield* meddle.say("SET default_transaction_read_only = off")
        yield* meddle.say(`ALTER DATABASE ${row?.name} RESET default_transaction_read_only`)
        // Connections that have only read may be read-only still; each is replaced when it is found out.
        expect(
          yield* pollUntil(
            Effect.map(attempt(store.insert(record("new"))), (outcome) => outcome === "done"),
            20_000
          )
        ).toBe(true)
        expect(yield* replaceAll(store, ids)).toEqual(ids.map(() => "done"))
      })
    )
  )

  test(
    "reports a full server as not done, and goes on when there is room",
    within(
      Effect.gen(function* () {
        const server = yield* startPostgres({ settings: { max_connections: "6", superuser_reserved_connections: "0" } })
        const store = yield* openStore(server.url, { idleTimeout: "100 millis" })
        yield* insertAll(store, ids)
        const left = yield* meddler(server.url)
        expect(
          yield* pollUntil(
            Effect.map(
              left.say("SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'tessera'"),
              (rows) => rows[0]?.n === 0
            ),
            20_000
          )
        ).toBe(true)
        yield* Effect.scoped(
          Effect.gen(function* () {
            for (let i = 0; i < 5; i++) yield* Effect.flatMap(meddler(server.url), ({ say }) => say("SELECT 1"))
            expect(yield* attempt(store.replace(1, record("a")))).toBe("not_done")
            expect(yield* replaceAll(store, ids)).toEqual(ids.map(() => "not_done"))
          })
        )
        expect(
          yield* pollUntil(
            Effect.map(attempt(store.replace(1, record("a"))), (outcome) => outcome === "done"),
            20_000
          )
        ).toBe(true)
      })
    )
  )
})

describe("a store whose pool or server is slow", () => {
  test(
    "tells who got no connection in time that nothing was done, and who got one that it is not known",
    within(
      Effect.gen(function* () {
        const { meddle, other, store } = yield* meddledStore({
          poolSize: 2,
          deadline: "700 millis",
          statementTimeout: "3 seconds"
        })
        yield* insertAll(store, ids)
        yield* meddle.say("BEGIN")
        yield* meddle.say("LOCK TABLE tessera.grants")
        const writes = yield* Effect.forkChild(removeAll(store, ids))
        expect(yield* waiting(other, 2)).toBe(true)
        expect((yield* Fiber.join(writes)).sort()).toEqual(["not_done", "not_done", "not_done", "unknown", "unknown"])
        yield* meddle.say("COMMIT")
        expect(yield* attempt(store.get(key("a")))).toBe("done")
      })
    )
  )

  test(
    "lets one locked row delay the others of its batch, and fail none of them",
    within(
      Effect.gen(function* () {
        const { meddle, store } = yield* meddledStore({ statementTimeout: "600 millis" })
        yield* insertAll(store, ids)
        yield* holdRow(meddle, "c")
        expect(yield* replaceAll(store, ids)).toEqual(["done", "done", "not_done", "done", "done"])
        yield* meddle.say("COMMIT")
        expect(yield* Effect.forEach(ids, (id) => versionOf(store, id))).toEqual([2, 2, 1, 2, 2])
      })
    )
  )

  test(
    "lets one row that the database cannot hold fail none of the others of its batch",
    within(
      Effect.gen(function* () {
        const { store } = yield* meddledStore()
        const incompressible = Array.from({ length: 3000 }, (_, i) =>
          String.fromCharCode(0x4e00 + ((i * i * 7919) % 20000))
        ).join("")
        const outcomes = yield* Effect.forEach(["a", incompressible, "c"], (id) => attempt(store.insert(record(id))), {
          concurrency: "unbounded"
        })
        expect(outcomes).toEqual(["done", "not_done", "done"])
        const late = { ...record("a"), expiresAt: 1e300 }
        expect(
          yield* Effect.all([attempt(store.replace(1, late)), attempt(store.replace(1, record("c")))], {
            concurrency: "unbounded"
          })
        ).toEqual(["not_done", "done"])
      })
    )
  )

  test(
    "sweeps no record that was given more time while the sweep was under way",
    within(
      Effect.gen(function* () {
        const { meddle, other, store } = yield* meddledStore()
        yield* Effect.forEach(ids, (id) => store.insert({ ...record(id), expiresAt: 1000 }), {
          concurrency: "unbounded"
        })
        yield* meddle.say("BEGIN")
        yield* meddle.say("UPDATE tessera.grants SET version = version + 1, expires = 5000 WHERE id = 'c'")
        const sweep = yield* Effect.forkChild(store.sweep(1000, 100))
        expect(yield* waiting(other, 1)).toBe(true)
        yield* meddle.say("COMMIT")
        expect(yield* Fiber.join(sweep)).toBe(4)
        expect(yield* versionOf(store, "c")).toBe(2)
      })
    )
  )

  test(
    "retires a connection that has grown old, and serves who waits over another",
    within(
      Effect.gen(function* () {
        const { meddle, store } = yield* meddledStore({ poolSize: 1, connectionLifetime: "1 millis" })
        yield* insertAll(store, ids)
        expect(yield* removeAll(store, ids)).toEqual(ids.map(() => "done"))
        const noneLeft = Effect.map(meddle.say(connections), ([row]) => row?.n === 0)
        expect(yield* pollUntil(noneLeft, 20_000)).toBe(true)
      })
    )
  )

  test(
    "reports a statement that the server gave up as not done",
    within(
      Effect.gen(function* () {
        const { meddle, store } = yield* meddledStore({ statementTimeout: "300 millis" })
        yield* insertAll(store, ids)
        yield* meddle.say(slowUpdates(30))
        yield* meddle.say("CREATE TRIGGER slow BEFORE UPDATE ON tessera.grants FOR EACH ROW EXECUTE FUNCTION slow()")
        expect(yield* attempt(store.replace(1, record("a")))).toBe("not_done")
        expect(yield* versionOf(store, "a")).toBe(1)
      })
    )
  )

  test(
    "reports a write whose time was over as unknown, for it may happen yet",
    within(
      Effect.gen(function* () {
        const { meddle, store } = yield* meddledStore({ deadline: "300 millis", statementTimeout: "3 seconds" })
        yield* insertAll(store, ids)
        yield* meddle.say(slowUpdates(1))
        yield* meddle.say("CREATE TRIGGER slow BEFORE UPDATE ON tessera.grants FOR EACH ROW EXECUTE FUNCTION slow()")
        expect(yield* attempt(store.replace(1, record("a")))).toBe("unknown")
        expect(
          yield* pollUntil(
            Effect.map(Effect.orDie(versionOf(store, "a")), (version) => version === 2),
            20_000
          )
        ).toBe(true)
      })
    )
  )

  test(
    "repeats what the server rolled back because of a race, so that of two swaps one wins under any isolation",
    within(
      Effect.gen(function* () {
        const { meddle, other, store } = yield* meddledStore()
        const [row] = yield* meddle.say("SELECT current_database() AS name")
        yield* insertAll(store, ids)
        yield* meddle.say(`ALTER DATABASE ${row?.name} SET default_transaction_isolation = 'serializable'`)
        yield* cutAll(meddle)
        yield* meddle.say("BEGIN")
        yield* meddle.say("UPDATE tessera.grants SET version = version + 1 WHERE id = 'c'")
        const writes = yield* Effect.forkChild(replaceAll(store, ids))
        expect(yield* waiting(other, 1)).toBe(true)
        yield* meddle.say("COMMIT")
        expect(yield* Fiber.join(writes)).toEqual(["done", "done", "conflict", "done", "done"])
      })
    )
  )

  test(
    "a call that is interrupted during its write disturbs no other",
    within(
      Effect.gen(function* () {
        const { meddle, other, store } = yield* meddledStore({ poolSize: 1 })
        yield* insertAll(store, ids)
        yield* holdRow(meddle, "a")
        const write = yield* Effect.forkChild(store.remove(key("a")))
        expect(yield* waiting(other, 1)).toBe(true)
        yield* Fiber.interrupt(write)
        expect(yield* attempt(store.remove(key("b")))).toBe("done")
        yield* meddle.say("COMMIT")
      })
    )
  )
})

const slowUpdates = (seconds: number) =>
  `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(${seconds}); RETURN NEW; END $$`

/** A server that hangs up on all connections, and counts them. */
const shutDoor = Effect.gen(function* () {
  let knocks = 0
  const server = createServer((socket) => {
    knocks++
    socket.destroy()
  })
  yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
  yield* Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void)))
  const address = server.address()
  const port = typeof address === "object" ? address?.port : undefined
  return { url: `postgres://tessera@127.0.0.1:${port}/tessera?sslmode=disable`, knocks: () => knocks }
})

describe("starting", () => {
  test(
    "waits for a server that is not up yet",
    within(
      Effect.gen(function* () {
        const server = yield* startPostgres()
        yield* server.kill
        const opened = yield* Deferred.make<void>()
        const start = yield* Effect.forkChild(
          Effect.tap(openStore(server.url), () => Deferred.succeed(opened, undefined))
        )
        yield* server.start
        const store = yield* Fiber.join(start)
        expect(yield* attempt(store.insert(record("a")))).toBe("done")
      })
    )
  )

  test(
    "gives up after a while, with a reason and without the password",
    within(
      Effect.gen(function* () {
        const server = yield* startPostgres()
        yield* server.kill
        const refusal = yield* Effect.flip(openStore(server.url, { startWithin: "400 millis" }))
        expect(refusal._tag).toBe("PostgresUnreachable")
        expect(refusal.message).toContain("ECONNREFUSED")
        expect(JSON.stringify(refusal)).not.toContain(new URL(server.url).password)
      })
    )
  )

  test(
    "tries once where it may not wait at all",
    within(
      Effect.gen(function* () {
        const { url } = yield* Effect.acquireRelease(freshDatabase(postgresUrl()), ({ drop }) => drop)
        const store = yield* openStore(url, { startWithin: 0 })
        expect(yield* attempt(store.insert(record("a")))).toBe("done")

        const door = yield* shutDoor
        const refusal = yield* Effect.flip(openStore(door.url, { startWithin: 0 }))
        expect(refusal._tag).toBe("PostgresUnreachable")
        expect(door.knocks()).toBe(1)
      })
    )
  )

  test.each([
    ["what it is asked first", "server_encoding"],
    ["what has been migrated", 'FROM "tessera".migrations'],
    ["whether there is a schema", "pg_namespace"],
    ["for a transaction", "BEGIN"]
  ])("gives up on a server that falls silent when it is asked %s", (_, word) =>
    within(
      Effect.gen(function* () {
        const { url } = yield* Effect.acquireRelease(freshDatabase(postgresUrl()), ({ drop }) => drop)
        const way = yield* silentAfter(word, url)
        const refusal = yield* Effect.flip(openStore(way, { startWithin: 0, connectTimeout: "1 second" }))
        expect(refusal).toMatchObject({ _tag: "PostgresUnreachable", message: "it does not answer in time" })
      })
    )()
  )

  test(
    "does not wait where waiting cannot help",
    within(
      Effect.gen(function* () {
        const wrongPassword = new URL(postgresUrl())
        wrongPassword.password = "not the password"
        const noDatabase = new URL(postgresUrl())
        noDatabase.pathname = "/nowhere"
        const refusals = yield* Effect.forEach([wrongPassword, noDatabase], ({ href }) =>
          Effect.flip(openStore(href, { startWithin: "1 hour" }))
        )
        expect(refusals.map(({ _tag, message }) => `${_tag} ${message.slice(0, 26)}`)).toEqual([
          "PostgresUnreachable PostgreSQL answered 28P01:",
          "PostgresUnreachable PostgreSQL answered 3D000:"
        ])
        expect(JSON.stringify(refusals)).not.toContain("not the password")
      })
    )
  )

  test(
    "refuses a database that cannot hold every character",
    within(
      Effect.gen(function* () {
        const server = yield* meddler(postgresUrl())
        const name = `latin_${new URL((yield* freshName).url).pathname.slice(1)}`
        yield* Effect.acquireRelease(
          server.say(`CREATE DATABASE ${name} ENCODING 'LATIN1' LOCALE 'C' LOCALE_PROVIDER libc TEMPLATE template0`),
          () => server.say(`DROP DATABASE ${name} WITH (FORCE)`)
        )
        const url = new URL(postgresUrl())
        url.pathname = `/${name}`
        expect((yield* Effect.flip(openStore(url.href))).message).toContain("LATIN1")
      })
    )
  )
})

const freshName = Effect.acquireRelease(freshDatabase(postgresUrl()), ({ drop }) => drop)
