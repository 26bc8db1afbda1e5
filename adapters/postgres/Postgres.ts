import { Context, Duration, Effect, Layer, type Scope } from "effect"
import {
  type Conflict,
  forEachKind,
  type NewRecord,
  type RecordKey,
  Storage,
  StorageScan,
  StorageUnavailable
} from "../../core/ports/Storage.ts"
import { coalesce } from "../batching/coalesce.ts"
import { makeBatched, sendBatch, sendBatchPerWorkspace, type Verb } from "./batched.ts"
import { migrate, type PostgresRefusal, PostgresUnreachable, requireUpToDate } from "./migrate.ts"
import {
  connectionSettings,
  connectTimeoutOf,
  deadlineOf,
  type PostgresOptions,
  readPostgresUrl,
  schemaOf,
  withUrlOptions
} from "./Options.ts"
import { makePool } from "./Pool.ts"
import { makeSession } from "./Session.ts"
import { type Found, makeSingle, type Replacement } from "./single.ts"
import { statementsOf } from "./statements.ts"

/** A larger batch adds little speed and makes each of its calls wait for more rows. */
const batchSize = 128
/** A second leaves only when the first is slow or it is full itself: fewer, larger ones cost the database less. */
const batchesUnderWay = 4
const patience = 5

const identityOf = (key: RecordKey): string => `${key.workspace.length}:${key.workspace}${key.id}`
const late = () =>
  new StorageUnavailable({ outcome: "not_done", message: "PostgreSQL was too busy to be asked in time" })

const make = Effect.fnUntraced(function* (
  given: PostgresOptions
): Effect.fn.Return<Context.Context<Storage | StorageScan>, PostgresRefusal, Scope.Scope> {
  const options = yield* withUrlOptions(given)
  const address = yield* readPostgresUrl(options.url)
  yield* options.migrations === "check" ? requireUpToDate(options) : migrate(options)

  const pool = yield* makePool({
    ...connectionSettings(options, address),
    size: options.poolSize ?? 10,
    connectTimeout: connectTimeoutOf(options),
    idleTimeout: Duration.fromInputUnsafe(options.idleTimeout ?? "5 minutes"),
    lifetime: Duration.fromInputUnsafe(options.connectionLifetime ?? "30 minutes")
  })
  const within = Duration.toMillis(deadlineOf(options))
  // A pooler takes the migrations and refuses what requests need: better now than at the first request.
  yield* pool.run({ text: "SELECT 1", parameters: [], writes: false }, within).pipe(
    Effect.mapError((trouble) => {
      const said = trouble._tag === "Unanswered" ? trouble.failure.message : trouble.message
      return new PostgresUnreachable({ message: said })
    })
  )
  const alone = options.byWorkspace ?? false
  const statements = forEachKind((kind) => statementsOf(schemaOf(options), kind, alone))
  const session = yield* makeSession(pool, statements, within)
  const { get, insert, list, remove, replace, scan, sweep } = makeSingle(session)
  const several = makeBatched(session, alone)
  const send = alone ? sendBatchPerWorkspace : sendBatch

  const lanes = Effect.fnUntraced(function* <Item, A, E>(verb: Verb<Item, A, E>) {
    const byKind = yield* Effect.all(
      forEachKind((kind) =>
        coalesce<Item, A, E | StorageUnavailable>({
          run: (items, left) => send(verb, kind, items, session.now() + left),
          // Of two writes to one record one has to win; of two workspaces' records with one id, see `insert` in `batched.ts`.
          same: verb.writes
            ? { identity: (item) => verb.keyOf(item).id, second: "wait" }
            : { identity: (item) => identityOf(verb.keyOf(item)), second: "share" },
          leaves: "crowd",
          size: batchSize,
          underWay: batchesUnderWay,
          patience,
          within,
          late
        })
      )
    )
    return (item: Item) => byKind[verb.keyOf(item).kind](item)
  })

  const gets = yield* lanes<RecordKey, Found, never>({
    writes: false,
    keyOf: (key) => key,
    one: get,
    several: several.get
  })
  const inserts = yield* lanes<NewRecord, void, Conflict>({
    writes: true,
    keyOf: (record) => record,
    one: insert,
    several: several.insert
  })
  const replaces = yield* lanes<Replacement, void, Conflict>({
    writes: true,
    keyOf: ({ record }) => record,
    one: replace,
    several: several.replace
  })

  return Context.make(Storage, {
    get: gets,
    // A record of this id may have been removed, and its body be known by the version and expiry that this one has.
    insert: (record) => {
      session.caches[record.kind]?.forget(record)
      return inserts(record)
    },
    replace: (expected, record) => replaces({ expected, record }),
    remove,
    list,
    sweep
  }).pipe(Context.add(StorageScan, { scan }))
})

/**
 * Records in PostgreSQL, or in what speaks like it. The start waits for a server that is not up yet, brings its tables
 * up to date, and fails with a reason.
 */
export const layer = (options: PostgresOptions): Layer.Layer<Storage | StorageScan, PostgresRefusal> =>
  Layer.effectContext(make(options))

export { migrate, type Plan, type PostgresRefusal, plan } from "./migrate.ts"
export type { PostgresOptions } from "./Options.ts"
