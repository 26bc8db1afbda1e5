import { Effect } from "effect"
import { type Allowance, type Limiter, networkOf } from "../ports/Limiter.ts"
import type { TooManyRequests } from "../rules/Refusal.ts"
import type { Call } from "./Route.ts"

/** Takes one request from the share of its network; not counted if the runtime does not know the peer. */
export const takeOfAddress = (
  limiter: Limiter["Service"],
  call: Call,
  allowance: Allowance
): Effect.Effect<void, TooManyRequests> =>
  call.request.peer === undefined
    ? Effect.void
    : limiter.take({ allowance, workspace: call.workspace.id, of: networkOf(call.request.peer) })
