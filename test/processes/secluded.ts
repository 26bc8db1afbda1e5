import { Clock, Effect, Option } from "effect"
import { Storage, type StoredRecord } from "../../core/ports/Storage.ts"

/**
 * A part of a shared store that looks empty to whoever gets it: its workspaces have other names below. Real stores keep
 * their deadlines by the real clock, whatever clock a script has put into Effect. A process that is killed may have a
 * write under way; here that write ends first, so that a script is the same each time it is played.
 */
export const secluded = (below: Storage["Service"], name: string): Effect.Effect<Storage["Service"]> =>
  Effect.map(Clock.Clock, (clock) => {
    const into = <A extends { readonly workspace: string }>(key: A): A => ({
      ...key,
      workspace: `${name} ${key.workspace}`
    })
    const out = (record: StoredRecord): StoredRecord => ({
      ...record,
      workspace: record.workspace.slice(name.length + 1)
    })
    const apart = <A, E>(call: Effect.Effect<A, E>): Effect.Effect<A, E> =>
      Effect.uninterruptible(Effect.provideService(call, Clock.Clock, clock))

    return Storage.of({
      get: (key) => apart(Effect.map(below.get(into(key)), Option.map(out))),
      insert: (record) => apart(below.insert(into(record))),
      replace: (expected, record) => apart(below.replace(expected, into(record))),
      remove: (key) => apart(below.remove(into(key))),
      list: (listing) =>
        apart(Effect.map(below.list(into(listing)), (page) => ({ ...page, records: page.records.map(out) }))),
      sweep: (before, limit) => apart(below.sweep(before, limit))
    })
  })
