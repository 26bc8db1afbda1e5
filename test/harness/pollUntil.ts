import { setTimeout } from "node:timers/promises"
import { Effect } from "effect"

const pause = Effect.promise(() => setTimeout(25))

/**
 * Asks again until the answer is yes, or says `false` once the time is over. Servers live by the wall clock, whatever
 * clock a test has put into Effect, so this does not use Effect's.
 */
export const pollUntil = Effect.fnUntraced(function* (holds: Effect.Effect<boolean>, milliseconds: number) {
  const end = performance.now() + milliseconds
  while (performance.now() < end) {
    if (yield* holds) return true
    yield* pause
  }
  return false
})
