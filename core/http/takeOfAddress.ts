import { Effect } from "effect"
import type { Allowance, Limiter } from "../ports/Limiter.ts"
import { networkOf } from "../rules/Network.ts"
import type { TooManyRequests } from "../rules/Refusal.ts"
import type { Call } from "./Call.ts"

/** Takes from the share of the address that a request came from; where the runtime knows none, nothing is counted. */
export const takeOfAddress = (
  limiter: Limiter["Service"],
  call: Call,
  allowance: Allowance
): Effect.Effect<void, TooManyRequests> =>
  call.request.peer === undefined
    ? Effect.void
    : limiter.take({ allowance, workspace: call.workspace.id, of: networkOf(call.request.peer) })
