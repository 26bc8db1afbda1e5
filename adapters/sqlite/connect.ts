import { Effect, Result, Schedule, type Scope } from "effect"
import type { StorageUnavailable } from "../../core/ports/Storage.ts"
import type { Connection, Open } from "./Connection.ts"
import { DatabaseRefused } from "./DatabaseRefused.ts"
import { isBusy, isNotADatabase, messageOf, notDone } from "./failure.ts"
import { staysInPlace } from "./inPlace.ts"
import type { MigrationsPending } from "./MigrationsPending.ts"
import { migrate, requireUpToDate } from "./migrate.ts"
import { closeToOthers, makePrivate } from "./privateFile.ts"

/** Each driver exists on its own runtime only. */
const driver: Effect.Effect<Open, DatabaseRefused> = Effect.tryPromise({
  try: async () =>
    "bun" in process.versions ? (await import("./bunConnection.ts")).open : (await import("./nodeConnection.ts")).open,
  catch: () =>
    new DatabaseRefused({
      reason: "no_driver",
      message: `SQLite needs Bun, or Node 22.13 or later; this is ${process.version}`
    })
})

const opened = (open: Open, path: string) =>
  Effect.try({
    try: (): Connection => {
      makePrivate(path)
      return { ...open(path), requireInPlace: staysInPlace(path) }
    },
    catch: (thrown) =>
      new DatabaseRefused({ reason: "unopenable", message: `${path} can't be opened: ${messageOf(thrown)}` })
  })

/** What a connection needs before its file may be looked at. */
const patience = "PRAGMA busy_timeout = 1000"

const settings = [
  // Each commit is on the disk before it is acknowledged.
  "PRAGMA synchronous = FULL",
  // Room for the inner pages of a million records, of which each read passes some, in any order.
  "PRAGMA cache_size = -3072",
  // Pages that are written again before the log is copied back are copied once. More would make that a long pause.
  "PRAGMA wal_autocheckpoint = 2000",
  // Records never go to temporary files.
  "PRAGMA temp_store = MEMORY",
  "PRAGMA journal_size_limit = 67108864",
  // The process stands still meanwhile, so waiting for longer is done outside of SQLite.
  "PRAGMA busy_timeout = 5"
]

/** Whether a file of an older version is brought up to date, or refused as it is. */
export type Migrations = "run" | "check"

/** Throws what the driver throws. */
const prepare = (
  connection: Connection,
  path: string,
  migrations: Migrations
): Result.Result<void, DatabaseRefused | MigrationsPending> => {
  connection.exec(patience)
  const upToDate = migrations === "check" ? requireUpToDate(connection) : migrate(connection)
  if (Result.isFailure(upToDate)) return upToDate
  // It is ours: another program's file keeps the mode that its own people gave it.
  closeToOthers(path)
  const mode = connection.prepare("PRAGMA journal_mode = WAL").get()
  if (JSON.stringify(mode) !== `{"journal_mode":"wal"}`) {
    return Result.fail(
      new DatabaseRefused({
        reason: "unopenable",
        message: "SQLite can't keep a write-ahead log there: use a local disk"
      })
    )
  }
  for (const setting of settings) connection.exec(setting)
  return Result.void
}

type Unready = DatabaseRefused | MigrationsPending | StorageUnavailable

const prepared = (connection: Connection, path: string, migrations: Migrations): Effect.Effect<void, Unready> =>
  Effect.try({
    try: () => prepare(connection, path, migrations),
    catch: (thrown): Unready => {
      if (isBusy(connection, thrown)) return notDone(thrown)
      if (isNotADatabase(connection, thrown)) {
        return new DatabaseRefused({ reason: "foreign", message: `${path} is no SQLite database` })
      }
      return new DatabaseRefused({ reason: "unopenable", message: `${path} can't be used: ${messageOf(thrown)}` })
    }
  }).pipe(
    // Another process is migrating, or making the log.
    Effect.retry({
      while: (error) => error._tag === "StorageUnavailable",
      schedule: Schedule.jittered(Schedule.spaced("50 millis")).pipe(Schedule.upTo({ times: 60 }))
    }),
    Effect.flatMap(Effect.fromResult)
  )

const closed = (connection: Connection): Effect.Effect<void> =>
  Effect.try({ try: () => connection.close(), catch: notDone }).pipe(Effect.ignore({ log: "Warn" }))

/**
 * The file at the path, up to date and ready for use, until the scope ends. The last to close it copies the log into the
 * file and removes it.
 */
export const connect = (
  path: string,
  migrations: Migrations = "run"
): Effect.Effect<Connection, Unready, Scope.Scope> =>
  Effect.gen(function* () {
    const open = yield* driver
    const connection = yield* Effect.acquireRelease(opened(open, path), closed)
    yield* prepared(connection, path, migrations)
    return connection
  })
