import { Effect } from "effect"
import { kinds, type NewRecord, Storage } from "../ports/Storage.ts"
import {
  expectConflict,
  expectGone,
  expectListed,
  expectStored,
  freshKey,
  holds,
  listOf,
  recordAt
} from "./StorageLaw.ts"

/** One record, one caller. */
export const recordLaws = [
  holds("each kind has records of its own: inserted, replaced, listed and removed", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const key = freshKey(draw)
      const records = kinds.map((kind) => recordAt({ ...key, kind }, { kind }, { expiresAt: 4_000_000_000_000 }))
      const story = (record: NewRecord) =>
        Effect.gen(function* () {
          const { kind } = record
          yield* expectStored(record, 1)
          yield* expectConflict(store.insert(record), `a second insert of a ${kind}`)
          const next = { ...record, expiresAt: 5_000_000_000_000, body: { next: kind } }
          yield* store.replace(1, next)
          yield* expectConflict(store.replace(1, record), `a replace of a ${kind} at another version`)
          yield* expectStored(next, 2)
          yield* expectListed(listOf(record), [record.id])
          yield* store.remove(record)
          yield* expectGone(record)
          yield* expectListed(listOf(record), [])
        })
      for (const record of records) yield* store.insert(record)
      yield* Effect.forEach(records, story, { concurrency: "unbounded", discard: true })
    })
  ),

  holds("an unknown record is none", (draw) => expectGone(freshKey(draw))),

  holds("an insert over a record conflicts and changes nothing, not even a list", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const first = recordAt(freshKey(draw), { n: 1 }, { owner: "first", expiresAt: 4_000_000_000_000 })
      yield* store.insert(first)
      yield* expectConflict(store.insert(first), "an insert of the same record")
      const second = { ...first, owner: "second", expiresAt: null, body: { n: 2 } }
      yield* expectConflict(store.insert(second), "an insert over a record")
      yield* expectStored(first, 1)
      yield* expectListed(listOf(first), [first.id])
      yield* expectListed(listOf(second), [])
    })
  ),

  holds("a replace at the stored version writes body and expiry and counts the version up", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const first = recordAt(freshKey(draw), { n: 1 })
      yield* store.insert(first)
      for (const [version, expiresAt] of [4_000_000_000_000, 5_000_000_000_000, null, 0].entries()) {
        const next = { ...first, expiresAt, body: { n: version + 2, more: ["x"] } }
        yield* store.replace(version + 1, next)
        yield* expectStored(next, version + 2)
      }
    })
  ),

  holds("a replace at any other version conflicts and changes nothing", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const record = recordAt(freshKey(draw), { n: 1 })
      yield* store.insert(record)
      yield* store.replace(1, { ...record, body: { n: 2 } })
      for (const version of [0, 1, 3, -1, 2 ** 31, 2 ** 40]) {
        yield* expectConflict(
          store.replace(version, { ...record, expiresAt: 1, body: { n: 3 } }),
          `a replace of version ${version} where 2 is stored`
        )
      }
      yield* expectStored({ ...record, body: { n: 2 } }, 2)
    })
  ),

  holds("a replace of what is not there conflicts and makes nothing", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const record = recordAt(freshKey(draw))
      for (const version of [0, 1]) yield* expectConflict(store.replace(version, record), "a replace of nothing")
      yield* expectGone(record)
      yield* expectListed(listOf(record), [])
    })
  ),

  holds("a replace never changes the owner", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const record = recordAt(freshKey(draw), { n: 1 }, { owner: "first" })
      yield* store.insert(record)
      const taken = { ...record, owner: "thief", body: { n: 2 } }
      yield* store.replace(1, taken)
      yield* expectStored({ ...taken, owner: "first" }, 2)
      yield* expectListed(listOf(record), [record.id])
      yield* expectListed(listOf(taken), [])
    })
  ),

  holds("a removed record is gone, and removing it again is no error", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const record = recordAt(freshKey(draw))
      yield* store.remove(record)
      yield* store.insert(record)
      for (let times = 0; times < 2; times++) {
        yield* store.remove(record)
        yield* expectGone(record)
        yield* expectConflict(store.replace(1, record), "a replace of a removed record")
        yield* expectListed(listOf(record), [])
      }
    })
  ),

  holds("the id of a removed record is free again, at version 1 and for another owner", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const record = recordAt(freshKey(draw), { n: 1 }, { owner: "first", expiresAt: 4_000_000_000_000 })
      yield* store.insert(record)
      yield* store.replace(1, record)
      yield* store.remove(record)
      const again = { ...record, owner: "second", expiresAt: null, body: { n: 2 } }
      yield* store.insert(again)
      yield* expectStored(again, 1)
      yield* expectListed(listOf(record), [])
      yield* expectListed(listOf(again), [record.id])
    })
  ),

  holds("records of the same id in other workspaces and kinds are other records", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const here = freshKey(draw)
      const keys = [here, { ...here, workspace: draw.workspace() }, { ...here, kind: "client" } as const]
      const records = keys.map((key, n) => recordAt(key, { n }))
      for (const record of records) yield* store.insert(record)
      for (const record of records) yield* expectStored(record, 1)
      yield* store.remove(here)
      yield* expectGone(here)
      for (const record of records.slice(1)) {
        yield* expectStored(record, 1)
        yield* expectListed(listOf(record), [record.id])
      }
    })
  )
]
