import { join } from "node:path"
import { Effect } from "effect"
import { throwawayFolder } from "../../test/harness/throwawayFolder.ts"
import { closely, entrant, hold } from "../measure/contest.ts"
import { startGenerator } from "../measure/processes.ts"
import { freshDatabase, freshRedis } from "../measure/services.ts"
import type { Workload } from "../Plan.ts"
import { tessera } from "../servers/start.ts"
import type { Part } from "./Part.ts"

const part = "lone"
const workloads: ReadonlyArray<Workload> = ["bearer_check", "refresh"]

export const lone: Part = {
  name: part,
  about: "one connection, with and without what lets calls travel together",
  run: Effect.fnUntraced(function* (setting) {
    // A single connection makes few requests, because each of them waits for a disk or another process.
    const options = {
      ...closely(setting.options),
      firstWarmRequests: Math.min(setting.options.firstWarmRequests, 1500)
    }
    const postgres = yield* setting.postgres
    const redis = yield* setting.redis
    const generator = yield* startGenerator()
    const folder = yield* throwawayFolder("bench-sqlite")
    const url = yield* freshRedis(redis)
    // Each has rows of its own, or it would lose swaps to the other and read what that has written.
    const urls = {
      memory: ["memory:", "memory:"],
      sqlite: [`sqlite:${join(folder, "together.db")}`, `sqlite:${join(folder, "apart.db")}`],
      postgres: [yield* freshDatabase(postgres, "lone"), yield* freshDatabase(postgres, "lone_apart")],
      redis: [`${url}/0`, `${url}/1`]
    } as const
    const held = yield* Effect.forEach(["memory", "sqlite", "postgres", "redis"] as const, (store) =>
      Effect.gen(function* () {
        const [together, apart] = urls[store]
        const subjects = [
          yield* tessera(setting, { store: together, name: "tessera" }),
          yield* tessera(setting, { store: apart, coalescing: false, name: "tessera, apart" })
        ]
        return yield* Effect.forEach(workloads, (workload) => {
          const entrants = subjects.map((subject) =>
            entrant({
              generator,
              options,
              workload,
              store,
              subjects: [subject],
              connections: 1,
              case: "1 connection",
              keepsChain: true
            })
          )
          return hold({ part, workload, entrants }, options, setting)
        })
      })
    )
    return held.flat(2)
  })
}
