import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import { Effect, Fiber, Option, Redacted } from "effect"
import { migrate as migrateTo, plan as planTo } from "../../adapters/postgres/migrate.ts"
import { type Migration, migrations } from "../../adapters/postgres/migrations.ts"
import { migrate, type PostgresOptions, plan } from "../../adapters/postgres/Postgres.ts"
import { recordKinds } from "../../core/ports/Storage.ts"
import { postgresUrl } from "../harness/given.ts"
import { pollUntil } from "../harness/pollUntil.ts"
import { runProgram } from "../harness/runProgram.ts"
import { freshDatabase, tell } from "./postgres/freshDatabase.ts"
import { key, meddler, openStore, record } from "./postgres/withStore.ts"

const optionsFor = (url: string): PostgresOptions => ({ url: Redacted.make(url) })

const onFreshDatabase = (body: (url: string) => Effect.Effect<void, unknown>) => () =>
  Effect.runPromise(
    Effect.acquireUseRelease(
      freshDatabase(postgresUrl()),
      ({ url }) => body(url),
      ({ drop }) => drop
    )
  )

const tables = (url: string) =>
  Effect.map(
    tell(url, "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'tessera' ORDER BY 1"),
    (rows) => rows.map(({ name }) => name)
  )

/** What a later release may bring: it only adds, and this release need not know. */
const addition: Migration = {
  number: 1000,
  name: "a label on grants",
  readableFrom: 1,
  statements: (schema) => [
    `ALTER TABLE "${schema}".grants ADD COLUMN IF NOT EXISTS label text`,
    `CREATE INDEX IF NOT EXISTS grants_by_label ON "${schema}".grants (workspace, label)`
  ]
}

