import { describe, expect, test } from "bun:test"
import { Context, Effect, Layer } from "effect"
import { open } from "../../adapters/sqlite/bunConnection.ts"
import { connect } from "../../adapters/sqlite/connect.ts"
import { migrations } from "../../adapters/sqlite/migrate.ts"
import { layer } from "../../adapters/sqlite/Sqlite.ts"
import { makeSqlite } from "../../adapters/sqlite/SqliteStorage.ts"
import { type NewRecord, Storage } from "../../core/ports/Storage.ts"
import { inFile } from "../harness/scoped.ts"

const recordOf = (id: string, expiresAt: number | null): NewRecord => ({
  workspace: "w",
  kind: "grant",
  id,
  owner: "o",
  expiresAt,
  body: { id }
})

const selectTimes = "SELECT id, expires_at AS expiresAt, sweep_at AS sweepAt FROM grants ORDER BY id"

describe("sweeping a SQLite file", () => {
  test(
    "looks at a record no later than when it expires, and again only then when it was prolonged",
    inFile(function* (path) {
      const connection = yield* connect(path)
      const store = Context.get(yield* makeSqlite(connection), Storage)
      const times = () => connection.prepare(selectTimes).all()
      for (const id of ["later", "never", "same", "sooner"]) yield* store.insert(recordOf(id, 1000))
      yield* store.replace(1, recordOf("later", 3000))
      yield* store.replace(1, recordOf("never", null))
      yield* store.replace(1, recordOf("same", 1000))
      yield* store.replace(1, recordOf("sooner", 500))
      const [never, same] = [
        { id: "never", expiresAt: null, sweepAt: null },
        { id: "same", expiresAt: 1000, sweepAt: 1000 }
      ]
      const sooner = { id: "sooner", expiresAt: 500, sweepAt: 500 }
      expect(times()).toEqual([{ id: "later", expiresAt: 3000, sweepAt: 1000 }, never, same, sooner])

      expect(yield* store.sweep(999, 10)).toBe(1)
      expect(times()).toEqual([{ id: "later", expiresAt: 3000, sweepAt: 1000 }, never, same])
      expect(yield* store.sweep(2999, 10)).toBe(1)
      expect(times()).toEqual([{ id: "later", expiresAt: 3000, sweepAt: 3000 }, never])
      yield* store.replace(2, recordOf("later", 2000))
      expect(times()).toEqual([{ id: "later", expiresAt: 2000, sweepAt: 2000 }, never])
      expect(yield* store.sweep(2000, 10)).toBe(1)
      expect(times()).toEqual([never])
    })
  )

  test(
    "removes no more than it was asked to, of all kinds together",
    inFile(function* (path) {
      const store = Context.get(yield* makeSqlite(yield* connect(path)), Storage)
      for (const kind of ["client", "grant", "limit"] as const) {
        for (const id of ["a", "b"]) yield* store.insert({ ...recordOf(id, 1000), kind })
      }
      expect(yield* store.sweep(1000, 3)).toBe(3)
      expect(yield* store.sweep(1000, 10)).toBe(3)
    })
  )

  test(
    "is held up by nothing that an older release, still at work, has made last for ever",
    inFile(function* (path) {
      const connection = yield* connect(path)
      const store = Context.get(yield* makeSqlite(connection), Storage)
      for (const id of ["a", "b"]) yield* store.insert(recordOf(id, 1000))
      // It knows nothing of `sweep_at`.
      connection.exec("UPDATE grants SET expires_at = NULL WHERE id = 'a'")
      expect(yield* store.sweep(1000, 1)).toBe(1)
      expect(connection.prepare(selectTimes).all()).toEqual([{ id: "a", expiresAt: null, sweepAt: null }])
    })
  )

  test(
    "finds what has expired behind any number of records that were prolonged",
    inFile(function* (path) {
      const store = Context.get(yield* Layer.build(layer({ path })), Storage)
      const numbers = Array.from({ length: 20 }, (_, n) => n)
      yield* Effect.forEach(numbers, (n) => store.insert(recordOf(`prolonged-${n}`, 1000 + n)))
      yield* Effect.forEach(numbers, (n) => store.replace(1, recordOf(`prolonged-${n}`, 5000)))
      yield* Effect.forEach(numbers.slice(0, 5), (n) => store.insert(recordOf(`expired-${n}`, 1010 + 3 * n)))
      const answers = yield* Effect.forEach([3, 3, 3], (limit) => store.sweep(2000, limit))
      expect(answers).toEqual([3, 2, 0])
      expect(yield* store.sweep(5000, 100)).toBe(20)
    })
  )

  test(
    "goes on in a file that an earlier version made",
    inFile(function* (path) {
      yield* Effect.scoped(connect(path))
      const [tables, indexes] = ["table", "index"].map(
        (type) => `SELECT name FROM sqlite_schema WHERE type = '${type}' ORDER BY name`
      )
      const schemaOf = (file: string) => {
        const connection = open(file)
        const all = [tables, indexes].map((sql) => connection.prepare(sql ?? "").all())
        connection.close()
        return all
      }
      const old = `${path}.old`
      const earlier = open(old)
      earlier.exec(migrations[0] ?? "")
      earlier.exec("PRAGMA application_id = 0x54657373")
      earlier.exec("PRAGMA user_version = 1")
      const insert = earlier.prepare(
        "INSERT INTO grants (workspace, id, owner, version, expires_at, body) VALUES ('w', ?, 'o', 1, ?, '{}')"
      )
      insert.run("expired", 1000)
      insert.run("later", 3000)
      insert.run("never", null)
      earlier.close()

      const services = yield* Layer.build(layer({ path: old }))
      const store = Context.get(services, Storage)
      expect(yield* store.sweep(2000, 10)).toBe(1)
      const listing = { workspace: "w", kind: "grant", owner: "o", after: undefined, limit: 10 } as const
      expect((yield* store.list(listing)).records.map(({ id }) => id)).toEqual(["later", "never"])
      expect(yield* store.sweep(3000, 10)).toBe(1)
      expect(schemaOf(old)).toEqual(schemaOf(path))
    })
  )
})
