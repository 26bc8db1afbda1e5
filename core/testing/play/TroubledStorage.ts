import { Effect, Option } from "effect"
import {
  type Conflict,
  type Json,
  type Kind,
  Storage,
  StorageUnavailable,
  type StoredRecord
} from "../../ports/Storage.ts"
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

  /** A server opens its workspaces when it starts, which is no step of the protocol: that goes well. */
  const isOpening = ({ kind }: { readonly kind: Kind }): boolean => kind === "workspace"

  return {
    // A store may do its work as soon as it is called, so it is called only when its turn has come.
    storage: Storage.of({
      get: (key) => {
        const read = Effect.suspend(() => below.get(key))
        return isOpening(key) ? read : givingWay(Effect.map(read, Option.map(asIfFromAfar)))
      },
      insert: (record) => {
        const write = Effect.suspend(() => below.insert(record))
        return isOpening(record) ? write : givingWay(writing(write))
      },
      replace: (expected, record) => givingWay(writing(Effect.suspend(() => below.replace(expected, record)))),
      // A removal knows no conflict.
      remove: (key) =>
        givingWay(Effect.catchTag(writing(Effect.suspend(() => below.remove(key))), "Conflict", Effect.die)),
      list: (listing) => givingWay(Effect.suspend(() => below.list(listing))),
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
