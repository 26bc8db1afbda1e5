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

  /** The first signature makes the key that signs, which counts for itself: no request is about that. */
  const isStruck = ({ kind }: { readonly kind: Kind }, { write }: Fault): boolean => {
    if (kind === "signing") return write === "signing key" && !struck
    writes += 1
    return writes === write
  }

  // A store may do its work as soon as it is called, so it is called only when its turn has come.
  const writing = (of: { readonly kind: Kind }, call: () => Write): Write =>
    Effect.suspend(() => {
      const write = Effect.suspend(call)
      if (fault === undefined || !isStruck(of, fault)) return write
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
    storage: Storage.of({
      get: (key) => {
        const read = Effect.suspend(() => below.get(key))
        return isOpening(key) ? read : givingWay(Effect.map(read, Option.map(asIfFromAfar)))
      },
      insert: (record) => {
        const insert = () => below.insert(record)
        return isOpening(record) ? Effect.suspend(insert) : givingWay(writing(record, insert))
      },
      replace: (expected, record) => givingWay(writing(record, () => below.replace(expected, record))),
      // A removal knows no conflict.
      remove: (key) =>
        givingWay(
          Effect.catchTag(
            writing(key, () => below.remove(key)),
            "Conflict",
            Effect.die
          )
        ),
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
