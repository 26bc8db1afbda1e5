import { Effect, Option } from "effect"
import type { Instant } from "../rules/Instant.ts"
import type { TooManyRequests } from "../rules/Refusal.ts"
import type { Attempt, SignInThrottle } from "./SignInThrottle.ts"

/** An attempt that is turned away where it comes too soon, and counts unless it was right or came to no answer. */
export const throttled = <A, E>(
  throttle: SignInThrottle | undefined,
  attempt: Attempt,
  now: Instant,
  trying: Effect.Effect<A, E>,
  wasRight: (outcome: A) => boolean
): Effect.Effect<A, E | TooManyRequests> => {
  if (throttle === undefined) return trying
  return Effect.suspend((): Effect.Effect<A, E | TooManyRequests> => {
    const tooMany = throttle.begin(attempt, now)
    if (Option.isSome(tooMany)) return tooMany.value
    const counted = Effect.onError(trying, () => Effect.sync(() => throttle.abandon(attempt, now)))
    return Effect.map(counted, (outcome) => {
      if (wasRight(outcome)) throttle.succeed(attempt, now)
      return outcome
    })
  })
}
