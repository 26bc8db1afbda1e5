import type { NewRecord, RecordKey, StoredRecord } from "../../core/ports/Storage.ts"
import { fromKeyText, toKeyText } from "../KeyText.ts"
import type { LatelyRead } from "../LatelyRead.ts"
import { numberArray, textArray } from "./arrayLiteral.ts"
import { fromBodyText, toBodyText } from "./BodyText.ts"
import type { Cell, Row } from "./Connection.ts"

export const keyText = (cell: Cell | undefined): string => fromKeyText(String(cell))

/**
 * A record out of its owner, version, expiry and body, which stand in the row from column `at` on. Where bodies like it
 * are read `lately`, the core may know this one already, so that it is parsed only when somebody looks at it.
 */
export const recordOf = (key: RecordKey, row: Row, at: number, lately?: LatelyRead): StoredRecord => {
  const { workspace, kind, id } = key
  const owner = keyText(row[at])
  const version = Number(row[at + 1])
  const expires = row[at + 2]
  const expiresAt = expires === null || expires === undefined ? null : Number(expires)
  const text = String(row[at + 3])
  const reading = lately?.readingOf(id, text)
  if (reading === undefined) return { workspace, kind, id, owner, version, expiresAt, body: fromBodyText(text) }
  return {
    workspace,
    kind,
    id,
    owner,
    version,
    expiresAt,
    reading,
    get body() {
      return fromBodyText(text)
    }
  }
}

type Keys = ReadonlyArray<RecordKey>
type Records = ReadonlyArray<NewRecord>

export const workspacesOf = (keys: Keys): string => textArray(keys.map(({ workspace }) => toKeyText(workspace)))
export const idsOf = (keys: Keys): string => textArray(keys.map(({ id }) => toKeyText(id)))
export const ownersOf = (records: Records): string => textArray(records.map(({ owner }) => toKeyText(owner)))
export const expiriesOf = (records: Records): string => numberArray(records.map(({ expiresAt }) => expiresAt))
export const bodiesOf = (records: Records): string => `[${records.map(({ body }) => toBodyText(body)).join(",")}]`
