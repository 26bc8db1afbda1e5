import { StorageUnavailable } from "../../core/ports/Storage.ts"

/** How a statement or a connect failed: with an SQLSTATE of the server, or without an answer. */
export interface Failure {
  /** An SQLSTATE, or a code of the driver or the system, such as `ECONNRESET`. */
  readonly code: string
  /** The server said ERROR: the transaction is rolled back, and the connection can go on. */
  readonly rolledBack: boolean
  /** For operators. Never a stored value. */
  readonly message: string
}

/** Classes and codes whose messages cannot quote a stored value; 42501 names the table that a role has no rights to. */
const quotesNoValue = /^(?:08|25|28|3D|3F|40|42501|42P01|53|55|57|58)/

const isRecord = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null
const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

/** What OpenSSL says of a certificate that nobody vouches for. */
const untrusted = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE"
])

const adviceOn = (code: string): string =>
  untrusted.has(code) ? ": in the URL, sslrootcert names a file of authorities that vouch for its certificate" : ""

export const failureOf = (error: unknown): Failure => {
  const fields = isRecord(error) ? error : {}
  const code = text(fields.code) ?? "unknown"
  const severity = text(fields.severity) ?? text(fields.severity_local)
  const isSqlState = severity !== undefined && /^[0-9A-Z]{5}$/.test(code)
  if (!isSqlState) return { code, rolledBack: false, message: `no answer from PostgreSQL (${code})${adviceOn(code)}` }
  const said = quotesNoValue.test(code) ? `: ${text(fields.message) ?? ""}` : ""
  return { code, rolledBack: severity === "ERROR", message: `PostgreSQL answered ${code}${said}` }
}

/**
 * An ERROR that proves that nothing was written: bad data (22, 23, 54), read-only (25006), an unknown prepared
 * statement (26), no rights (28, 42), no such database or schema (3D, 3F), a lost race (40001, 40P01), no room (53),
 * a lock (55P03), a timeout before the commit (57014). Not 08 and 40003, by which poolers and CockroachDB report an
 * unknown outcome, nor 57P01, which an administrator's stop can cause after the commit, nor internal errors.
 */
const certain = /^(?:22|23|25|26|28|3D|3F|42|53|54|55|40001|40P01|57014)/

const isCertain = (failure: Failure): boolean => failure.rolledBack && certain.test(failure.code)

/** Rolled back because of another writer: a retry is safe and may succeed. */
export const isLostRace = (failure: Failure): boolean =>
  failure.rolledBack && (failure.code === "40001" || failure.code === "40P01")

/** Rolled back, possibly because of one row of several: its data, a lock on it, or another writer. */
export const isRowsFault = (failure: Failure): boolean =>
  failure.rolledBack && /^(?:22|23|54|40001|40P01|55P03|57014)/.test(failure.code)

/** The connection is of no more use: it broke, or its server became a read-only replica. */
export const isConnectionsFault = (failure: Failure): boolean => !failure.rolledBack || failure.code === "25006"

export const unavailable = (failure: Failure, writes: boolean): StorageUnavailable =>
  new StorageUnavailable({
    outcome: !writes || isCertain(failure) ? "not_done" : "unknown",
    message: failure.message
  })
