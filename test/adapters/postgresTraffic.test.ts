import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import { Effect, Option, type Scope } from "effect"
import { statementsOf } from "../../adapters/postgres/statements.ts"
import { postgresUrl } from "../harness/given.ts"
import { runProgram } from "../harness/runProgram.ts"
import { freshDatabase } from "./postgres/freshDatabase.ts"
import { key, meddler, openStore, record } from "./postgres/withStore.ts"

const within = (body: Effect.Effect<void, unknown, Scope.Scope>) => () => Effect.runPromise(Effect.scoped(body))

const ownDatabase = Effect.map(
  Effect.acquireRelease(freshDatabase(postgresUrl()), ({ drop }) => drop),
  ({ url }) => url
)
const ids = Array.from({ length: 10 }, (_, i) => `id-${i}`)

describe("what the server itself counts", () => {
  test(
    "each verb is one statement, and calls that meet are one together",
    within(
      Effect.gen(function* () {
        const url = yield* ownDatabase
        const store = yield* openStore(url)
        const server = yield* meddler(url)
        yield* server.say("CREATE EXTENSION pg_stat_statements")
        const counted = (work: Effect.Effect<unknown, unknown>) =>
          Effect.gen(function* () {
            yield* server.say(
              "SELECT pg_stat_statements_reset(0, oid, 0) FROM pg_database WHERE datname = current_database()"
            )
            yield* work
            const rows = yield* server.say(
              `SELECT s.calls::int, s.rows::int, split_part(s.query, ' ', 1) AS verb FROM pg_stat_statements s
               JOIN pg_database d ON d.oid = s.dbid AND d.datname = current_database()
               WHERE s.query NOT LIKE '%pg_stat_statements%' ORDER BY verb`
            )
            return rows.map(({ calls, rows, verb }) => `${calls} ${verb} of ${rows}`)
          })
        const atOnce = { concurrency: "unbounded", discard: true } as const
        const oneByOne = { discard: true } as const
        /** So that what follows meets connections that are open. */
        yield* Effect.forEach(ids, (id) => store.get(key(id)), atOnce)

        expect(yield* counted(Effect.forEach(ids, (id) => store.insert(record(id)), oneByOne))).toEqual([
          "10 INSERT of 10"
        ])
        expect(yield* counted(Effect.forEach(ids, (id) => store.get(key(id)), oneByOne))).toEqual(["10 SELECT of 10"])
        expect(yield* counted(Effect.forEach(ids, (id) => store.replace(1, record(id)), oneByOne))).toEqual([
          "10 UPDATE of 10"
        ])
        expect(yield* counted(Effect.forEach(ids, (id) => store.get(key(id)), atOnce))).toEqual(["1 SELECT of 10"])
        expect(yield* counted(Effect.forEach(ids, () => store.get(key("id-0")), atOnce))).toEqual(["1 SELECT of 1"])
        expect(yield* counted(Effect.forEach(ids, (id) => store.replace(2, record(id)), atOnce))).toEqual([
          "1 UPDATE of 10"
        ])
        expect(yield* counted(Effect.forEach(ids, (id) => store.insert(record(`new-${id}`)), atOnce))).toEqual([
          "1 INSERT of 10"
        ])
        expect(yield* counted(store.list({ ...key(""), owner: "o", after: undefined, limit: 5 }))).toEqual([
          "1 SELECT of 6"
        ])
        expect(yield* counted(store.remove(key("id-0")))).toEqual(["1 DELETE of 1"])
      })
    )
  )

  test(
    "a plan that was made for an empty table still goes by the key when the table has grown",
    within(
      Effect.gen(function* () {
        const url = yield* ownDatabase
        const store = yield* openStore(url, { poolSize: 1 })
        const server = yield* meddler(url)
        yield* server.say("ALTER TABLE tessera.grants SET (autovacuum_enabled = off)")
        yield* store.insert(record("first"))
        yield* server.say("VACUUM ANALYZE tessera.grants")
        const touch = Effect.gen(function* () {
          for (let i = 0; i < 8; i++) yield* store.get(key("first"))
          yield* Effect.forEach(ids, (id) => store.get(key(id)), { concurrency: "unbounded" })
          yield* Effect.forEach(ids, (id) => Effect.result(store.replace(9, record(id))), { concurrency: "unbounded" })
        })
        yield* touch
        yield* server.say(`INSERT INTO tessera.grants (workspace, id, owner, version, body)
          SELECT 'w', 'grown-' || i, 'o', 1, '{}' FROM generate_series(1, 5000) i`)
        const scans = Effect.map(
          server.say(
            "SELECT seq_scan::int AS n FROM pg_stat_all_tables WHERE relname = 'grants' AND schemaname = 'tessera'"
          ),
          ([row]) => row?.n
        )
        // Statistics of a connection are written when it ends, so each look is made by a store that has gone.
        const before = yield* scans
        yield* touch
        yield* Effect.scoped(
          Effect.gen(function* () {
            const other = yield* openStore(url)
            yield* Effect.forEach(ids, (id) => other.get(key(id)), { concurrency: "unbounded" })
          })
        )
        yield* server.say("SELECT pg_stat_clear_snapshot()")
        expect(yield* scans).toBe(before)
      })
    )
  )
})

