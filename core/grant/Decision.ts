import { Result } from "effect"
import type { Grant } from "./Grant.ts"

/** What a step comes to: what to keep (`undefined`: as it is), and what to say. A refusal may keep something too. */
export interface Decision<A, E, G = Grant> {
  readonly next: G | undefined
  readonly outcome: Result.Result<A, E>
}

export const answer = <A>(value: A): Decision<A, never, never> => ({ next: undefined, outcome: Result.succeed(value) })

export const answerAndKeep = <A, G>(next: G, value: A): Decision<A, never, G> => ({
  next,
  outcome: Result.succeed(value)
})

export const refuse = <E>(refusal: E): Decision<never, E, never> => ({ next: undefined, outcome: Result.fail(refusal) })

export const refuseAndKeep = <E, G>(next: G, refusal: E): Decision<never, E, G> => ({
  next,
  outcome: Result.fail(refusal)
})
