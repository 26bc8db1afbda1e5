import { chmodSync, closeSync, mkdirSync, openSync, statSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { Effect, Result, Schedule, type Scope } from "effect"
import type { StorageUnavailable } from "../../core/ports/Storage.ts"
import {
  type Connection,
  DatabaseRefused,
  isBusy,
  isNotADatabase,
  messageOf,
  notDone,
  type Open
} from "./Connection.ts"
import { type MigrationsPending, migrate, requireUpToDate } from "./migrate.ts"

const ownerOnly = 0o600

const narrow = (path: string): void => {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found !== undefined && (found.mode & 0o077) !== 0) chmodSync(path, ownerOnly)
}

/**
 * Creates a missing file and its folder for their owner only; SQLite gives `-wal` and `-shm` the file's mode. An
 * existing file is never opened here, because closing it would drop the locks that this process holds through SQLite.
 */
const makePrivate = (path: string): void => {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  if (statSync(path, { throwIfNoEntry: false }) === undefined) {
    // Not exclusive: two processes that start at once may both create it.
    closeSync(openSync(path, "a", ownerOnly))
  }
}

/** Restricts a file that an earlier run, or a person since, left readable to others. */
const closeToOthers = (path: string): void => {
  for (const suffix of ["", "-wal", "-shm"]) narrow(path + suffix)
}

/** Milliseconds between two checks, so that they cost writes nothing. */
const pause = 1000

const inodeAt = (path: string): bigint | undefined => statSync(path, { bigint: true, throwIfNoEntry: false })?.ino

/**
 * Returns a check that throws if the path no longer leads to the open file, because it was removed or replaced, for
 * example by a backup. Writes to the old file would be lost. SQLite itself checks only without a write-ahead log.
 */
const makeReplacementCheck = (path: string): (() => void) => {
  // Absolute, because the host's process may change its folder later.
  const place = resolve(path)
  const opened = inodeAt(place)
  let lookedAt = performance.now()
  return () => {
    const now = performance.now()
    if (now - lookedAt < pause) return
    if (inodeAt(place) !== opened) {
      throw new Error(`${place} was removed or replaced while it was open; put it back, or start the server again`)
    }
    lookedAt = now
  }
}

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

/** To SQLite on Node it is a URL, and on Bun a path: what is made private here would not be what SQLite opens. */
const isFileUrl = (path: string): boolean => path.startsWith("file:")

const opened = (open: Open, path: string) =>
  Effect.try({
    try: (): Connection => {
      if (isFileUrl(path)) throw new Error("it is a URL; write the path alone")
      makePrivate(path)
      return { ...open(path), assertNotReplaced: makeReplacementCheck(path) }
    },
    catch: (thrown) =>
      new DatabaseRefused({ reason: "unopenable", message: `${path} can't be opened: ${messageOf(thrown)}` })
  })

/** Needed before the first read of the file. */
const patience = "PRAGMA busy_timeout = 1000"

const settings = [
  // A commit is on the disk before it is acknowledged.
  "PRAGMA synchronous = FULL",
  // Room for the inner pages of a million records, some of which each read passes.
  "PRAGMA cache_size = -3072",
  // Pages that are rewritten before a checkpoint are copied once. A larger log would make checkpoints a long pause.
  "PRAGMA wal_autocheckpoint = 2000",
  // Records never go to temporary files.
  "PRAGMA temp_store = MEMORY",
  "PRAGMA journal_size_limit = 67108864",
  // The process blocks meanwhile, so longer waits happen outside SQLite.
  "PRAGMA busy_timeout = 5"
]

/** `run` migrates an outdated file, `check` refuses it. */
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
  // Only now is it known to be ours: another program's file keeps its mode.
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
    // Another process is migrating, or creating the log.
    Effect.retry({
      while: (error) => error._tag === "StorageUnavailable",
      schedule: Schedule.jittered(Schedule.spaced("50 millis")).pipe(Schedule.upTo({ times: 60 }))
    }),
    Effect.flatMap(Effect.fromResult)
  )

const closed = (connection: Connection): Effect.Effect<void> =>
  Effect.try({ try: () => connection.close(), catch: notDone }).pipe(Effect.ignore({ log: "Warn" }))

/**
 * The file, migrated and ready, until the scope ends. The last connection to close checkpoints the log and removes
 * it.
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
