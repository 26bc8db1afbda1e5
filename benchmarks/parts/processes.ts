import { Effect } from "effect"
import { briefly, closely, entrant, hold, type Options } from "../measure/contest.ts"
import { canPin, type Subject, startGenerator } from "../measure/processes.ts"
import { freshDatabase } from "../measure/services.ts"
import type { Workload } from "../Plan.ts"
import type { Result } from "../report/Report.ts"
import { tessera } from "../servers/start.ts"
import type { Part } from "./Part.ts"

const part = "processes"
const cores = 2
/** Two processes and the generator on two cores are in each other's way by chance, so there are more rounds. */
const moreRounds = 4

export const processes: Part = {
  name: part,
  about: "1, 2 and 4 processes on two cores, which the load generator has to share",
  run: Effect.fnUntraced(function* (setting) {
    const close = closely(setting.options)
    const compared = { ...close, rounds: close.rounds + moreRounds }
    // No line of the budget: enough to see what limits a store, and what four do on two cores.
    const shown = briefly(setting.options)
    // Two servers on two cores leave it no core of its own. What it takes away is not to be a difference: it is in the
    // way of one server just as it is in the way of several.
    const beside = yield* startGenerator(0)
    const besideTheSecond = yield* startGenerator(cores - 1)
    const results: Array<Result> = []

    const measure = Effect.fnUntraced(function* (
      store: string,
      url: string,
      workloads: ReadonlyArray<Workload>,
      families: ReadonlyArray<number>,
      options: Options
    ) {
      const first = yield* tessera(setting, { store: url, core: 0 })
      const rest: Array<Subject> = []
      for (let n = 1; n < 4; n++) {
        const filled = store !== "memory"
        rest.push(yield* tessera(setting, { store: url, filled, ...(canPin ? { core: n % cores } : {}) }))
      }
      const enter = (workload: Workload, options: Options, counts: ReadonlyArray<number>) => {
        const entrants = counts.map((count) =>
          entrant({
            generator: count === 1 ? beside : besideTheSecond,
            options,
            workload,
            store,
            families,
            subjects: [first, ...rest.slice(0, count - 1)],
            connections: count * options.connections,
            case: count === 1 ? "1 process" : `${count} processes`
          })
        )
        return hold({ part, workload, entrants }, options, setting)
      }
      for (const workload of workloads) {
        results.push(...(yield* enter(workload, options, [1, 2])))
        results.push(...(yield* enter(workload, shown, [4])))
      }
    })

    yield* Effect.scoped(measure("memory", "memory:", ["client_credentials", "bearer_check"], [], compared))
    const postgres = yield* setting.postgres
    const url = yield* freshDatabase(postgres, "processes")
    yield* Effect.scoped(measure("postgres", url, ["refresh"], [postgres.server.pid() ?? 0], shown))
    return results
  })
}
