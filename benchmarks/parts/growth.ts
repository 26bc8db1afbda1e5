import { join } from "node:path"
import { Effect } from "effect"
import { throwawayFolder } from "../../test/harness/throwawayFolder.ts"
import { entrant, hold } from "../measure/contest.ts"
import { freshDatabase } from "../measure/databaseUrl.ts"
import { startGenerator } from "../measure/Generator.ts"
import { manyInPostgres } from "../measure/manyGrants.ts"
import { closely } from "../measure/Options.ts"
import type { Result } from "../measure/Result.ts"
import { tessera } from "../servers/start.ts"
import type { Workload } from "../Workload.ts"
import type { Part } from "./Part.ts"

const part = "growth"
const few = 1000
const many = 1_000_000
/** So many grants are in use on either side, with a token of each, or it is them that are compared. */
const values = few
const inWorkspaces = 10_000
const tokensInWorkspaces = 2000
const workloads: ReadonlyArray<Workload> = ["bearer_check", "refresh"]

export const growth: Part = {
  name: part,
  about: "1,000 and 1,000,000 stored grants, 1 and 1,000 workspaces, 1 to 256 connections",
  run: Effect.fnUntraced(function* (setting) {
    const { say } = setting
    const options = closely(setting.options)
    const generator = yield* startGenerator()
    const results: Array<Result> = []

    const compare = (
      store: string,
      urls: { readonly few: string; readonly many: string; readonly filled: boolean },
      families: ReadonlyArray<number>
    ) =>
      Effect.scoped(
        Effect.gen(function* () {
          const small = yield* tessera(setting, { store: urls.few, grants: few })
          const large = yield* tessera(setting, { store: urls.many, grants: many, filled: urls.filled })
          for (const workload of workloads) {
            const entrants = [
              { subject: small, name: "1,000 grants" },
              { subject: large, name: "1,000,000 grants" }
            ].map(({ subject, name }) =>
              entrant({
                generator,
                options,
                workload,
                store,
                families,
                subjects: [subject],
                case: name,
                values,
                keepsChain: true
              })
            )
            results.push(...(yield* hold({ part, workload, entrants }, options, say)))
          }
        })
      )

    say(`${part}: a million grants in memory`)
    yield* compare("memory", { few: "memory:", many: "memory:", filled: false }, [])

    const file = yield* setting.million
    const folder = yield* throwawayFolder("bench-sqlite")
    yield* compare("sqlite", { few: `sqlite:${join(folder, "few.db")}`, many: file, filled: true }, [])

    const postgres = yield* setting.postgres
    say(`${part}: a million grants in PostgreSQL`)
    const urls = {
      few: yield* freshDatabase(postgres, "few"),
      many: yield* freshDatabase(postgres, "many"),
      filled: true
    }
    yield* manyInPostgres(setting, postgres, urls.many, many)
    yield* compare("postgres", urls, [postgres.server.pid() ?? 0])

    yield* Effect.scoped(
      Effect.gen(function* () {
        // As many clients, grants and tokens on either side, or it is them that are compared.
        const all = { grants: inWorkspaces, clients: 1000 }
        const one = yield* tessera(setting, all)
        const thousand = yield* tessera(setting, { ...all, workspaces: 1000 })
        for (const workload of ["client_credentials", "bearer_check"] as const) {
          const entrants = [
            { subject: one, name: "1 workspace" },
            { subject: thousand, name: "1,000 workspaces" }
          ].map(({ subject, name }) =>
            entrant({ generator, options, workload, subjects: [subject], case: name, values: tokensInWorkspaces })
          )
          results.push(...(yield* hold({ part, workload, entrants }, options, say)))
        }
        // The same server as above, and no line of the budget: enough to see a curve.
        const short = { ...setting.options, rounds: 3, firstWarmMillis: 200, firstWarmRequests: 100 }
        const entrants = [1, 4, 16, 64, 256].map((connections) =>
          entrant({
            generator,
            options: short,
            workload: "client_credentials",
            subjects: [one],
            connections,
            case: `${connections} connections`
          })
        )
        results.push(...(yield* hold({ part, workload: "client_credentials", entrants }, short, say)))
      })
    )
    return results
  })
}
