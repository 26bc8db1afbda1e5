import { Effect } from "effect"
import { entrant } from "../measure/contest.ts"
import { startGenerator } from "../measure/processes.ts"
import type { Sample } from "../Plan.ts"
import { tessera } from "../servers/start.ts"
import type { Part } from "./Part.ts"

const part = "memory"
const workloads = ["bearer_check", "refresh", "client_credentials", "introspection"] as const
/** More than the server keeps anything of. */
const values = 16_000
const sliceMillis = 1500
const grants = "1,000,000 grants"

export const memory: Part = {
  name: part,
  about: "resident memory under load over SQLite with 1,000,000 grants (--soak: for ten minutes)",
  run: Effect.fnUntraced(function* (setting) {
    const { say, soak } = setting
    const store = yield* setting.million
    const generator = yield* startGenerator()
    const server = tessera(setting, { store, grants: 1_000_000, filled: true })
    // Made by a process that then ends, so that what making them takes is not in the memory of what is measured.
    const plans = yield* Effect.scoped(
      Effect.flatMap(server, (maker) =>
        Effect.forEach(workloads, (workload) =>
          Effect.map(maker.prepare(workload, values), (plan) => [workload, plan] as const)
        )
      )
    )
    const watchedServer = yield* server
    const options = { ...setting.options, millis: sliceMillis }
    const watched = plans.map(([workload, plan]) => ({
      workload,
      samples: [] as Sample[],
      entrant: entrant({
        generator,
        options,
        workload,
        store: "sqlite",
        subjects: [{ ...watchedServer, prepare: () => Effect.succeed(plan) }],
        case: grants,
        values,
        keepsChain: true
      })
    }))
    for (const { entrant } of watched) yield* entrant.warm
    say(`${part}: warm, and now watched for ${soak} s`)
    const slices = Math.max(1, Math.round((soak * 1000) / ((sliceMillis + options.warmMillis) * workloads.length)))
    for (let slice = 0; slice < slices; slice++) {
      for (const { entrant, samples } of watched) samples.push(yield* entrant.turn)
    }
    // Samples in the order of time.
    return watched.map(({ workload, samples }) => ({
      part,
      workload,
      store: "sqlite",
      subject: watchedServer.name,
      runtime: watchedServer.runtime,
      case: grants,
      samples
    }))
  })
}
