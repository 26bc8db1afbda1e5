import { Schema } from "effect"
import { StorageUnavailable } from "../../core/ports/Storage.ts"

type SqlValue = string | number | null

export interface Statement {
  /** The number of changed rows. */
  readonly run: (...values: ReadonlyArray<SqlValue>) => number
  /** The first row as an object, or `undefined`. */
  readonly get: (...values: ReadonlyArray<SqlValue>) => unknown
  readonly all: (...values: ReadonlyArray<SqlValue>) => ReadonlyArray<unknown>
}

/** The part of a SQLite driver that the store needs. Synchronous; throws what the driver throws. */
export interface Driver {
  readonly exec: (sql: string) => void
  readonly prepare: (sql: string) => Statement
  readonly close: () => void
  /** SQLite's result code of a thrown error; `undefined` for other errors. */
  readonly resultCode: (thrown: unknown) => number | undefined
}

export interface Connection extends Driver {
  /** Throws if the path no longer leads to this file. */
  readonly assertNotReplaced: () => void
}

export type Open = (path: string) => Driver

/** After a failure in a transaction, which SQLite may have rolled back itself. */
export const rollback = (connection: Driver): void => {
  try {
    connection.exec("ROLLBACK")
  } catch {
    // SQLite had rolled back. If the transaction were still open, the next BEGIN would fail.
  }
}

const primaryCodes = { busy: 5, locked: 6, full: 13, notADatabase: 26 } as const

export const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown))

/** The lowest byte of an extended code is the primary one. */
const hasCode = (connection: Driver, thrown: unknown, ...codes: ReadonlyArray<number>): boolean => {
  const code = connection.resultCode(thrown)
  return code !== undefined && codes.includes(code & 0xff)
}

/** Another connection is writing. */
export const isBusy = (connection: Driver, thrown: unknown): boolean =>
  hasCode(connection, thrown, primaryCodes.busy, primaryCodes.locked)

export const isNotADatabase = (connection: Driver, thrown: unknown): boolean =>
  hasCode(connection, thrown, primaryCodes.notADatabase)

/** SQLite's messages name tables and columns, never stored values. */
export const notDone = (thrown: unknown): StorageUnavailable =>
  new StorageUnavailable({ outcome: "not_done", message: `SQLite: ${messageOf(thrown)}` })

/**
 * Of a failed COMMIT. On a full disk, or without its lock, SQLite has not written the frame that completes the
 * transaction. After other failures, such as an fsync's, a restart may find it complete.
 */
export const commitFailed = (connection: Driver, thrown: unknown): StorageUnavailable =>
  hasCode(connection, thrown, primaryCodes.busy, primaryCodes.locked, primaryCodes.full)
    ? notDone(thrown)
    : new StorageUnavailable({ outcome: "unknown", message: `SQLite: ${messageOf(thrown)}` })

/** The file is unusable, and waiting will not help. `message` says what to do. */
export class DatabaseRefused extends Schema.TaggedError<DatabaseRefused>()("DatabaseRefused", {
  reason: Schema.Literals(["no_driver", "newer", "foreign", "unopenable"]),
  message: Schema.String
}) {}
