import type { NewRecord, RecordKey, StoredRecord } from "../../core/ports/Storage.ts"
import { fromKeyText, toKeyText } from "../KeyText.ts"
import { numberArray, textArray } from "./arrayLiteral.ts"
import { fromBodyText, toBodyText } from "./BodyText.ts"
import type { Cell, Row } from "./Connection.ts"

export const keyText = (cell: Cell | undefined): string => fromKeyText(String(cell))

/** A record out of its owner, version, expiry and body, which stand in the row from column `at` on. */
export const recordOf = ({ workspace, kind, id }: RecordKey, row: Row, at: number): StoredRecord => {
  const expires = row[at + 2]
  return {
    workspace,
    kind,
    id,
    owner: keyText(row[at]),
    version: Number(row[at + 1]),
    expiresAt: expires === null || expires === undefined ? null : Number(expires),
    body: fromBodyText(String(row[at + 3]))
  }
}

type Keys = ReadonlyArray<RecordKey>
type Records = ReadonlyArray<NewRecord>

export const workspacesOf = (keys: Keys): string => textArray(keys.map(({ workspace }) => toKeyText(workspace)))
export const idsOf = (keys: Keys): string => textArray(keys.map(({ id }) => toKeyText(id)))
export const ownersOf = (records: Records): string => textArray(records.map(({ owner }) => toKeyText(owner)))
export const expiriesOf = (records: Records): string => numberArray(records.map(({ expiresAt }) => expiresAt))
export const bodiesOf = (records: Records): string => `[${records.map(({ body }) => toBodyText(body)).join(",")}]`
