import { describe, expect, test } from "bun:test"
import { Context, Effect, Exit, Layer, Option, Scope } from "effect"
import { open } from "../../adapters/sqlite/bunConnection.ts"
import type { Connection, Driver } from "../../adapters/sqlite/Connection.ts"
import { connect } from "../../adapters/sqlite/connect.ts"
import { layer } from "../../adapters/sqlite/Sqlite.ts"
import { layerAtOnce, makeSqlite } from "../../adapters/sqlite/SqliteStorage.ts"
import { Storage, StorageScan } from "../../core/ports/Storage.ts"
import { inFile } from "../harness/scoped.ts"

const key = { workspace: "w", kind: "grant", id: "g" } as const
const listing = { workspace: "w", kind: "grant", owner: "o", after: undefined, limit: 10 } as const
const record = { ...key, owner: "o", expiresAt: null, body: { n: 1 } } as const

describe("reads of a SQLite file, for a caller that is trusted,", () => {
  test(
    "are done when they are asked for",
    inFile(function* (path) {
      const services = yield* Layer.build(layerAtOnce({ path }))
      const store = Context.get(services, Storage)
      expect(store.get(key)).toEqual(Exit.succeed(Option.none()))
      yield* store.insert(record)
      const stored = { ...record, version: 1 }
      expect(store.get(key)).toEqual(Exit.succeed(Option.some(stored)))
      const page = { records: [stored], next: undefined }
      expect(store.list(listing)).toEqual(Exit.succeed(page))
      expect(Context.get(services, StorageScan).scan("grant", undefined, 10)).toEqual(Exit.succeed(page))
    })
  )

  test(
    "fail as not done, and throw nothing, once the store is closed",
    inFile(function* (path) {
      const scope = Scope.makeUnsafe()
      const services = yield* Layer.buildWithScope(layerAtOnce({ path }), scope)
      yield* Scope.close(scope, Exit.void)
      const store = Context.get(services, Storage)
      const reads: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
        store.get(key),
        store.list(listing),
        Context.get(services, StorageScan).scan("grant", undefined, 1)
      ]
      for (const read of reads) {
        expect(Exit.isExit(read)).toBe(true)
        expect(yield* Effect.flip(read)).toMatchObject({ _tag: "StorageUnavailable", outcome: "not_done" })
      }
    })
  )
})

test(
  "for any other caller they are done each time that the effect runs",
  inFile(function* (path) {
    const store = Context.get(yield* Layer.build(layer({ path })), Storage)
    const read = store.get(key)
    yield* store.insert(record)
    expect(Option.isSome(yield* read)).toBe(true)
    yield* store.remove(key)
    expect(yield* read).toEqual(Option.none())
  })
)

const keyOf = (n: number) => ({ ...key, id: `g-${n}` })
const recordOf = (n: number) => ({ ...record, id: `g-${n}` })
const many = Array.from({ length: 20 }, (_, n) => n)

/** Code that has been waiting runs in a turn of its own. */
const turn = Effect.promise(() => Promise.resolve())

const watched = (connection: Connection, notes: Array<string>): Connection => ({
  ...connection,
  prepare: (sql) => {
    const statement = connection.prepare(sql)
    if (!["BEGIN", "COMMIT"].includes(sql)) return statement
    return {
      ...statement,
      run: () => {
        notes.push(sql)
        return statement.run()
      }
    }
  }
})