describe("migrations", () => {
  test(
    "run once, and say what they did",
    onFreshDatabase((url) =>
      Effect.gen(function* () {
        const names = migrations.map(({ name }) => name)
        expect(yield* migrate(optionsFor(url))).toEqual(names)
        expect(yield* migrate(optionsFor(url))).toEqual([])
        expect(yield* tables(url)).toEqual(
          [...Object.values(recordKinds).map(({ table }) => table), "migration_lock", "migrations"].sort()
        )
      })
    )
  )

  test(
    "of four processes that start at once, each finds them done, and they were run once",
    onFreshDatabase((url) =>
      Effect.gen(function* () {
        const worker = join(import.meta.dir, "postgres/migrator.ts")
        const all = yield* Effect.all(
          Array.from({ length: 4 }, () => runProgram(process.execPath, [worker, url])),
          { concurrency: "unbounded" }
        )
        expect(all.map(({ status, stderr }) => ({ status, stderr }))).toEqual(
          Array.from({ length: 4 }, () => ({ status: 0, stderr: "" }))
        )
        expect(all.flatMap(({ stdout }) => JSON.parse(stdout))).toEqual(migrations.map(({ name }) => name))
        expect(yield* tell(url, "SELECT number FROM tessera.migrations ORDER BY 1")).toEqual(
          migrations.map(({ number }) => ({ number }))
        )
      })
    )
  )

  test(
    "a dry run changes nothing, and what it prints does the same by hand",
    onFreshDatabase((url) =>
      Effect.gen(function* () {
        const planned = yield* plan(optionsFor(url))
        expect(yield* tables(url)).toEqual([])
        expect(planned.pending).toEqual(migrations.map(({ name }) => name))

        yield* tell(url, planned.sql)
        expect(yield* plan(optionsFor(url))).toEqual({ pending: [], sql: "" })
        yield* Effect.scoped(
          Effect.gen(function* () {
            const store = yield* openStore(url, { migrations: "check" })
            yield* store.insert(record("a"))
            expect(Option.isSome(yield* store.get(key("a")))).toBe(true)
          })
        )
      })
    )
  )

  test(
    "wait for the process that is at it already, and then find what is done",
    onFreshDatabase((url) =>
      Effect.scoped(
        Effect.gen(function* () {
          yield* migrate(optionsFor(url))
          const other = yield* meddler(url)
          yield* other.say("BEGIN")
          yield* other.say("SELECT id FROM tessera.migration_lock WHERE id = 1 FOR UPDATE")
          const waiting = yield* Effect.forkChild(migrateTo(optionsFor(url), [...migrations, addition]))
          const tries = new Set<string>()
          const triesTwice = Effect.map(
            tell(
              url,
              "SELECT xact_start::text AS began FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%migration_lock%'"
            ),
            (rows) => {
              for (const { began } of rows) tries.add(String(began))
              return tries.size > 1
            }
          )
          // It never waits for long at a time, so as not to hold up others.
          expect(yield* pollUntil(triesTwice, 20_000)).toBe(true)
          yield* other.say(
            `INSERT INTO tessera.migrations (number, name, readable_from) VALUES (${addition.number}, 'by the other', 1)`
          )
          yield* other.say("COMMIT")
          expect(yield* Fiber.join(waiting)).toEqual([])
        })
      )
    )
  )

  test(
    "a start that may only look refuses, and names what is missing",
    onFreshDatabase((url) =>
      Effect.gen(function* () {
        const refusal = yield* Effect.flip(Effect.scoped(openStore(url, { migrations: "check" })))
        expect(refusal).toMatchObject({ _tag: "MigrationsPending", names: migrations.map(({ name }) => name) })
        expect(yield* tables(url)).toEqual([])
      })
    )
  )

  test(
    "a role without any right to define things can start once they have been run, and is told what it has no right to",
    onFreshDatabase((url) =>
      Effect.gen(function* () {
        yield* migrate(optionsFor(url))
        const role = new URL(url).pathname.slice(1)
        yield* tell(
          url,
          `CREATE ROLE ${role} LOGIN PASSWORD 'p%/?'`,
          `GRANT USAGE ON SCHEMA tessera TO ${role}`,
          `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA tessera TO ${role}`
        )
        const asRole = new URL(url)
        asRole.username = role
        asRole.password = encodeURIComponent("p%/?")
        yield* Effect.scoped(
          Effect.gen(function* () {
            const store = yield* openStore(asRole.href)
            yield* store.insert(record("a"))
            yield* store.replace(1, record("a", { n: 2 }))
            expect(Option.getOrThrow(yield* store.get(key("a"))).version).toBe(2)

            // As after a migration that brought a table, and nobody gave the role any right to it.
            yield* tell(url, `REVOKE ALL ON tessera.grants FROM ${role}`)
            const refused = yield* Effect.flip(store.get(key("a")))
            expect([refused.outcome, refused.message]).toEqual(["not_done", expect.stringContaining("table grants")])
          })
        )
        yield* tell(url, `DROP OWNED BY ${role}`, `DROP ROLE ${role}`)
      })
    )
  )

  test(
    "one that fails leaves nothing behind",
    onFreshDatabase((url) =>
      Effect.gen(function* () {
        const broken: Migration = {
          number: 1001,
          name: "a mistake",
          readableFrom: 1,
          statements: (schema) => [`CREATE TABLE "${schema}".halfway (id int)`, "SELECT nonsense"]
        }
        const failure = yield* Effect.flip(migrateTo(optionsFor(url), [...migrations, broken]))
        expect(failure._tag).toBe("MigrationFailed")
        expect(yield* tables(url)).toEqual(["migration_lock", "migrations"])
        expect(yield* migrate(optionsFor(url))).toEqual(migrations.map(({ name }) => name))
      })
    )
  )
})

test(
  "a step may take longer than the statements of a role that has settings for a pooler",
  onFreshDatabase((url) =>
    Effect.gen(function* () {
      const { name } = (yield* tell(url, "SELECT current_database() AS name"))[0] ?? {}
      yield* tell(url, `ALTER DATABASE ${name} SET statement_timeout = '50ms'`)
      const long: Migration = { ...addition, name: "long", statements: () => ["SELECT pg_sleep(0.2)"] }
      expect(yield* migrateTo(optionsFor(url), [...migrations, long])).toContain("long")
    })
  )
)

