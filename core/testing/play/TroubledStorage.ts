import { Effect, Option } from "effect"
import { type Conflict, type Json, Storage, StorageUnavailable, type StoredRecord } from "../../ports/Storage.ts"
import { type Dice, makeDice } from "../Dice.ts"
import type { Fault } from "../script/Command.ts"

type Write = Effect.Effect<void, Conflict | StorageUnavailable>

/** A store, and the troubles that can be made for those who use it. */
export interface TroubledStorage {
  readonly storage: Storage["Service"]
  readonly trouble: (fault: Fault) => void
  /** Ends the trouble; whether a write was struck. */
  readonly calm: () => boolean
  /** From now on every call gives way to others, more or less often; `null` ends that. */
  readonly shuffle: (seed: number | null) => void
}

/** As a store that keeps text gives a record back: equal, and never the object that was put in. */
const asIfFromAfar = (record: StoredRecord): StoredRecord => ({
  ...record,
  // It was JSON before.
  body: JSON.parse(JSON.stringify(record.body)) as Json
})

const gone = (outcome: "not_done" | "unknown") => new StorageUnavailable({ outcome, message: "struck by a test" })

/** Gives way up to this often before and after each call. */
const mostYields = 3

/** `kill` is what happens to a process at that moment. */
export const troubledStorage = (below: Storage["Service"], kill: Effect.Effect<never>): TroubledStorage => {
  let fault: Fault | undefined
  let writes = 0
  let struck = false
  let dice: Dice | undefined

  const strike = (write: Write, what: Fault["what"]): Write => {
    switch (what) {
      case "not done":
        return gone("not_done")
      case "lost, not applied":
        return gone("unknown")
      case "lost, applied":
        return Effect.andThen(write, gone("unknown"))
      case "killed before":
        return kill
      case "killed after":
        return Effect.andThen(write, kill)
    }
  }

  const writing = (write: Write): Write =>
    Effect.suspend(() => {
      if (fault === undefined) return write
      writes += 1
      if (writes !== fault.write) return write
      struck = true
      return strike(write, fault.what)
    })

  const givingWay = <A, E>(call: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.suspend(() => {
      if (dice === undefined) return call
      const before = dice.under(mostYields)
      const after = dice.under(mostYields)
      return Effect.tap(Effect.andThen(Effect.replicateEffect(Effect.yieldNow, before, { discard: true }), call), () =>
        Effect.replicateEffect(Effect.yieldNow, after, { discard: true })
      )
    })

  return {
    storage: Storage.of({
      get: (key) => givingWay(Effect.map(below.get(key), Option.map(asIfFromAfar))),
      insert: (record) => givingWay(writing(below.insert(record))),
      replace: (expected, record) => givingWay(writing(below.replace(expected, record))),
      // A removal knows no conflict.
      remove: (key) => givingWay(Effect.catchTag(writing(below.remove(key)), "Conflict", Effect.die)),
      list: (listing) => givingWay(below.list(listing)),
      sweep: below.sweep
    }),
    trouble: (next) => {
      fault = next
      writes = 0
      struck = false
    },
    calm: () => {
      fault = undefined
      return struck
    },
    shuffle: (seed) => {
      dice = seed === null ? undefined : makeDice(seed)
    }
  }
}
