import { describe, expect, test } from "bun:test"
import { Context, Effect, Exit, Layer, Option } from "effect"
import { open } from "../../adapters/sqlite/bunConnection.ts"
import type { Connection, Driver } from "../../adapters/sqlite/Connection.ts"
import { connect } from "../../adapters/sqlite/connect.ts"
import { layer } from "../../adapters/sqlite/Sqlite.ts"
import { makeSqlite } from "../../adapters/sqlite/SqliteStorage.ts"
import { type NewRecord, type RecordKey, Storage } from "../../core/ports/Storage.ts"
import { drawFrom } from "../../core/testing/Draw.ts"
import { inFile } from "../harness/scoped.ts"
import { seed } from "./seed.ts"

type Store = Storage["Service"]

const key: RecordKey = { workspace: "w", kind: "grant", id: "g" }
const record: NewRecord = { ...key, owner: "o", expiresAt: null, body: { says: "one", list: [1] } }

/** Code that has been waiting runs in a turn of its own. */
const turn = Effect.promise(() => Promise.resolve())

/** Notes each record that is looked for in the file. */
const watched = (connection: Connection, looked: Array<unknown>): Connection => ({
  ...connection,
  prepare: (sql) => {
    const statement = connection.prepare(sql)
    if (!/^SELECT .* FROM \w+ WHERE workspace = \? AND id = \?$/.test(sql)) return statement
    return {
      ...statement,
      get: (...values) => {
        looked.push(values[1])
        return statement.get(...values)
      }
    }
  }
})

interface Given {
  readonly store: Store
  /** The ids that were looked for in the file so far. */
  readonly looked: Array<unknown>
  readonly other: Driver
}

const given = (use: (given: Given) => Effect.Effect<void, unknown>) =>
  inFile(function* (path) {
    const looked: Array<unknown> = []
    const store = Context.get(yield* makeSqlite(watched(yield* connect(path), looked)), Storage)
    yield* store.insert(record)
    const other = open(path)
    yield* use({ store, looked, other })
    other.close()
  })

const bodyOf = (store: Store, wanted: RecordKey = key) =>
  Effect.andThen(
    turn,
    Effect.map(store.get(wanted), (found) => Option.getOrUndefined(Option.map(found, ({ body }) => body)))
  )

