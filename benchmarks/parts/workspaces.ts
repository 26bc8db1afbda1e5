import { Effect } from "effect"
import { entrant, finely, hold } from "../measure/contest.ts"
import { startGenerator } from "../measure/processes.ts"
import type { Result } from "../report/Report.ts"
import { tessera } from "../servers/start.ts"
import type { Part } from "./Part.ts"

const part = "workspaces"
/** As many clients, grants and tokens on either side, or it is them that are compared. */
const all = { grants: 10_000, clients: 10_000 }

/** What a request costs where one workspace has all clients, and where each has a workspace of its own, all in use in turn. */
export const workspaces: Part = {
  name: part,
  about: "1 and 10,000 workspaces in one process, a client and a token of each in turn",
  run: Effect.fnUntraced(function* (setting) {
    const generator = yield* startGenerator()
    const options = finely(setting.options)
    const results: Array<Result> = []
    const one = yield* tessera(setting, all)
    const many = yield* tessera(setting, { ...all, workspaces: 10_000 })
    for (const workload of ["client_credentials", "bearer_check"] as const) {
      const entrants = [
        { subject: one, name: "1 workspace" },
        { subject: many, name: "10,000 workspaces" }
      ].map(({ subject, name }) =>
        entrant({ generator, options, workload, subjects: [subject], case: name, values: all.grants })
      )
      results.push(...(yield* hold({ part, workload, entrants }, options, setting)))
    }
    return results
  })
}
