import { Effect } from "effect"
import { entrant, hold } from "../measure/contest.ts"
import { startGenerator } from "../measure/Generator.ts"
import type { Result } from "../measure/Result.ts"
import { tessera } from "../servers/start.ts"
import type { Part } from "./Part.ts"

const part = "memory"
const workloads = ["bearer_check", "refresh", "client_credentials", "introspection"] as const
const sliceMillis = 2500

export const memory: Part = {
  name: part,
  about: "resident memory under load over SQLite with 1,000,000 grants (--soak: for ten minutes)",
  run: Effect.fnUntraced(function* (setting) {
    const { say, soak } = setting
    const store = yield* setting.million
    const generator = yield* startGenerator()
    const subject = yield* tessera(setting, { store, grants: 1_000_000, filled: true })
    const results: Array<Result> = []
    const slices = Math.max(1, Math.round((soak * 1000) / (sliceMillis * workloads.length)))
    const options = { ...setting.options, rounds: 1, firstWarmMillis: 100, millis: sliceMillis }
    for (let slice = 0; slice < slices; slice++) {
      for (const workload of workloads) {
        const entrants = [
          entrant({
            generator,
            options,
            workload,
            store: "sqlite",
            subjects: [subject],
            case: "1,000,000 grants",
            values: 12_800
          })
        ]
        results.push(...(yield* hold({ part, workload, entrants }, options, slice === 0 ? say : () => undefined)))
      }
    }
    // One result for each workload, its samples in the order of time.
    return workloads.flatMap((workload) => {
      const [first, ...rest] = results.filter((result) => result.workload === workload)
      return first === undefined
        ? []
        : [{ ...first, samples: [...first.samples, ...rest.flatMap(({ samples }) => samples)] }]
    })
  })
}
