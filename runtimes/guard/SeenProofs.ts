import { Effect, Exit, Layer, ManagedRuntime } from "effect"
import { makeOnce } from "../../core/engine/Once.ts"
import { Storage } from "../../core/ports/Storage.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"

/** Where the resource servers of one API note which proofs they have seen, so that none is good at two of them. */
export type ProofStorage = Layer.Layer<Storage, unknown> | Storage["Service"]

/** Whether this is the first time that a proof is seen; `undefined`: the store could not say. */
export interface SeenProofs {
  readonly take: (value: string, until: number, now: number) => Promise<boolean | undefined>
  readonly close: () => Promise<void>
}

/** 10 MB at most: a minute of 1,600 calls a second. */
const mostSeen = 100_000

/**
 * Those that this process saw, by digest. Where there is no room for more, it forgets the oldest, and from then on takes
 * none that is as old as that: a proof is refused which was not seen, and none is taken twice.
 */
export const makeSeenHere = (most = mostSeen): SeenProofs => {
  let young = new Map<string, number>()
  let old = new Map<string, number>()
  /** Of those that were forgotten, the end of the one that would have been good for longest. */
  let floor = 0
  const turn = (): void => {
    for (const until of old.values()) floor = Math.max(floor, until)
    old = young
    young = new Map()
  }
  return {
    take: async (value, until) => {
      const name = digestOf(value)
      if (until <= floor || young.has(name) || old.has(name)) return false
      if (young.size >= most / 2) turn()
      young.set(name, until)
      return true
    },
    close: async () => undefined
  }
}

/** In the store, one workspace's for all that share it. */
const place = WorkspaceId.make("resource-servers")

const sweptEvery = 60_000
const sweptAtOnce = 1000

/** The proofs that all processes on the store have seen. It sweeps them as it goes: perhaps no other process does. */
export const makeSeenInStore = (given: ProofStorage): SeenProofs => {
  const runtime = ManagedRuntime.make("insert" in given ? Layer.succeed(Storage, given) : given)
  let sweptAt = 0
  const taken = (value: string, until: Instant, now: number) =>
    Effect.flatMap(Storage, (storage) => {
      const take = makeOnce(storage).take(place, "dpop-proof", value, crypto.randomUUID(), until)
      if (now < sweptAt + sweptEvery) return take
      sweptAt = now
      return Effect.tap(take, () => Effect.ignore(storage.sweep(now, sweptAtOnce)))
    })
  return {
    take: async (value, until, now) => {
      const exit = await runtime.runPromiseExit(taken(value, Instant.make(until), now))
      return Exit.isSuccess(exit) ? exit.value : undefined
    },
    close: () => runtime.dispose()
  }
}