describe("an old and a new release on one database", () => {
  test(
    "a database of an earlier release keeps what it holds, and takes the kinds that came since",
    onFreshDatabase((url) =>
      Effect.gen(function* () {
        const [first, ...later] = migrations
        yield* migrateTo(optionsFor(url), first === undefined ? [] : [first])
        yield* tell(
          url,
          `INSERT INTO tessera.grants (workspace, id, owner, version, body) VALUES ('w', 'a', 'somebody', 1, '{"n": 1}')`
        )
        expect((yield* plan(optionsFor(url))).pending).toEqual(later.map(({ name }) => name))
        yield* Effect.scoped(
          Effect.gen(function* () {
            const store = yield* openStore(url)
            expect(Option.getOrThrow(yield* store.get(key("a"))).body).toEqual({ n: 1 })
            yield* store.insert({ ...record("b"), kind: "request", body: { _tag: "Denied", user: "ada" } })
            yield* store.insert({ ...record("c"), kind: "once", body: { purpose: "set-up" } })
          })
        )
        expect(yield* tell(url, "SELECT state, subject FROM tessera.requests")).toEqual([
          { state: "Denied", subject: "ada" }
        ])
        expect(yield* tell(url, "SELECT purpose FROM tessera.onces")).toEqual([{ purpose: "set-up" }])
      })
    )
  )

  test(
    "the old one goes on while a column is added under it, and starts again afterwards",
    onFreshDatabase((url) =>
      Effect.scoped(
        Effect.gen(function* () {
          const old = yield* openStore(url)
          yield* Effect.forEach(["a", "b", "c", "d"], (id) => old.insert(record(id, { n: 0 })))
          let done = false
          const busy = (id: string) =>
            Effect.gen(function* () {
              let version = 1
              while (!done || version < 20) {
                yield* old.replace(version, record(id, { n: version }))
                version++
                const found = Option.getOrThrow(yield* old.get(key(id)))
                expect([found.version, found.body]).toEqual([version, { n: version - 1 }])
              }
              return version
            })
          const work = yield* Effect.forkChild(Effect.forEach(["a", "b", "c", "d"], busy, { concurrency: "unbounded" }))
          expect(yield* migrateTo(optionsFor(url), [...migrations, addition])).toEqual([addition.name])
          yield* tell(url, "UPDATE tessera.grants SET label = 'new' WHERE id = 'a'")
          done = true
          const versions = yield* Fiber.join(work)

          yield* old.insert(record("e"))
          yield* old.replace(versions[0] ?? 0, record("a", { n: "last" }))
          const rows = yield* tell(url, "SELECT id, label FROM tessera.grants WHERE id IN ('a', 'e') ORDER BY id")
          expect(rows).toEqual([
            { id: "a", label: "new" },
            { id: "e", label: null }
          ])
          const again = yield* openStore(url)
          expect(Option.getOrThrow(yield* again.get(key("a"))).body).toEqual({ n: "last" })
        })
      )
    )
  )

  test(
    "a release that a newer one has left behind refuses to start, and says which it would have to be",
    onFreshDatabase((url) =>
      Effect.gen(function* () {
        yield* migrateTo(optionsFor(url), [...migrations, addition, { ...addition, number: 1002, readableFrom: 1000 }])
        const knows = Math.max(...migrations.map(({ number }) => number))
        const refusal = yield* Effect.flip(Effect.scoped(openStore(url)))
        expect(refusal).toMatchObject({ _tag: "DatabaseTooNew", knows, needs: 1000 })
        expect(yield* Effect.flip(plan(optionsFor(url)))).toMatchObject({ _tag: "DatabaseTooNew" })
        expect((yield* planTo(optionsFor(url), [...migrations, addition])).pending).toEqual([])
      })
    )
  )
})

test(
  "people find in columns what the bodies say, and odd bodies are kept all the same",
  onFreshDatabase((url) =>
    Effect.scoped(
      Effect.gen(function* () {
        const store = yield* openStore(url)
        const subject = { _tag: "User", id: "u1" }
        yield* store.insert(record("1", { _tag: "Active", client: "c1", subject, createdAt: 1_700_000_000_000 }))
        yield* store.insert(record("2", { _tag: 7, client: { odd: true }, subject: "odd", createdAt: "odd" }))
        yield* store.insert(record("3", "odd"))
        yield* store.insert({
          ...record("4"),
          kind: "client",
          body: { about: { client_name: "Forum" }, createdAt: 1e300 }
        })
        const grants = yield* tell(
          url,
          "SELECT id, state, client, subject_kind, subject, to_timestamp(created / 1000) AS created FROM tessera.grants ORDER BY id"
        )
        const none = { state: null, client: null, subject_kind: null, subject: null, created: null }
        expect(grants).toEqual([
          {
            id: "1",
            state: "Active",
            client: "c1",
            subject_kind: "User",
            subject: "u1",
            created: new Date(1_700_000_000_000)
          },
          { ...none, id: "2", state: "7", client: '{"odd": true}' },
          { ...none, id: "3" }
        ])
        expect(yield* tell(url, "SELECT name FROM tessera.clients")).toEqual([{ name: "Forum" }])
        expect(Option.getOrThrow(yield* store.get(key("3"))).body).toBe("odd")
      })
    )
  )
)
