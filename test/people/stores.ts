import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { type Storage, StorageUnavailable } from "../../core/ports/Storage.ts"
import { drawFrom } from "../../core/testing/Draw.ts"

type Store = Storage["Service"]

const around = (
  below: Store,
  read: Effect.Effect<void, StorageUnavailable>,
  write: Effect.Effect<void, StorageUnavailable>
): Store => ({
  get: (key) => Effect.andThen(read, below.get(key)),
  list: (listing) => Effect.andThen(read, below.list(listing)),
  insert: (record) => Effect.andThen(write, below.insert(record)),
  replace: (expected, record) => Effect.andThen(write, below.replace(expected, record)),
  remove: (key) => Effect.andThen(write, below.remove(key)),
  sweep: below.sweep
})

const turns = (count: number) => Effect.forEach(Array.from({ length: count }), () => Effect.yieldNow, { discard: true })

/** A store that answers out of turn, so that requests at once meet in every order; the seed gives the same one again. */
export const jostling =
  (seed: string) =>
  (below: Store): Store => {
    const draw = drawFrom(seed)
    const turn = Effect.suspend(() => turns(draw.below(6)))
    return around(below, turn, turn)
  }

/** Begins some turns late, for the shorter of two ways that would else always be there first. */
export const afterSomeTurns = <A, E, R>(seed: string, most: number, late: Effect.Effect<A, E, R>) =>
  Effect.andThen(turns(drawFrom(seed).below(most)), late)

/** A process that is killed after so many writes, counted by the test; `Infinity` starts it again. */
export const mortal =
  (life: { writes: number }) =>
  (below: Store): Store => {
    const dead = new StorageUnavailable({ outcome: "not_done", message: "killed" })
    return around(
      below,
      Effect.suspend(() => (life.writes <= 0 ? dead : Effect.void)),
      Effect.suspend(() => (life.writes-- <= 0 ? dead : Effect.void))
    )
  }

/** Runs them all at once; an effect that has to wait for a turn does so on the test's clock. */
export const atOnce = Effect.fnUntraced(function* <A, E>(effects: ReadonlyArray<Effect.Effect<A, E>>) {
  const all = yield* Effect.forkChild(Effect.all(effects, { concurrency: "unbounded" }))
  while (all.pollUnsafe() === undefined) {
    for (let turn = 0; turn < 50; turn++) yield* Effect.yieldNow
    yield* TestClock.adjust(100)
  }
  return yield* Fiber.join(all)
})
