import { Effect, Option } from "effect"
import {
  Conflict,
  type Kind,
  kinds,
  type Listing,
  type NewRecord,
  type Page,
  type RecordKey,
  type StorageUnavailable,
  type StoredRecord
} from "../../core/ports/Storage.ts"
import { toKeyText } from "../records/KeyText.ts"
import { idsOf, keyText, recordOf, toBodyText, workspacesOf } from "./rows.ts"
import { type Rows, type Session, told } from "./Session.ts"

/** A record and the version that it replaces. */
export interface Replacement {
  readonly expected: number
  readonly record: NewRecord
}

/** The same with records that have to be new. */
export interface Addition extends Replacement {
  readonly added: ReadonlyArray<NewRecord>
}

export type Found = Option.Option<StoredRecord>

const orConflict = (rows: Rows): Effect.Effect<void, Conflict> =>
  rows.length === 0 ? Effect.fail(new Conflict()) : Effect.void

/** A statement for each call. */
export const makeSingle = ({ caches, deadline, read, statements, write }: Session) => ({
  get: (key: RecordKey, until: number): Effect.Effect<Found, StorageUnavailable> =>
    read(statements[key.kind].get, [toKeyText(key.workspace), toKeyText(key.id)], until).pipe(
      Effect.mapBoth({
        onSuccess: ([row]) =>
          row === undefined ? Option.none() : Option.some(recordOf(key, row, 0, caches[key.kind])),
        onFailure: told(false)
      })
    ),

  insert: (record: NewRecord, until: number): Effect.Effect<void, Conflict | StorageUnavailable> => {
    const { body, expiresAt, id, kind, owner, workspace } = record
    const parameters = [toKeyText(workspace), toKeyText(id), toKeyText(owner), expiresAt, toBodyText(body)]
    return write(statements[kind].insert, parameters, until).pipe(
      Effect.mapError(told(true)),
      Effect.flatMap(orConflict)
    )
  },

  replace: (replacement: Replacement, until: number): Effect.Effect<void, Conflict | StorageUnavailable> => {
    const { body, expiresAt, id, kind, workspace } = replacement.record
    const parameters = [toKeyText(workspace), toKeyText(id), replacement.expected, expiresAt, toBodyText(body)]
    return write(statements[kind].replace, parameters, until).pipe(
      Effect.mapError(told(true)),
      Effect.flatMap(orConflict)
    )
  },

  remove: (key: RecordKey): Effect.Effect<void, StorageUnavailable> =>
    Effect.suspend(() =>
      write(statements[key.kind].remove, [toKeyText(key.workspace), toKeyText(key.id)], deadline())
    ).pipe(Effect.mapError(told(true)), Effect.asVoid),

  list: ({ after, kind, limit, owner, workspace }: Listing): Effect.Effect<Page, StorageUnavailable> => {
    const parameters = [toKeyText(workspace), toKeyText(owner), toKeyText(after ?? ""), limit + 1]
    return Effect.suspend(() => read(statements[kind].list, parameters, deadline())).pipe(
      Effect.mapBoth({
        onSuccess: (rows) => {
          const records = rows.slice(0, limit).map((row) => recordOf({ workspace, kind, id: keyText(row[0]) }, row, 1))
          return { records, next: rows.length > limit ? records.at(-1)?.id : undefined }
        },
        onFailure: told(false)
      })
    )
  },

  /** Finds expired keys, then removes them in lock order. */
  sweep: (before: number, limit: number): Effect.Effect<number, StorageUnavailable> =>
    Effect.gen(function* () {
      let removed = 0
      let left = limit
      for (const kind of kinds) {
        if (left <= 0) break
        const expired = yield* read(statements[kind].expired, [Math.floor(before), left], deadline())
        if (expired.length === 0) continue
        const keys = expired.map((row) => ({ workspace: keyText(row[0]), kind, id: keyText(row[1]) })).sort(byKey)
        const parameters = [workspacesOf(keys), idsOf(keys), Math.floor(before)]
        removed += (yield* write(statements[kind].removeExpired, parameters, deadline())).length
        left -= keys.length
      }
      return removed
    }).pipe(Effect.mapError(told(true))),

  scan: (kind: Kind, after: string | undefined, limit: number) => {
    const [workspace, id] = after === undefined ? ["", ""] : readPlace(after)
    return Effect.suspend(() => read(statements[kind].scan, [workspace, id, limit + 1], deadline())).pipe(
      Effect.mapBoth({
        onSuccess: (rows) => {
          const page = rows.slice(0, limit)
          const last = page.at(-1)
          const records = page.map((row) => recordOf({ workspace: keyText(row[0]), kind, id: keyText(row[1]) }, row, 2))
          return { records, next: rows.length > limit && last !== undefined ? writePlace(last[0], last[1]) : undefined }
        },
        onFailure: told(false)
      })
    )
  }
})

/** The order in which every process locks rows, so that no deadlock occurs. */
export const byKey = (a: RecordKey, b: RecordKey): number =>
  a.workspace !== b.workspace ? (a.workspace < b.workspace ? -1 : 1) : a.id < b.id ? -1 : a.id > b.id ? 1 : 0

/** A scan's cursor: the key of the last record, as stored. */
const writePlace = (workspace: unknown, id: unknown): string => `${String(workspace).length}:${workspace}${id}`
const readPlace = (place: string): readonly [string, string] => {
  const colon = place.indexOf(":")
  const end = colon + 1 + Number(place.slice(0, colon))
  return [place.slice(colon + 1, end), place.slice(end)]
}
