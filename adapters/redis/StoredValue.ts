import { Result } from "effect"
import {
  type Json,
  type NewRecord,
  type RecordKey,
  StorageUnavailable,
  type StoredRecord
} from "../../core/ports/Storage.ts"
import type { ParseCache } from "../records/ParseCache.ts"

/**
 * The stored form of a record: a line `1 version expiresAt entry owner`, then the body. 1 is the version of this
 * form; `entry` names the record's line in its owner's list; owner and body are JSON. The scripts read the line too.
 */
export interface StoredValue {
  readonly record: StoredRecord
  readonly entry: string
}

export const firstValue = (record: NewRecord, entry: string): string =>
  `1 1 ${expiryText(record.expiresAt)} ${entry} ${JSON.stringify(record.owner)}\n${JSON.stringify(record.body)}`

export const expiryText = (expiresAt: number | null): string => (expiresAt === null ? "-" : `${expiresAt}`)

/** The record's score in its shard's index. */
export const dueText = (expiresAt: number | null): string => (expiresAt === null ? "+inf" : `${expiresAt}`)

/** The first line. A removal returns it, because it names the line to strike in the owner's list. */
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

/** Parses a value, its body through the cache if there is one. */
export const parseValue = (
  key: RecordKey,
  text: string,
  cache?: ParseCache
): Result.Result<StoredValue, StorageUnavailable> => {
  const end = text.indexOf("\n")
  const head = parseHead(text.slice(0, end))
  if (Result.isFailure(head)) return unreadable
  const { version, expiresAt, entry, owner } = head.success
  const body = parseJson(
    text.slice(end + 1),
    cache === undefined ? jsonOf : (json) => cache.bodyOf(key, version, expiresAt, json)
  )
  if (Result.isFailure(body)) return unreadable
  const { workspace, kind, id } = key
  return Result.succeed({ entry, record: { workspace, kind, id, owner, version, expiresAt, body: body.success } })
}

const unreadable = Result.fail(
  new StorageUnavailable({ outcome: "not_done", message: "Redis holds a record in a form that is not ours" })
)

// JSON.parse returns only JSON.
export const jsonOf = (text: string) => JSON.parse(text) as Json

const parseJson = (text: string, parse = jsonOf): Result.Result<Json, StorageUnavailable> => {
  try {
    return Result.succeed(parse(text))
  } catch {
    return unreadable
  }
}
