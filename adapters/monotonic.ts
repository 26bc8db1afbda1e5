import type { Clock } from "effect"

/** Milliseconds for deadlines and pauses, by the clock that nobody sets. */
export const monotonicMillis =
  (clock: Clock.Clock): (() => number) =>
  () =>
    Number(clock.monotonicTimeNanosUnsafe()) / 1e6
