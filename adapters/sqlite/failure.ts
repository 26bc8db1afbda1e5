import { StorageUnavailable } from "../../core/ports/Storage.ts"
import type { Driver } from "./Connection.ts"

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
