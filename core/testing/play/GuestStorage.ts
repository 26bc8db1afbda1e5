import { Clock, Effect, Option } from "effect"
import {
  type NewRecord,
  type RecordKey,
  Storage,
  type StorageUnavailable,
  type StoredRecord
} from "../../ports/Storage.ts"

/** A part of a store that others use too: a script begins with nothing in it, and leaves nothing behind. */
export interface GuestStorage {
  readonly storage: Storage["Service"]
  /** Removes whatever was written. */
  readonly leave: Effect.Effect<void, StorageUnavailable>
}

const nameOf = ({ id, kind, workspace }: RecordKey): string => JSON.stringify([workspace, kind, id])

/**
 * Gives every workspace another name in the store below, behind `name`, which no other guest may use. `sweep` looks at
 * own records only, since a script's time is years ahead of the store's other records. The store below keeps the clock
 * that this is made under.
 */
export const guestStorage: (below: Storage["Service"], name: string) => Effect.Effect<GuestStorage> = Effect.fnUntraced(
  function* (below, name) {
    const clock = yield* Clock.Clock
    const written = new Map<string, RecordKey>()
    const prefix = `${name}-`

    // A process that is killed may have a write under way; here that write ends first, so that a script is the same each
    // time it is played.
    const timed = <A, E>(call: Effect.Effect<A, E>): Effect.Effect<A, E> =>
      Effect.uninterruptible(Effect.provideService(call, Clock.Clock, clock))
    const there = <Key extends { readonly workspace: string }>(key: Key): Key => ({
      ...key,
      workspace: `${prefix}${key.workspace}`
    })
    const here = (record: StoredRecord): StoredRecord => ({
      ...record,
      workspace: record.workspace.slice(prefix.length)
    })
    const noted = (record: NewRecord): NewRecord => {
      const { id, kind, workspace } = there(record)
      written.set(nameOf({ id, kind, workspace }), { id, kind, workspace })
      return there(record)
    }
    const removed = (key: RecordKey) =>
      Effect.map(timed(below.remove(key)), () => {
        written.delete(nameOf(key))
      })

    const storage = Storage.of({
      get: (key) => Effect.map(timed(below.get(there(key))), Option.map(here)),
      insert: (record) => Effect.suspend(() => timed(below.insert(noted(record)))),
      replace: (expected, record) => timed(below.replace(expected, there(record))),
      remove: (key) => timed(below.remove(there(key))),
      list: (listing) =>
        Effect.map(timed(below.list(there(listing))), (page) => ({ ...page, records: page.records.map(here) })),
      sweep: Effect.fnUntraced(function* (before, limit) {
        let swept = 0
        for (const key of [...written.values()]) {
          if (swept >= limit) break
          const found = Option.getOrUndefined(yield* timed(below.get(key)))
          if (found === undefined || found.expiresAt === null || found.expiresAt > before) continue
          yield* removed(key)
          swept += 1
        }
        return swept
      })
    })
    const leave = Effect.suspend(() =>
      Effect.forEach([...written.values()], removed, { concurrency: 16, discard: true })
    )
    return { storage, leave } satisfies GuestStorage
  }
)