describe("a grant that was read from a SQLite file", () => {
  test(
    "is known from then on",
    given(({ looked, store }) =>
      Effect.gen(function* () {
        for (let n = 0; n < 5; n++) expect(yield* bodyOf(store)).toEqual(record.body)
        expect(looked).toEqual(["g"])
      })
    )
  )

  test(
    "is the same to each reader, whatever one does to it",
    given(({ store }) =>
      Effect.gen(function* () {
        for (let n = 0; n < 3; n++) {
          const body = yield* bodyOf(store)
          expect(body).toEqual(record.body)
          expect(() => Object.assign(body ?? {}, { says: "changed", list: "gone" })).toThrow()
        }
      })
    )
  )

  test(
    "has the body of the last time, until it is another",
    given(({ other, store }) =>
      Effect.gen(function* () {
        const first = yield* bodyOf(store)
        expect(yield* bodyOf(store)).toBe(first)
        other.exec(`UPDATE grants SET version = 2, body = '"two"'`)
        expect(yield* bodyOf(store)).toBe("two")
      })
    )
  )

  test(
    "is read again once another process has written, be it to another record",
    given(({ looked, other, store }) =>
      Effect.gen(function* () {
        yield* bodyOf(store)
        other.exec(`UPDATE grants SET body = '"two"', version = 2`)
        expect(yield* bodyOf(store)).toBe("two")
        expect(yield* bodyOf(store)).toBe("two")
        expect(looked).toEqual(["g", "g"])
        other.exec("DELETE FROM clients")
        other.exec("INSERT INTO usages (workspace, id, owner, version, body) VALUES ('w', 'u', 'o', 1, '1')")
        expect(yield* bodyOf(store)).toBe("two")
        expect(looked).toEqual(["g", "g", "g"])
      })
    )
  )

  test(
    "is gone, and comes back, as this process wants it",
    given(({ looked, store }) =>
      Effect.gen(function* () {
        yield* bodyOf(store)
        yield* store.replace(1, { ...record, body: "two" })
        expect(yield* bodyOf(store)).toBe("two")
        yield* store.remove(key)
        expect(yield* bodyOf(store)).toBeUndefined()
        yield* store.insert({ ...record, body: "three", expiresAt: 5 })
        expect(yield* bodyOf(store)).toBe("three")
        expect(yield* store.sweep(5, 10)).toBe(1)
        expect(yield* bodyOf(store)).toBeUndefined()
        expect(looked).toEqual(["g", "g", "g", "g", "g"])
      })
    )
  )

  test(
    "stays known while this process writes to others",
    given(({ looked, store }) =>
      Effect.gen(function* () {
        yield* bodyOf(store)
        const another = { ...record, id: "h" }
        yield* store.insert(another)
        yield* store.replace(1, another)
        yield* store.remove(another)
        expect(yield* store.sweep(5, 10)).toBe(0)
        expect(yield* bodyOf(store)).toEqual(record.body)
        expect(looked).toEqual(["g"])
      })
    )
  )

  test(
    "is another one in another workspace",
    given(({ store }) =>
      Effect.gen(function* () {
        const elsewhere = { ...record, workspace: "x", body: "elsewhere" }
        yield* store.insert(elsewhere)
        for (let n = 0; n < 3; n++) {
          expect(yield* bodyOf(store)).toEqual(record.body)
          expect(yield* bodyOf(store, elsewhere)).toBe("elsewhere")
        }
      })
    )
  )

  test(
    "is read each time where it is long",
    given(({ looked, store }) =>
      Effect.gen(function* () {
        const long = { ...record, id: "long", body: "x".repeat(2000) }
        yield* store.insert(long)
        for (let n = 0; n < 3; n++) expect(yield* bodyOf(store, long)).toBe(long.body)
        expect(looked).toEqual(["long", "long", "long"])
      })
    )
  )
})

const ids = ["a", "b", "c", "d"] as const

test(
  "two stores over one SQLite file agree at each step, whichever of them wrote",
  inFile(function* (path) {
    const draw = drawFrom(`known/${seed}`)
    const opened = Effect.map(Layer.build(Layer.fresh(layer({ path }))), (services) => Context.get(services, Storage))
    const stores = [yield* opened, yield* opened] as const
    const model = new Map<string, { readonly version: number; readonly body: number; readonly expiresAt: number }>()
    for (let step = 0; step < 1500; step++) {
      const store = draw.oneOf(stores)
      const id = draw.oneOf(ids)
      const now = model.get(id)
      const next = { ...key, id, owner: "o", expiresAt: draw.below(10), body: step }
      switch (draw.oneOf(["insert", "replace", "stale", "remove", "sweep"])) {
        case "insert": {
          const exit = yield* Effect.exit(store.insert(next))
          expect(Exit.isSuccess(exit), `seed ${seed}, step ${step}`).toBe(now === undefined)
          if (now === undefined) model.set(id, { version: 1, body: step, expiresAt: next.expiresAt })
          break
        }
        case "replace":
          if (now === undefined) break
          yield* store.replace(now.version, next)
          model.set(id, { version: now.version + 1, body: step, expiresAt: next.expiresAt })
          break
        case "stale": {
          const exit = yield* Effect.exit(store.replace((now?.version ?? 0) + 1, next))
          expect(Exit.isFailure(exit), `seed ${seed}, step ${step}`).toBe(true)
          break
        }
        case "remove":
          yield* store.remove({ ...key, id })
          model.delete(id)
          break
        case "sweep": {
          const before = draw.below(4)
          yield* store.sweep(before, 10)
          for (const [swept, { expiresAt }] of model) if (expiresAt <= before) model.delete(swept)
          break
        }
      }
      for (const store of stores) {
        yield* turn
        for (const id of ids) {
          const found = Option.getOrUndefined(yield* store.get({ ...key, id }))
          const said = found && { version: found.version, body: found.body, expiresAt: found.expiresAt }
          expect(said, `seed ${seed}, step ${step}, ${id}`).toEqual(model.get(id))
        }
      }
    }
  })
)
