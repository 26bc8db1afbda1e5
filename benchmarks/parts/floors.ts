import { Effect } from "effect"
import { entrant, hold } from "../measure/contest.ts"
import { startGenerator } from "../measure/Generator.ts"
import { briefly } from "../measure/Options.ts"
import { bareFloor, emptyServer, tessera } from "../servers/start.ts"
import type { Part } from "./Part.ts"

const part = "floors"

export const floors: Part = {
  name: part,
  about:
    "client_credentials with and without audit and limits, beside bare servers, and what the load generator can do at most",
  run: Effect.fnUntraced(function* (setting) {
    const { say } = setting
    // No line of the budget: enough to see what is left when Tessera is taken away.
    const options = { ...briefly(setting.options), rounds: 3 }
    const workload = "client_credentials" as const
    const subjects = [
      yield* tessera(setting),
      yield* tessera(setting, { name: "tessera, plain", plain: true }),
      yield* bareFloor(setting, "bun"),
      yield* bareFloor(setting, "elysia"),
      yield* bareFloor(setting, "node"),
      yield* emptyServer
    ]
    const generator = yield* startGenerator()
    const entrants = subjects.map((subject) => entrant({ generator, options, workload, subjects: [subject] }))
    return yield* hold({ part, workload, entrants }, options, say)
  })
}
