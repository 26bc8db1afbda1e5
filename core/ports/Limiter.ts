import { Context, Effect, Layer } from "effect"
import type { Millis } from "../rules/Instant.ts"
import type { TooManyRequests } from "../rules/Refusal.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"

/** How much there may be of something for one key: `burst` at once, and one more with every `refill`. */
export interface Allowance {
  /** Names it in the log, and keeps its keys apart from those of others. */
  readonly name: string
  readonly burst: number
  readonly refill: Millis
}

export interface LimitKey {
  readonly allowance: Allowance
  readonly workspace: WorkspaceId
  /** Whose share it is: a client, a grant by its mark, a digest of an email, a network. Never a secret. */
  readonly of: string
}

/** What keeps one caller from taking everybody's share; between processes, where the implementation shares it. */
export class Limiter extends Context.Service<
  Limiter,
  {
    /** Takes `cost` (one, where none is said) from the share, or fails with how long to wait. */
    readonly take: (key: LimitKey, cost?: number) => Effect.Effect<void, TooManyRequests>
  }
>()("tessera/core/ports/Limiter") {
  /** No limits: for load tests, and for a host that limits in front. */
  static readonly layerNone = Layer.succeed(Limiter, { take: () => Effect.void })
}
