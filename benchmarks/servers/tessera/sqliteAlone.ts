import { Effect, Layer, Option } from "effect"
import { transactOn } from "../../../adapters/sqlite/commit.ts"
import { connect } from "../../../adapters/sqlite/connect.ts"
import type { Write } from "../../../adapters/sqlite/RecordTable.ts"
import { RecordTable } from "../../../adapters/sqlite/RecordTable.ts"
import { endTurns, KnownRecords } from "../../../adapters/sqlite/reads.ts"
import { Conflict, Storage, StorageUnavailable } from "../../../core/ports/Storage.ts"

/** The SQLite adapter's own statements, each write in a transaction of its own: what it is without group commit. */
const storage = (path: string) =>
  Effect.gen(function* () {
    const connection = yield* connect(path)
    const tables = { client: new RecordTable(connection, "client"), grant: new RecordTable(connection, "grant") }
    const known = new KnownRecords(connection)
    const transact = transactOn(connection)
    const tableOf = (kind: string) => (kind === "client" ? tables.client : tables.grant)
    const busy = new StorageUnavailable({ outcome: "not_done", message: "SQLite is busy" })
    const write = (statement: () => Write): Effect.Effect<number, StorageUnavailable> =>
      Effect.suspend(() => {
        endTurns()
        const answers = transact([statement()])
        const exit = answers === "busy" ? undefined : answers[0]
        return exit ?? Effect.fail(busy)
      })
    const swapped = (changed: number) => (changed === 1 ? Effect.void : new Conflict())
    return Storage.of({
      get: (key) => Effect.succeed(Option.fromUndefinedOr(known.get(key, () => tableOf(key.kind).get(key)))),
      insert: (record) =>
        Effect.flatMap(
          write(() => tableOf(record.kind).insert(record)),
          swapped
        ),
      replace: (expected, record) =>
        Effect.flatMap(
          write(() => known.forgetting(record, tableOf(record.kind).replace(expected, record))),
          swapped
        ),
      remove: (key) => Effect.asVoid(write(() => known.forgetting(key, tableOf(key.kind).remove(key)))),
      list: (listing) => Effect.sync(() => tableOf(listing.kind).list(listing)),
      sweep: () => Effect.succeed(0)
    })
  })

export const layer = (path: string) => Layer.effect(Storage, storage(path))