test(
  "a copy reads no row before the page that it is at",
  within(
    Effect.gen(function* () {
      const url = yield* ownDatabase
      yield* openStore(url)
      const server = yield* meddler(url)
      yield* server.say(`INSERT INTO tessera.grants (workspace, id, owner, version, body)
        SELECT 'w', i::text, 'o', 1, '{}' FROM generate_series(1000, 4999) i`)
      yield* server.say("ANALYZE tessera.grants")
      // As in a session of the store.
      yield* server.say("SET enable_seqscan = off")
      yield* server.say("SET plan_cache_mode = force_generic_plan")
      yield* server.say(`PREPARE page AS ${statementsOf("tessera", "grant", false).scan}`)
      const plan = yield* server.say("EXPLAIN (ANALYZE) EXECUTE page('w', '4900', 50)")
      expect(JSON.stringify(plan)).toContain("Index Cond")
      expect(JSON.stringify(plan)).not.toContain("Removed by Filter")
      const page = yield* server.say("EXECUTE page('w', '4996', 50)")
      expect(page.map(({ id }) => id)).toEqual(["4997", "4998", "4999"])
    })
  )
)

describe("several processes on one database", () => {
  test.each(["alone", "adding"])("no swap is lost or won twice, and there is no deadlock (%s)", (adding) =>
    within(
      Effect.gen(function* () {
        const url = yield* ownDatabase
        const store = yield* openStore(url)
        yield* Effect.forEach(ids, (id) => store.insert(record(id, { count: 0 })), { concurrency: "unbounded" })
        const server = yield* meddler(url)
        // Rows that take their time, and a server that looks for circles soon: unsorted, these batches would deadlock.
        yield* server.say(
          "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.003); RETURN NEW; END $$"
        )
        yield* server.say("CREATE TRIGGER slow BEFORE UPDATE ON tessera.grants FOR EACH ROW EXECUTE FUNCTION slow()")
        const [row] = yield* server.say("SELECT current_database() AS name")
        yield* server.say(`ALTER DATABASE ${row?.name} SET deadlock_timeout = '50ms'`)
        const rival = join(import.meta.dir, "postgres/rival.ts")
        const rivals = yield* Effect.all(
          ["one", "two"].map((name) => runProgram(process.execPath, [rival, url, name, adding, "40", ...ids])),
          { concurrency: "unbounded" }
        )
        expect(rivals.map(({ status, stderr }) => ({ status, stderr }))).toEqual([
          { status: 0, stderr: "" },
          { status: 0, stderr: "" }
        ])
        const wins = rivals.map(({ stdout }): number => JSON.parse(stdout).won)
        const found = yield* Effect.forEach(ids, (id) => Effect.map(store.get(key(id)), Option.getOrThrow))
        const total = found.reduce((sum, { version }) => sum + version - 1, 0)
        expect(wins.reduce((sum, won) => sum + won, 0)).toBe(total)
        expect(found.map(({ body }) => body)).toEqual(found.map(({ version }) => ({ count: version - 1 })))
        // Both were there and met, or this has shown nothing.
        for (const { stdout } of rivals) expect(JSON.parse(stdout).lost).toBeGreaterThan(0)
        expect(
          yield* server.say("SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()")
        ).toEqual([{ deadlocks: 0 }])
      })
    )()
  )
})

describe("a grant that is read again", () => {
  test(
    "has the body of the last time, alone and in a batch, until it is another",
    within(
      Effect.gen(function* () {
        const store = yield* openStore(yield* ownDatabase)
        const read = (id: string) => Effect.map(store.get(key(id)), Option.getOrThrow)
        for (const id of ["a", "b"]) yield* store.insert(record(id, { n: 1 }))
        const first = yield* read("a")
        const [again] = yield* Effect.all([read("a"), read("b")], { concurrency: "unbounded" })
        expect(again.body).toBe(first.body)
        expect(again.body).toEqual({ n: 1 })
        yield* store.replace(1, record("a", { n: 2 }))
        expect((yield* read("a")).body).toEqual({ n: 2 })
      })
    )
  )
})
