import { type Clock, Duration, Effect } from "effect"

/** Node's and Bun's timers can let the process go; the web's are numbers and hold nothing. */
const letGo = (timer: unknown): void => {
  if (typeof timer === "object" && timer !== null && "unref" in timer && typeof timer.unref === "function") {
    timer.unref()
  }
}

/** The same time, for chores: waiting for them keeps no process alive. */
export const quietClock = (clock: Clock.Clock): Clock.Clock => ({
  currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe(),
  currentTimeMillis: clock.currentTimeMillis,
  currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe(),
  currentTimeNanos: clock.currentTimeNanos,
  monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
  monotonicTimeNanos: clock.monotonicTimeNanos,
  sleep: (duration) =>
    Effect.callback<void>((resume) => {
      const timer = setTimeout(() => resume(Effect.void), Duration.toMillis(duration))
      letGo(timer)
      return Effect.sync(() => clearTimeout(timer))
    })
})
