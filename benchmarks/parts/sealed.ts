import { Effect } from "effect"
import { entrant, hold } from "../measure/contest.ts"
import { startGenerator } from "../measure/Generator.ts"
import { briefly, closely, type Options } from "../measure/Options.ts"
import type { Runtime } from "../measure/Subject.ts"
import { sealedFloor, tessera } from "../servers/start.ts"
import type { Workload } from "../Workload.ts"
import type { Part, Setting } from "./Part.ts"

const compared: ReadonlyArray<Workload> = [
  "client_credentials",
  "bearer_check",
  "introspection",
  "metadata",
  "code_exchange",
  "refresh"
]

const run = (part: string, runtime: Runtime, optionsOf: (options: Options) => Options) =>
  Effect.fnUntraced(function* (setting: Setting) {
    const { say } = setting
    const options = optionsOf(setting.options)
    const ours = yield* tessera(setting, { runtime })
    const floor = yield* sealedFloor(setting, runtime)
    const generator = yield* startGenerator()
    const held = yield* Effect.forEach(compared, (workload) => {
      const entrants = [ours, floor].map((subject) =>
        entrant({ generator, options, workload, subjects: [subject], keepsChain: true })
      )
      return hold({ part, workload, entrants }, options, say)
    })
    return held.flat()
  })

export const sealed: Part = {
  name: "sealed",
  about: "Tessera on Bun against the sealed floor on Bun.serve",
  run: run("sealed", "bun", closely)
}

export const sealedNode: Part = {
  name: "sealed-node",
  about: "Tessera on Node against the sealed floor on node:http",
  run: run("sealed-node", "node", briefly)
}
