import { Effect } from "effect"

/** How often all that had arrived had its turn while this ran. */
export const roundsDuring = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<number, E, R> =>
  Effect.suspend(() => {
    let rounds = 0
    let isDone = false
    const count = () => {
      rounds++
      if (!isDone) setImmediate(count)
    }
    setImmediate(count)
    const done = Effect.sync(() => {
      isDone = true
    })
    return Effect.map(Effect.ensuring(work, done), () => rounds)
  })
