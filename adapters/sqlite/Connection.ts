import { Schema } from "effect"
import { StorageUnavailable } from "../../core/ports/Storage.ts"

type SqlValue = string | number | null

export interface Statement {
  /** How many rows it changed. */
  readonly run: (...values: ReadonlyArray<SqlValue>) => number
  /** The first row as an object, `undefined` when there is none. */
  readonly get: (...values: ReadonlyArray<SqlValue>) => unknown
  readonly all: (...values: ReadonlyArray<SqlValue>) => ReadonlyArray<unknown>
}

/** As much of a SQLite driver as the store needs. All of it is synchronous, and throws what the driver throws. */
export interface Driver {
  readonly exec: (sql: string) => void
  readonly prepare: (sql: string) => Statement
  readonly close: () => void
  /** SQLite's own result code of what the driver threw; `undefined` when it is no answer of SQLite. */
  readonly resultCode: (thrown: unknown) => number | undefined
}

export interface Connection extends Driver {
  /** Throws where the file at the path is no longer this one. */
  readonly assertNotReplaced: () => void
}

export type Open = (path: string) => Driver

/** After a failure inside of a transaction, which SQLite may have rolled back by itself. */
export const rollback = (connection: Driver): void => {
  try {
    connection.exec("ROLLBACK")
  } catch {
    // There was none any more. Were it still open, the next BEGIN would fail and say so.
  }
}

const primaryCodes = { busy: 5, locked: 6, full: 13, notADatabase: 26 } as const

export const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown))

/** SQLite's extended codes carry the primary one in their lowest byte. */
const hasCode = (connection: Driver, thrown: unknown, ...codes: ReadonlyArray<number>): boolean => {
  const code = connection.resultCode(thrown)
  return code !== undefined && codes.includes(code & 0xff)
}

/** Another process or connection is writing. */
export const isBusy = (connection: Driver, thrown: unknown): boolean =>
  hasCode(connection, thrown, primaryCodes.busy, primaryCodes.locked)

export const isNotADatabase = (connection: Driver, thrown: unknown): boolean =>
  hasCode(connection, thrown, primaryCodes.notADatabase)

/** SQLite's messages name tables and columns, never what is in them. */
export const notDone = (thrown: unknown): StorageUnavailable =>
  new StorageUnavailable({ outcome: "not_done", message: `SQLite: ${messageOf(thrown)}` })

/**
 * A COMMIT that failed. On a full disk, or without its lock, SQLite has not written the frame that makes the
 * transaction count. After any other failure, such as that of an fsync, a restart may find it written.
 */
export const commitFailed = (connection: Driver, thrown: unknown): StorageUnavailable =>
  hasCode(connection, thrown, primaryCodes.busy, primaryCodes.locked, primaryCodes.full)
    ? notDone(thrown)
    : new StorageUnavailable({ outcome: "unknown", message: `SQLite: ${messageOf(thrown)}` })

/** The file can't be used as it is, and waiting will not change that. `message` says what to do. */
export class DatabaseRefused extends Schema.TaggedError<DatabaseRefused>()("DatabaseRefused", {
  reason: Schema.Literals(["no_driver", "newer", "foreign", "unopenable"]),
  message: Schema.String
}) {}
