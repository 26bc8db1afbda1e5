import { StorageUnavailable } from "../../core/ports/Storage.ts"

/** What a statement or an attempt to connect ended in: by the server's word (an SQLSTATE), or by none. */
export interface Failure {
  /** An SQLSTATE, or a code of the driver's or the system's, such as `ECONNRESET`. */
  readonly code: string
  /** The server said ERROR: the transaction of the statement is rolled back and the connection goes on. */
  readonly rolledBack: boolean
  /** For operators. Never a value that somebody stored. */
  readonly message: string
}

/** Classes in which the server's own words cannot quote a value. */
const quotesNoValue = /^(?:08|25|28|3D|40|53|55|57|58)/

const isRecord = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null
const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

export const failureOf = (error: unknown): Failure => {
  const fields = isRecord(error) ? error : {}
  const code = text(fields.code) ?? "unknown"
  const severity = text(fields.severity) ?? text(fields.severity_local)
  const isSqlState = severity !== undefined && /^[0-9A-Z]{5}$/.test(code)
  if (!isSqlState) return { code, rolledBack: false, message: `no answer from PostgreSQL (${code})` }
  const said = quotesNoValue.test(code) ? `: ${text(fields.message) ?? ""}` : ""
  return { code, rolledBack: severity === "ERROR", message: `PostgreSQL answered ${code}${said}` }
}

/**
 * Where an ERROR says beyond doubt that nothing was written: bad data (22, 23, 54), read-only (25006), an unknown
 * prepared statement (26), no rights (28, 42), no such database or schema (3D, 3F), a lost race (40001, 40P01), no
 * room (53), a lock (55P03), a timeout before the commit (57014). Left out on purpose: 08 and 40003, by which poolers
 * and CockroachDB say that they lost sight of it, 57P01 (an administrator's stop may come after the commit, before the
 * answer), and everything internal.
 */
const certain = /^(?:22|23|25|26|28|3D|3F|42|53|54|55|40001|40P01|57014)/

const isCertain = (failure: Failure): boolean => failure.rolledBack && certain.test(failure.code)

/** Rolled back because of who else was writing: saying the same again is safe and may succeed. */
export const isLostRace = (failure: Failure): boolean =>
  failure.rolledBack && (failure.code === "40001" || failure.code === "40P01")

/** Rolled back, possibly because of one row among several: its data, a lock on it, or who else wants it. */
export const isRowsFault = (failure: Failure): boolean =>
  failure.rolledBack && /^(?:22|23|54|40001|40P01|55P03|57014)/.test(failure.code)

/** A connection that went on after this would only say it again: a server that turned into a replica. */
export const isConnectionsFault = (failure: Failure): boolean => !failure.rolledBack || failure.code === "25006"

export const unavailable = (failure: Failure, writes: boolean): StorageUnavailable =>
  new StorageUnavailable({
    outcome: !writes || isCertain(failure) ? "not_done" : "unknown",
    message: failure.message
  })
