import { Schema } from "effect"
import type { Instant } from "./Instant.ts"
import type { Refusal } from "./Refusal.ts"

/** What something is good once for. A value that was taken for one purpose is free for every other. */
export const Purpose = Schema.Literals(["set-up", "client-assertion", "dpop-proof"])
export type Purpose = typeof Purpose.Type

/**
 * What a request shows that is good once, such as the `jti` of a proof whose signature held. The store has the last word,
 * so it is a value until something spends it.
 */
export interface GoodOnce<E extends Refusal = Refusal> {
  readonly purpose: Purpose
  readonly value: string
  /** From then on what was shown is refused for its age, so that it need not be remembered. */
  readonly until: Instant
  /** What another request with the same gets. */
  readonly refusal: E
}
