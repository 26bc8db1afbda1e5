import { Effect, Layer } from "effect"
import { Storage, StorageUnavailable } from "../../core/ports/Storage.ts"

type Store = Storage["Service"]

/** The store's calls by verb: the kinds of record, in order. */
export type Calls = Record<"get" | "insert" | "replace" | "remove" | "list", Array<string>>

/** Calls that the store does not answer, as `verb kind`. The test changes the set. */
export type Away = Set<`${keyof Calls} ${string}`>

type Around = <A, E>(
  verb: keyof Calls,
  kind: string,
  call: Effect.Effect<A, E>
) => Effect.Effect<A, E | StorageUnavailable>

const around = ({ insertAndReplace, ...below }: Store, asked: Around): Store => ({
  get: (key) => asked("get", key.kind, below.get(key)),
  insert: (record) => asked("insert", record.kind, below.insert(record)),
  replace: (expected, record) => asked("replace", record.kind, below.replace(expected, record)),
  insertAndReplace:
    insertAndReplace &&
    ((added, expected, record) => {
      const both = asked("replace", record.kind, insertAndReplace(added, expected, record))
      return added.reduce((call, { kind }) => asked("insert", kind, call), both)
    }),
  remove: (key) => asked("remove", key.kind, below.remove(key)),
  list: (listing) => asked("list", listing.kind, below.list(listing)),
  sweep: below.sweep
})

export const unanswered = new StorageUnavailable({ outcome: "not_done", message: "the test said so" })

/** The store, without the calls in `away`. */
export const partlyAway =
  (away: Away) =>
  (below: Store): Store =>
    around(below, (verb, kind, call) =>
      Effect.andThen(
        Effect.suspend(() => (away.has(`${verb} ${kind}`) ? unanswered : Effect.void)),
        call
      )
    )

/** The same, and records every call. */
export const countingStorage = (calls: Calls, away: Away) =>
  Layer.effect(
    Storage,
    Effect.map(Storage, (below): Store => {
      const partly = partlyAway(away)(below)
      const { insertAndReplace } = partly
      const counted = around(partly, (verb, kind, call) =>
        Effect.suspend(() => {
          calls[verb].push(kind)
          return call
        })
      )
      return {
        ...counted,
        insertAndReplace:
          insertAndReplace &&
          ((added, expected, record) =>
            Effect.suspend(() => {
              calls.insert.push(...added.map(({ kind }) => kind))
              // Where something was taken, none was asked for.
              return Effect.tap(insertAndReplace(added, expected, record), () =>
                Effect.sync(() => void calls.replace.push(record.kind))
              )
            }))
      }
    })
  )
