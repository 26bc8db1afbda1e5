import { Clock, Effect } from "effect"

/** A clock in the test's hand. A fiber that sleeps goes on at once, after giving way to the others. */
export interface ManualClock {
  readonly clock: Clock.Clock
  readonly now: () => number
  readonly pass: (millis: number) => void
}

export const manualClock = (startsAt: number): ManualClock => {
  let now = startsAt
  const nanos = () => BigInt(now) * 1_000_000n
  return {
    now: () => now,
    pass: (millis) => {
      now += millis
    },
    clock: {
      currentTimeMillisUnsafe: () => now,
      currentTimeMillis: Effect.sync(() => now),
      currentTimeNanosUnsafe: nanos,
      currentTimeNanos: Effect.sync(nanos),
      monotonicTimeNanosUnsafe: nanos,
      monotonicTimeNanos: Effect.sync(nanos),
      sleep: () => Effect.yieldNow
    }
  }
}

export const withClock =
  ({ clock }: ManualClock) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.provideService(effect, Clock.Clock, clock)
