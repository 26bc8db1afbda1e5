import { Context, Effect, Layer, Option } from "effect"
import {
  Conflict,
  forEachKind,
  kinds,
  type RecordKey,
  Storage,
  StorageScan,
  type StorageUnavailable,
  type StoredRecord
} from "../../core/ports/Storage.ts"
import { type Connection, notDone } from "./Connection.ts"
import { groupCommit } from "./commit.ts"
import { connect, type Migrations } from "./connect.ts"
import { RecordTable, type Write } from "./RecordTable.ts"
import { KnownRecords, shareReads } from "./reads.ts"

/** Runs a call when its effect runs, or at once. */
type When = <A, E>(work: () => Effect.Effect<A, E>) => Effect.Effect<A, E>

const attempt = <A>(read: () => A): Effect.Effect<A, StorageUnavailable> => {
  try {
    return Effect.succeed(read())
  } catch (thrown) {
    return Effect.fail(notDone(thrown))
  }
}

/** Records over a prepared connection of its own. */
export const makeSqlite = Effect.fnUntraced(function* (connection: Connection, when: When = Effect.suspend) {
  const tables = yield* Effect.try({
    try: () => forEachKind((kind) => new RecordTable(connection, kind)),
    catch: notDone
  })
  const known = yield* Effect.try({ try: () => new KnownRecords(connection), catch: notDone })
  const sharing = yield* Effect.try({ try: () => shareReads(connection), catch: notDone })
  const commit = yield* groupCommit(connection)
  const read = <A>(statement: () => A) => when(() => attempt(() => sharing(statement)))
  const write = (writing: Write) => Effect.suspend(() => commit(writing))
  const swap = (swapping: Write) =>
    when(() =>
      Effect.flatMapEager(
        commit(swapping),
        (changed): Effect.Effect<void, Conflict> => (changed === 1 ? Effect.void : Effect.fail(new Conflict()))
      )
    )

  const recordAt = (key: RecordKey): StoredRecord | undefined =>
    known.get(key, () => sharing(() => tables[key.kind].get(key)))

  const sweepAll = (before: number, limit: number): number => {
    let swept = 0
    for (const kind of kinds) swept += tables[kind].sweep(before, limit - swept)
    if (swept > 0) known.forgetAll()
    return swept
  }

  return Context.make(
    Storage,
    Storage.of({
      get: (key) => when(() => attempt(() => Option.fromUndefinedOr(recordAt(key)))),
      insert: (record) => swap(tables[record.kind].insert(record)),
      replace: (expected, record) => swap(known.forgetting(record, tables[record.kind].replace(expected, record))),
      remove: (key) => Effect.asVoid(write(known.forgetting(key, tables[key.kind].remove(key)))),
      list: (listing) => read(() => tables[listing.kind].list(listing)),
      sweep: (before, limit) => write(() => sweepAll(before, limit))
    })
  ).pipe(
    Context.add(
      StorageScan,
      StorageScan.of({ scan: (kind, after, limit) => read(() => tables[kind].scan(after, limit)) })
    )
  )
})

export interface SqliteOptions {
  readonly path: string
  /** `run` migrates the file at start, `check` refuses an outdated one. Default `run`. */
  readonly migrations?: Migrations
}

export const layerOf = ({ migrations, path }: SqliteOptions, when?: When) =>
  Layer.effectContext(Effect.flatMap(connect(path, migrations), (connection) => makeSqlite(connection, when)))

/** For callers that run each effect once, at once, as the core does: a ready answer needs no fiber. */
export const layerAtOnce = (options: SqliteOptions) => layerOf(options, (work) => work())
