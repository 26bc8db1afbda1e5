import { setTimeout } from "node:timers/promises"
import { Effect } from "effect"

const pause = Effect.promise(() => setTimeout(25))

/**
 * Asks until the answer is yes; `false` once the time is over. Uses the wall clock and not Effect's, because servers
 * do.
 */
export const pollUntil = Effect.fnUntraced(function* (holds: Effect.Effect<boolean>, milliseconds: number) {
  const end = performance.now() + milliseconds
  while (performance.now() < end) {
    if (yield* holds) return true
    yield* pause
  }
  return false
})
