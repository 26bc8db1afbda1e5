import { Effect } from "effect"
import { briefly, closely, entrant, finely, hold, type Options } from "../measure/contest.ts"
import { type Runtime, startGenerator } from "../measure/processes.ts"
import type { Workload } from "../Plan.ts"
import { bareFloor, sealedFloor, tessera } from "../servers/start.ts"
import type { Part, Setting } from "./Part.ts"

const compared: ReadonlyArray<Workload> = [
  "client_credentials",
  "bearer_check",
  "introspection",
  "metadata",
  "code_exchange",
  "refresh"
]

const run = (part: string, runtime: Runtime, workloads: ReadonlyArray<Workload>, how: (options: Options) => Options) =>
  Effect.fnUntraced(function* (setting: Setting) {
    const options = how(setting.options)
    const ours = yield* tessera(setting, { runtime })
    const floor = yield* sealedFloor(setting, runtime)
    const generator = yield* startGenerator()
    const held = yield* Effect.forEach(workloads, (workload) => {
      const entrants = [ours, floor].map((subject) =>
        entrant({ generator, options, workload, subjects: [subject], keepsChain: true })
      )
      return hold({ part, workload, entrants }, options, setting)
    })
    return held.flat()
  })

/** What the log of tokens costs: everything else is on. */
const auditCost = Effect.fnUntraced(function* (setting: Setting) {
  const options = closely(setting.options)
  const subjects = [yield* tessera(setting), yield* tessera(setting, { name: "tessera, no audit", without: ["audit"] })]
  const generator = yield* startGenerator()
  const workload = "client_credentials" as const
  const entrants = subjects.map((subject) => entrant({ generator, options, workload, subjects: [subject] }))
  return yield* hold({ part: "audit", workload, entrants }, options, setting)
})

export const audit: Part = {
  name: "audit",
  about: "client_credentials with and without the log of tokens",
  run: auditCost
}

export const sealed: Part = {
  name: "sealed",
  about: "Tessera on Bun against the sealed floor on Bun.serve",
  // Some of these lie within a tenth of their aim.
  run: run("sealed", "bun", [...compared, "userinfo"], finely)
}

export const sealedNode: Part = {
  name: "sealed-node",
  about: "Tessera on Node against the sealed floor on node:http",
  run: run("sealed-node", "node", compared, closely)
}

const floorsPart = "floors"

export const floors: Part = {
  name: floorsPart,
  about:
    "client_credentials with and without audit and limits, beside bare servers, and what the load generator can do at most",
  run: Effect.fnUntraced(function* (setting) {
    // No line of the budget: enough to see what is left when Tessera is taken away.
    const options = { ...briefly(setting.options), rounds: 3 }
    const workload = "client_credentials" as const
    const subjects = [
      yield* tessera(setting),
      yield* tessera(setting, { name: "tessera, no audit, no limits", without: ["audit", "limits"] }),
      yield* bareFloor(setting, "bun"),
      yield* bareFloor(setting, "elysia"),
      yield* bareFloor(setting, "node"),
      yield* bareFloor(setting, "nothing")
    ]
    const generator = yield* startGenerator()
    const entrants = subjects.map((subject) => entrant({ generator, options, workload, subjects: [subject] }))
    return yield* hold({ part: floorsPart, workload, entrants }, options, setting)
  })
}
