import { Clock, Effect, type Fiber, type Scope } from "effect"
import { monotonicMillis } from "../monotonic.ts"

/** Calls `missed` once `left` milliseconds are over, unless what it gives back is called before. */
export type Deadlines = (left: number, missed: () => void) => () => void

interface Watched {
  readonly at: number
  readonly missed: () => void
}

/**
 * All deadlines by one timer. Nearly every statement is answered long before its own, so a timer for each would be
 * started and stopped for nothing; this one sleeps on until the earliest, met or not, and then looks who is left.
 */
export const makeDeadlines: Effect.Effect<Deadlines, never, Scope.Scope> = Effect.gen(function* () {
  const now = monotonicMillis(yield* Clock.Clock)
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const watched = new Set<Watched>()
  let wakesAt = Number.POSITIVE_INFINITY
  let sleeper: Fiber.Fiber<void> | undefined
  let closed = false

  const look = () => {
    const at = now()
    sleeper = undefined
    wakesAt = Number.POSITIVE_INFINITY
    let next = wakesAt
    for (const one of watched) {
      if (one.at > at) next = Math.min(next, one.at)
      else {
        watched.delete(one)
        one.missed()
      }
    }
    if (next < wakesAt) sleepUntil(next)
  }

  const sleepUntil = (at: number) => {
    sleeper?.interruptUnsafe()
    wakesAt = at
    sleeper = fork(Effect.andThen(Effect.sleep(at - now()), Effect.sync(look)))
  }

  const rest = () => {
    if (closed && watched.size === 0) sleeper?.interruptUnsafe()
  }

  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      closed = true
      rest()
    })
  )

  return (left, missed) => {
    const one = { at: now() + left, missed }
    watched.add(one)
    if (one.at < wakesAt) sleepUntil(one.at)
    return () => {
      watched.delete(one)
      rest()
    }
  }
})
