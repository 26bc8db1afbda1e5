import { Effect } from "effect"
import { entrant, hold, sparingly, warmly } from "../measure/contest.ts"
import { startGenerator } from "../measure/processes.ts"
import { peer, proofsFloor, tessera } from "../servers/start.ts"
import type { Part } from "./Part.ts"
import { installPeers } from "./peers.ts"

const part = "proofs"

/** More grants than a turn refreshes. */
const grants = 20_000

const workloads = ["dpop_push", "dpop_code", "dpop_refresh", "dpop_guard"] as const

/** Tokens that are bound to a key: each request proves it anew. */
export const proofs: Part = {
  name: part,
  about:
    "Tessera with PAR and DPoP beside the same form, seal, JSON and call of jose on bare Bun.serve, and beside oidc-provider",
  run: Effect.fnUntraced(function* (setting) {
    yield* installPeers(setting.say)
    const options = warmly(sparingly(setting.options))
    const ours = yield* tessera(setting, { signing: "ES256", grants })
    const floor = yield* proofsFloor(setting)
    const theirs = yield* peer(setting, {
      name: "oidc-provider",
      store: "memory:",
      script: "oidcProvider.ts",
      runtime: "bun",
      args: ["--proofs=on"]
    })
    const generator = yield* startGenerator()
    const held = yield* Effect.forEach(workloads, (workload) => {
      const entrants = [ours, floor, theirs].map((subject) =>
        entrant({ generator, options, workload, subjects: [subject] })
      )
      return hold({ part, workload, entrants }, options, setting)
    })
    return held.flat()
  })
}
