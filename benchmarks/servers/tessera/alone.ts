import { Duration, Effect, Layer, Option, Redacted } from "effect"
import { connectionSettings, readPostgresUrl } from "../../../adapters/postgres/Options.ts"
import { makePool } from "../../../adapters/postgres/Pool.ts"
import { migrate } from "../../../adapters/postgres/Postgres.ts"
import { makeSession } from "../../../adapters/postgres/Session.ts"
import { makeSingle } from "../../../adapters/postgres/single.ts"
import { statementsOf } from "../../../adapters/postgres/statements.ts"
import { transactOn } from "../../../adapters/sqlite/commit.ts"
import { connect } from "../../../adapters/sqlite/connect.ts"
import { RecordTable, type Write } from "../../../adapters/sqlite/RecordTable.ts"
import { endTurns, KnownRecords } from "../../../adapters/sqlite/reads.ts"
import { Conflict, forEachKind, Storage, StorageUnavailable } from "../../../core/ports/Storage.ts"

/** The SQLite adapter's own statements, each write in a transaction of its own: what it is without group commit. */
const sqlite = (path: string) =>
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

export const sqliteAlone = (path: string) => Layer.effect(Storage, sqlite(path))

const deadline = 5000
const lasting = Duration.minutes(30)

/** The PostgreSQL adapter's own statements, one for each call: what it is without batches. */
const postgres = (text: string) =>
  Effect.gen(function* () {
    const url = Redacted.make(text)
    yield* migrate({ url })
    const pool = yield* makePool({
      ...connectionSettings({ url }, yield* readPostgresUrl(url)),
      size: 10,
      connectTimeout: Duration.seconds(3),
      idleTimeout: lasting,
      lifetime: lasting
    })
    const statements = forEachKind((kind) => statementsOf("tessera", kind, false))
    const session = yield* makeSession(pool, statements, deadline)
    const { get, insert, list, remove, replace, sweep } = makeSingle(session)
    return Storage.of({
      get: (key) => Effect.suspend(() => get(key, session.deadline())),
      insert: (record) => Effect.suspend(() => insert(record, session.deadline())),
      replace: (expected, record) => Effect.suspend(() => replace({ expected, record }, session.deadline())),
      remove,
      list,
      sweep
    })
  })

export const postgresAlone = (url: string) => Layer.effect(Storage, postgres(url))
