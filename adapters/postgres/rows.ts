import type { NewRecord, RecordKey, StoredRecord } from "../../core/ports/Storage.ts"
import { fromKeyText, toKeyText } from "../KeyText.ts"
import { numberArray, textArray } from "./arrayLiteral.ts"
import { fromBodyText, toBodyText } from "./BodyText.ts"
import type { Cell, Row } from "./Connection.ts"
import { type MarkedRead, type MarkedReads, markOf } from "./MarkedRead.ts"

export const keyText = (cell: Cell | undefined): string => fromKeyText(String(cell))

/**
 * A record out of its owner, version, expiry and body, which stand in the row from column `at` on. Where bodies like it
 * are read `lately`, the core may know this one already, so that it is parsed only when somebody looks at it. The body
 * that is `known` to the database to be known here is left out of the row.
 */
export const recordOf = (
  key: RecordKey,
  row: Row,
  at: number,
  lately?: MarkedReads,
  known?: MarkedRead
): StoredRecord => {
  const { workspace, kind, id } = key
  const owner = keyText(row[at])
  const version = Number(row[at + 1])
  const expires = row[at + 2]
  const expiresAt = expires === null || expires === undefined ? null : Number(expires)
  const text = row[at + 3]
  const reading = text === null ? known : lately?.readingOf(id, String(text))
  if (reading === undefined) return { workspace, kind, id, owner, version, expiresAt, body: fromBodyText(String(text)) }
  return {
    workspace,
    kind,
    id,
    owner,
    version,
    expiresAt,
    reading,
    get body() {
      const body = fromBodyText(reading.text)
      reading.mark = markOf(workspace, version, body)
      return body
    }
  }
}

type Keys = ReadonlyArray<RecordKey>
type Records = ReadonlyArray<NewRecord>

export const workspacesOf = (keys: Keys): string => textArray(keys.map(({ workspace }) => toKeyText(workspace)))
export const idsOf = (keys: Keys): string => textArray(keys.map(({ id }) => toKeyText(id)))
export const marksOf = (reads: ReadonlyArray<MarkedRead | undefined>): string =>
  textArray(reads.map((read) => read?.mark?.write))
export const ownersOf = (records: Records): string => textArray(records.map(({ owner }) => toKeyText(owner)))
export const expiriesOf = (records: Records): string => numberArray(records.map(({ expiresAt }) => expiresAt))
export const bodiesOf = (records: Records): string => `[${records.map(({ body }) => toBodyText(body)).join(",")}]`
