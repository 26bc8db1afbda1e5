import { Effect } from "effect"
import { closely, entrant, hold } from "../measure/contest.ts"
import { startGenerator } from "../measure/processes.ts"
import type { Sample, Workload } from "../Plan.ts"
import { tessera } from "../servers/start.ts"
import type { Part } from "./Part.ts"

const part = "strangers"
/** More than any cache of the server holds, which are full from then on; and its limits have counted this address. */
const mostFillers = 30_000
const refreshes = { registered: "refresh_registered", document: "refresh_document" } as const

/** Programs that nobody registered: what one costs that is known by its document, and what those leave that nobody approves. */
export const strangers: Part = {
  name: part,
  about:
    "clients with a metadata document beside registered ones, and strangers that nobody approves (--soak: a million)",
  run: Effect.fnUntraced(function* (setting) {
    const { isWanted, say, strangers: wanted } = setting
    const generator = yield* startGenerator()
    const options = closely(setting.options)
    const known = yield* tessera(setting, { strangers: true })
    const entrants = (["registered", "document"] as const).map((name) =>
      entrant({
        generator,
        options,
        workload: "refresh",
        subjects: [{ ...known, prepare: (_, count) => known.prepare(refreshes[name], count) }],
        case: name,
        keepsChain: true
      })
    )
    const refreshed = yield* hold({ part, workload: "refresh", entrants }, options, setting)

    const comeAndGo = Effect.fnUntraced(function* (workload: Workload) {
      const server = yield* tessera(setting, { strangers: true })
      const turns = { ...setting.options, millis: wanted < mostFillers ? 500 : 2000 }
      const { turn } = entrant({ generator, options: turns, workload, subjects: [server], case: "unknown" })
      const samples: Array<Sample> = []
      let came = 0
      const next = Effect.map(turn, (sample) => {
        came += sample.requests
        return sample
      })
      while (came < Math.min(mostFillers, wanted)) yield* next
      const before = yield* server.rows
      came = 0
      while (came < wanted) samples.push({ ...(yield* next), rows: (yield* server.rows) - before })
      say(`${part}: ${workload}: ${came} came, and ${(yield* server.rows) - before} records are left`)
      return {
        part,
        workload,
        store: "memory",
        subject: server.name,
        runtime: server.runtime,
        case: "unknown",
        samples
      }
    })
    const kinds = (["stranger_document", "stranger_registration"] as const).filter((workload) =>
      isWanted({ part, workload, subject: "tessera", store: "memory", case: "unknown" })
    )
    return [...refreshed, ...(yield* Effect.forEach(kinds, (workload) => Effect.scoped(comeAndGo(workload))))]
  })
}
