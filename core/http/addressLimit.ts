import { Effect } from "effect"
import { type Allowance, type Limiter, networkOf, regionAllowance, regionOf } from "../ports/Limiter.ts"
import type { TooManyRequests } from "../rules/Refusal.ts"
import type { Call } from "./Route.ts"

/**
 * Takes one request from the share of its network, and from that of the IPv6 /48 around it. Where the runtime does not
 * know the peer, all have one share. `at`: what the network has this share of; without it, the whole workspace.
 */
export const takeOfAddress = (
  limiter: Limiter["Service"],
  call: Call,
  allowance: Allowance,
  at?: string
): Effect.Effect<void, TooManyRequests> => {
  const workspace = call.workspace.id
  const network = networkOf(call.request.peer ?? "")
  const region = regionOf(network)
  const named = (of: string): string => (at === undefined ? of : `${at} ${of}`)
  const taken = limiter.take({ allowance, workspace, of: named(network) })
  // What its network is refused takes nothing from its neighbours.
  return region === undefined
    ? taken
    : Effect.flatMapEager(taken, () =>
        limiter.take({ allowance: regionAllowance(allowance), workspace, of: named(region) })
      )
}
