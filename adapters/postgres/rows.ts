import type { Json, NewRecord, RecordKey, StoredRecord } from "../../core/ports/Storage.ts"
import { fromKeyText, toKeyText } from "../records/KeyText.ts"
import type { ParseCache, Parsed } from "../records/ParseCache.ts"
import type { Cell, Row } from "./Connection.ts"

const quoted = /["\\]/

/** PostgreSQL's text form of a `text[]`. Few ids need quotes. */
export const textArray = (values: ReadonlyArray<string>): string => `{${values.map(textItem).join(",")}}`

const textItem = (value: string): string => (quoted.test(value) ? `"${value.replace(/["\\]/g, "\\$&")}"` : `"${value}"`)

export const numberArray = (values: ReadonlyArray<number | null>): string =>
  `{${values.map((value) => (value === null ? "NULL" : value)).join(",")}}`

/**
 * `jsonb` refuses NUL and lone surrogates, in strings and keys. Each becomes U+0001 and its code, and U+0001 becomes
 * U+0001 and "1". `JSON.stringify` and PostgreSQL write all three as `\uXXXX`, so the change is made in the text;
 * other bodies are left alone.
 */
const unholdable = /\\u(?:000[01]|d[89a-f])/
const escapes = /\\(?:u(000[01]|d[89a-f][0-9a-f]{2})|.)/g
const marked = /\\(?:u0001([01]|d[89a-f][0-9a-f]{2})|.)/g

export const toBodyText = (body: Json): string => {
  const text = JSON.stringify(body)
  if (!unholdable.test(text)) return text
  return text.replace(escapes, (whole: string, unit: string | undefined) =>
    unit === undefined ? whole : `\\u0001${unit.startsWith("000") ? unit.slice(3) : unit}`
  )
}

export const fromBodyText = (text: string): Json => {
  if (!text.includes("\\u0001")) return JSON.parse(text)
  return JSON.parse(
    text.replace(marked, (whole: string, unit: string | undefined) =>
      unit === undefined ? whole : `\\u${unit.length === 1 ? `000${unit}` : unit}`
    )
  )
}

export const keyText = (cell: Cell | undefined): string => fromKeyText(String(cell))

/**
 * A record from a row's owner, version, expiry and body, from column `at` on. `known`: the cached record that the
 * statement named, whose body the row leaves out if it is current.
 */
export const recordOf = (key: RecordKey, row: Row, at: number, cache?: ParseCache, known?: Parsed): StoredRecord => {
  const { id, kind, workspace } = key
  const version = Number(row[at + 1])
  const expires = row[at + 2]
  const expiresAt = expires === null || expires === undefined ? null : Number(expires)
  const cell = row[at + 3]
  const body =
    cell === null && known !== undefined
      ? known.body
      : cache === undefined
        ? fromBodyText(String(cell))
        : cache.bodyOf(key, version, expiresAt, String(cell))
  return { workspace, kind, id, owner: keyText(row[at]), version, expiresAt, body }
}

type Keys = ReadonlyArray<RecordKey>
type Records = ReadonlyArray<NewRecord>

export const workspacesOf = (keys: Keys): string => textArray(keys.map(({ workspace }) => toKeyText(workspace)))
export const idsOf = (keys: Keys): string => textArray(keys.map(({ id }) => toKeyText(id)))
export const knownVersionsOf = (known: ReadonlyArray<Parsed | undefined>): string =>
  numberArray(known.map((one) => one?.version ?? null))
export const knownExpiriesOf = (known: ReadonlyArray<Parsed | undefined>): string =>
  numberArray(known.map((one) => one?.expiresAt ?? null))
export const ownersOf = (records: Records): string => textArray(records.map(({ owner }) => toKeyText(owner)))
export const expiriesOf = (records: Records): string => numberArray(records.map(({ expiresAt }) => expiresAt))
export const bodiesOf = (records: Records): string => `[${records.map(({ body }) => toBodyText(body)).join(",")}]`
