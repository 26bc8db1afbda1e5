import { Result } from "effect"
import {
  type Json,
  type NewRecord,
  type RecordKey,
  StorageUnavailable,
  type StoredRecord
} from "../../core/ports/Storage.ts"

/**
 * A record as Redis holds it: one line `1 version expiresAt entry owner`, then the body. The leading 1 is the version
 * of this form; `entry` names the line in the owner's list that stands for it; `owner` and body are JSON. The scripts
 * read the line too.
 */
export interface StoredValue {
  readonly record: StoredRecord
  readonly entry: string
}

export const firstValue = (record: NewRecord, entry: string): string =>
  `1 1 ${expiryText(record.expiresAt)} ${entry} ${JSON.stringify(record.owner)}\n${JSON.stringify(record.body)}`

export const expiryText = (expiresAt: number | null): string => (expiresAt === null ? "-" : `${expiresAt}`)

/** When the record is due in its shard's index. */
export const dueText = (expiresAt: number | null): string => (expiresAt === null ? "+inf" : `${expiresAt}`)

/** What removing gives back: whose list to strike which line from. */
export interface Head {
  readonly version: number
  readonly expiresAt: number | null
  readonly entry: string
  readonly owner: string
}

export const parseHead = (line: string): Result.Result<Head, StorageUnavailable> => {
  const [matched, version = "", expires = "", entry = "", owner = ""] =
    /^1 (\d+) (\S+) (\S+) ("[^\n]*")$/.exec(line) ?? []
  const name = matched === undefined ? unreadable : parseJson(owner)
  if (Result.isFailure(name)) return unreadable
  const expiresAt = expires === "-" ? null : Number(expires)
  return Result.succeed({ version: Number(version), expiresAt, entry, owner: `${name.success}` })
}

export const parseValue = (
  { workspace, kind, id }: RecordKey,
  text: string
): Result.Result<StoredValue, StorageUnavailable> => {
  const end = text.indexOf("\n")
  const head = parseHead(text.slice(0, end))
  const body = parseJson(text.slice(end + 1))
  if (Result.isFailure(head) || Result.isFailure(body)) return unreadable
  const { version, expiresAt, entry, owner } = head.success
  return Result.succeed({ entry, record: { workspace, kind, id, owner, expiresAt, body: body.success, version } })
}

const unreadable = Result.fail(
  new StorageUnavailable({ outcome: "not_done", message: "Redis holds a record in a form that is not ours" })
)

const parseJson = (text: string): Result.Result<Json, StorageUnavailable> => {
  try {
    // JSON.parse can make nothing else than JSON.
    return Result.succeed(JSON.parse(text) as Json)
  } catch {
    return unreadable
  }
}
