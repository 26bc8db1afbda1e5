import { Context, Duration, Effect, Layer, type Scope } from "effect"
import {
  type Conflict,
  forEachKind,
  type NewRecord,
  type RecordKey,
  Storage,
  StorageScan,
  StorageUnavailable,
  type Taken
} from "../../core/ports/Storage.ts"
import { coalesce } from "../batching/coalesce.ts"
import { warnOfClock } from "../clockApart.ts"
import { apart, areApart, makeBatched, sendBatch, sendBatchPerWorkspace, type Verb } from "./batched.ts"
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
import { type Addition, type Found, makeSingle, type Replacement } from "./single.ts"
import { statementsOf } from "./statements.ts"

/** Larger batches add little speed, and each call waits for more rows. */
const batchSize = 128
/**
 * A further batch leaves only when the earlier ones are slow or it is full: fewer, larger batches cost the database
 * less.
 */
const batchesUnderWay = 4
const patience = 5

const identityOf = (key: RecordKey): string => `${key.workspace.length}:${key.workspace}${key.id}`
const late = () =>
  new StorageUnavailable({ outcome: "not_done", message: "PostgreSQL was too busy to be asked in time" })

/** As a session of ours has it; nothing where a database with the protocol of PostgreSQL has no such setting. */
const durabilityText =
  "SELECT current_setting('synchronous_commit', true), (extract(epoch FROM clock_timestamp()) * 1000)::text"

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
  // A pooler lets migrations pass and refuses the session settings of requests: fail at start, not at the first
  // request.
  const asked = pool.run({ text: durabilityText, parameters: [], writes: false }, within)
  const [durability] = yield* warnOfClock("PostgreSQL", asked, ([row]) => Number(row?.[1] ?? Number.NaN)).pipe(
    Effect.mapError((trouble) => {
      const said = trouble._tag === "Unanswered" ? trouble.failure.message : trouble.message
      return new PostgresUnreachable({ message: said })
    })
  )
  if (durability?.[0] === "off") {
    yield* Effect.logWarning(
      "PostgreSQL has synchronous_commit off: a crash of its server loses up to a second of acknowledged writes, and what was revoked or spent by them works again"
    )
  }
  const alone = options.byWorkspace ?? false
  const statements = forEachKind((kind) => statementsOf(schemaOf(options), kind, alone))
  const session = yield* makeSession(pool, statements, within)
  const { get, insert, list, remove, replace, scan, sweep } = makeSingle(session)
  const several = makeBatched(session, schemaOf(options), alone)
  const send = alone ? sendBatchPerWorkspace : sendBatch

  const lanes = Effect.fnUntraced(function* <Item, A, E>(
    verb: Verb<Item, A, E>,
    sendsOne: (items: ReadonlyArray<Item>) => boolean = () => true
  ) {
    const byKind = yield* Effect.all(
      forEachKind((kind) =>
        coalesce<Item, A, E | StorageUnavailable>({
          run: (items, left) =>
            sendsOne(items) ? send(verb, kind, items, session.now() + left) : apart(verb, items, session.now() + left),
          // Two writes to one record need separate batches. So do records of two workspaces with one id (`insert` in
          // `batched.ts`).
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

  const insertsAndReplaces = yield* lanes<Addition, void, Taken | Conflict>(
    {
      writes: true,
      keyOf: ({ record }) => record,
      one: several.insertAndReplaceOne,
      several: several.insertAndReplace
    },
    areApart
  )

  return Context.make(Storage, {
    get: gets,
    // A removed record may have had this id, and the same version and expiry as this one gets: forget its cached
    // body.
    insert: (record) => {
      session.caches[record.kind]?.forget(record)
      return inserts(record)
    },
    replace: (expected, record) => replaces({ expected, record }),
    // A statement on two tables is not one shard's.
    ...(alone
      ? {}
      : {
          insertAndReplace: (added: ReadonlyArray<NewRecord>, expected: number, record: NewRecord) => {
            for (const one of added) session.caches[one.kind]?.forget(one)
            return insertsAndReplaces({ added, expected, record })
          }
        }),
    remove,
    list,
    sweep
  }).pipe(Context.add(StorageScan, { scan }))
})

/**
 * Records in PostgreSQL, or a database with its protocol. The start waits for the server, migrates, and fails with a
 * reason.
 */
export const layer = (options: PostgresOptions): Layer.Layer<Storage | StorageScan, PostgresRefusal> =>
  Layer.effectContext(make(options))

export { migrate, type Plan, type PostgresRefusal, plan } from "./migrate.ts"
export type { PostgresOptions } from "./Options.ts"
