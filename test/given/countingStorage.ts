import { Effect, Layer } from "effect"
import { Storage, StorageUnavailable } from "../../core/ports/Storage.ts"

/** What the store was asked, by verb: the kinds of record, in order. */
export type Calls = Record<"get" | "insert" | "replace" | "remove" | "list", Array<string>>

/** Which calls the store does not answer, as `verb kind`: the test's to fill and to empty. */
export type Away = Set<`${keyof Calls} ${string}`>

/** The store below, with every call noted. */
export const countingStorage = (calls: Calls, away: Away) =>
  Layer.effect(
    Storage,
    Effect.gen(function* () {
      const below = yield* Storage
      const noted = <A, E>(verb: keyof Calls, kind: string, call: Effect.Effect<A, E>) =>
        Effect.suspend((): Effect.Effect<A, E | StorageUnavailable> => {
          calls[verb].push(kind)
          return away.has(`${verb} ${kind}`)
            ? Effect.fail(new StorageUnavailable({ outcome: "not_done", message: "the test said so" }))
            : call
        })
      return {
        get: (key) => noted("get", key.kind, below.get(key)),
        insert: (record) => noted("insert", record.kind, below.insert(record)),
        replace: (expected, record) => noted("replace", record.kind, below.replace(expected, record)),
        remove: (key) => noted("remove", key.kind, below.remove(key)),
        list: (listing) => noted("list", listing.kind, below.list(listing)),
        sweep: below.sweep
      }
    })
  )
