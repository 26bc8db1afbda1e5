import { Effect } from "effect"
import { entrant, hold, sparingly, warmly } from "../measure/contest.ts"
import { type Subject, startGenerator } from "../measure/processes.ts"
import type { Workload } from "../Plan.ts"
import { guarded, peer, signaturesFloor, tessera } from "../servers/start.ts"
import type { Part } from "./Part.ts"
import { installPeers } from "./peers.ts"

const part = "signatures"

/** Clients that sign, tokens that others can read, a resource server that reads them, and people who sign in. */
export const signatures: Part = {
  name: part,
  about: "Tessera beside the same form, seal, JSON and call of jose on bare Bun.serve, and beside oidc-provider",
  run: Effect.fnUntraced(function* (setting) {
    yield* installPeers(setting.say)
    const options = warmly(sparingly(setting.options))
    const ours = yield* tessera(setting, { signing: "ES256" })
    const eddsa = yield* tessera(setting, { signing: "EdDSA" })
    const floor = yield* signaturesFloor(setting)
    const guard = yield* guarded(setting)
    const theirs = yield* peer(setting, {
      name: "oidc-provider",
      store: "memory:",
      script: "oidcProvider.ts",
      runtime: "bun",
      args: ["--signatures=on"]
    })
    const contests: ReadonlyArray<readonly [Workload, ReadonlyArray<Subject>]> = [
      ["assertion_es256", [ours, floor, theirs]],
      ["assertion_eddsa", [ours, floor, theirs]],
      ["assertion_ps256", [ours, floor, theirs]],
      ["jwt_es256", [ours, floor, theirs]],
      ["jwt_eddsa", [eddsa, floor, theirs]],
      ["jwt_guard", [guard, floor]],
      ["id_token", [ours, floor, theirs]]
    ]
    const generator = yield* startGenerator()
    const held = yield* Effect.forEach(contests, ([workload, subjects]) => {
      const entrants = subjects.map((subject) => entrant({ generator, options, workload, subjects: [subject] }))
      return hold({ part, workload, entrants }, options, setting)
    })
    return held.flat()
  })
}