describe.each([
  ["that are done when they are asked for", layerAtOnce],
  ["that are done when the effect runs", layer]
])("reads of a SQLite file %s", (_, given) => {
  const withStore = (use: (store: Storage["Service"], other: Driver) => Effect.Effect<void, unknown>) =>
    inFile(function* (path) {
      const store = Context.get(yield* Layer.build(given({ path })), Storage)
      yield* Effect.forEach(many, (n) => store.insert(recordOf(n)), { concurrency: "unbounded" })
      const other = open(path)
      yield* use(store, other)
      other.close()
    })

  test(
    "see what another process had committed before their turn",
    withStore((store, other) =>
      Effect.gen(function* () {
        for (let version = 1; version < 10; version++) {
          for (const n of many) expect(Option.getOrThrow(Effect.runSync(store.get(keyOf(n)))).version).toBe(version)
          other.exec("UPDATE grants SET version = version + 1")
          yield* turn
        }
      })
    )
  )

  test(
    "never stand in the way of a write of the same turn",
    withStore((store) =>
      Effect.gen(function* () {
        const steps = (n: number) =>
          Effect.gen(function* () {
            for (let version = 1; version < 5; version++) {
              expect(Option.getOrThrow(yield* store.get(keyOf(n))).version).toBe(version)
              yield* store.replace(version, recordOf(n))
              expect(Option.getOrThrow(yield* store.get(keyOf(n))).version).toBe(version + 1)
            }
          })
        yield* Effect.forEach(many, steps, { concurrency: "unbounded" })
      })
    )
  )

  test(
    "see what another store of this process has acknowledged, be it in the same turn",
    inFile(function* (path) {
      const opened = Effect.map(Layer.build(Layer.fresh(given({ path }))), (services) => Context.get(services, Storage))
      const [reader, writer] = [yield* opened, yield* opened]
      yield* writer.insert(record)
      for (let version = 1; version < 10; version++) {
        expect(Option.getOrThrow(yield* reader.get(key)).version).toBe(version)
        for (let times = 0; times < 2; times++) expect((yield* reader.list(listing)).records[0]?.version).toBe(version)
        yield* writer.replace(version, record)
      }
    })
  )

  test(
    "fail alone where they share a turn with others",
    withStore((store, other) =>
      Effect.gen(function* () {
        other.exec("UPDATE grants SET body = '{' WHERE id = 'g-7'")
        const tags = many.map((n) => Effect.runSyncExit(store.get(keyOf(n)))._tag)
        expect(tags).toEqual(many.map((n) => (n === 7 ? "Failure" : "Success")))
        const failed = Effect.runSync(Effect.flip(store.get(keyOf(7))))
        expect(failed).toMatchObject({ _tag: "StorageUnavailable", outcome: "not_done" })
        yield* store.replace(1, recordOf(7))
        expect(Option.getOrThrow(yield* store.get(keyOf(7))).body).toEqual(record.body)
      })
    )
  )
})

test(
  "reads of one turn share a transaction, and one that comes alone has none",
  inFile(function* (path) {
    const notes: Array<string> = []
    const store = Context.get(yield* makeSqlite(watched(yield* connect(path), notes)), Storage)
    yield* store.get(key)
    yield* turn
    yield* store.get(key)
    yield* turn
    expect(notes).toEqual([])
    yield* Effect.forEach(many, (n) => store.get(keyOf(n)), { concurrency: "unbounded" })
    expect(notes).toEqual(["BEGIN"])
    yield* turn
    expect(notes).toEqual(["BEGIN", "COMMIT"])
  })
)

test(
  "reads that share a snapshot whose end fails leave nothing open: writes go on",
  inFile(function* (path) {
    const connection = yield* connect(path)
    let failures = 1
    const failing: Connection = {
      ...connection,
      prepare: (sql) => {
        const statement = connection.prepare(sql)
        const run = () => {
          if (failures-- > 0) throw new Error("disk I/O error")
          return statement.run()
        }
        return sql === "COMMIT" ? { ...statement, run } : statement
      }
    }
    const services = yield* makeSqlite(failing, (work) => work())
    const store = Context.get(services, Storage)
    const both = [store.list(listing), store.list(listing)]
    for (const read of both) expect(yield* read).toEqual({ records: [], next: undefined })
    yield* Effect.yieldNow
    yield* store.insert(record)
    expect(failures).toBeLessThan(1)
    expect(Option.isSome(yield* store.get(key))).toBe(true)
  })
)
