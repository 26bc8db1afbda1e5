import { Clock, Effect } from "effect"
import { second } from "../core/rules/Instant.ts"

/** A round trip and a time service's own error are less. */
const tolerated = 5 * second

/** Whose clock is ahead; nothing where the store's time, asked for between two moments of ours, may be the same. */
const wordsOf = (before: number, theirs: number, after: number): string | undefined => {
  const words = (millis: number, direction: string) => `${Math.round(millis / second)} seconds ${direction}`
  if (before - theirs > tolerated) return words(before - theirs, "ahead of")
  return theirs - after > tolerated ? words(theirs - after, "behind") : undefined
}

/**
 * Warns where this machine's clock is not the store's, which all servers over it can be held against. Each decides by a
 * clock of its own what has expired.
 */
export const warnOfClock = Effect.fnUntraced(function* <A, E>(
  store: string,
  ask: Effect.Effect<A, E>,
  timeIn: (answer: A) => number
): Effect.fn.Return<A, E> {
  const before = yield* Clock.currentTimeMillis
  const answer = yield* ask
  // A store that does not tell its time is not compared: no comparison with NaN holds.
  const apart = wordsOf(before, timeIn(answer), yield* Clock.currentTimeMillis)
  if (apart !== undefined) {
    yield* Effect.logWarning(
      `this machine's clock is ${apart} that of ${store}: codes and tokens end too early or too late, and what one server issues another may refuse. Let a time service (chrony, systemd-timesyncd) set both`
    )
  }
  return answer
})
