import { join } from "node:path"
import { Effect } from "effect"
import { throwawayFolder } from "../../test/harness/throwawayFolder.ts"
import { briefly, closely, entrant, hold } from "../measure/contest.ts"
import { manyInPostgres, manyInRedis } from "../measure/manyGrants.ts"
import { type Subject, startGenerator } from "../measure/processes.ts"
import type { RedisServer } from "../measure/services.ts"
import { freshDatabase, redisServer } from "../measure/services.ts"
import type { Workload } from "../Plan.ts"
import type { Result } from "../report/Report.ts"
import { floorOverStore, tessera } from "../servers/start.ts"
import type { Part } from "./Part.ts"

const part = "growth"
const few = 1000
const many = 1_000_000
/** So many grants are in use on either side, with a token of each, or it is them that are compared. */
const values = few
const inWorkspaces = 10_000
const tokensInWorkspaces = 2000
/** What a grant costs to read, and to swap. */
const bare: ReadonlyArray<Workload> = ["bearer_check", "refresh"]
/** The same beside a client's secret. No code exchange: each makes a grant, and few would not be few for long. */
const withSecret: ReadonlyArray<Workload> = ["client_credentials", "introspection"]

interface Counted {
  /** Processes that count as the store's. */
  readonly families?: ReadonlyArray<number>
}

interface Side extends Counted {
  readonly url: string
}

interface Contestant extends Counted {
  readonly subject: Subject
}

export const growth: Part = {
  name: part,
  about: "1,000 and 1,000,000 stored grants, 1 and 1,000 workspaces, 1 to 256 connections",
  run: Effect.fnUntraced(function* (setting) {
    const { say } = setting
    const generator = yield* startGenerator()
    const results: Array<Result> = []

    /** What the same costs among few grants and among many. */
    const contest = Effect.fnUntraced(function* (
      store: string,
      workload: Workload,
      [small, large]: readonly [Contestant, Contestant]
    ) {
      const options = bare.includes(workload) ? closely(setting.options) : briefly(setting.options)
      const sides = [
        { ...small, name: "1,000 grants" },
        { ...large, name: "1,000,000 grants" }
      ]
      const entrants = sides.map(({ families, name, subject }) =>
        entrant({
          generator,
          options,
          workload,
          store,
          families: families ?? [],
          subjects: [subject],
          case: name,
          values,
          keepsChain: true
        })
      )
      results.push(...(yield* hold({ part, workload, entrants }, options, setting)))
    })

    const compare = (store: string, small: Side, large: Side) =>
      Effect.scoped(
        Effect.gen(function* () {
          const sides = [
            { ...small, subject: yield* tessera(setting, { store: small.url, grants: few }) },
            {
              ...large,
              subject: yield* tessera(setting, { store: large.url, grants: many, filled: store !== "memory" })
            }
          ] as const
          for (const workload of [...bare, ...withSecret]) yield* contest(store, workload, sides)
        })
      )

    /** How much it grows for anybody over such a file. */
    const compareFloors = (small: string, large: string) =>
      Effect.scoped(
        Effect.gen(function* () {
          const sides = [
            { subject: yield* floorOverStore(setting, small, few) },
            { subject: yield* floorOverStore(setting, large, many) }
          ] as const
          yield* contest("sqlite", "refresh", sides)
        })
      )

    say(`${part}: a million grants in memory`)
    yield* compare("memory", { url: "memory:" }, { url: "memory:" })

    const file = yield* setting.million
    const folder = yield* throwawayFolder("bench-sqlite")
    const fewInFile = `sqlite:${join(folder, "few.db")}`
    yield* compare("sqlite", { url: fewInFile }, { url: file })
    yield* compareFloors(fewInFile, file)

    const postgres = yield* setting.postgres
    say(`${part}: a million grants in PostgreSQL`)
    const families = [postgres.server.pid() ?? 0]
    const manyUrl = yield* freshDatabase(postgres, "many")
    yield* manyInPostgres(setting, postgres, manyUrl, many)
    yield* compare("postgres", { url: yield* freshDatabase(postgres, "few"), families }, { url: manyUrl, families })

    say(`${part}: a million grants in Redis`)
    yield* Effect.scoped(
      Effect.gen(function* () {
        // A log costs the same on either side, but begins with all that is there.
        const withoutLog = redisServer(say, { appendonly: "no" })
        const side = ({ server }: RedisServer): Side => ({ url: server.url, families: [server.pid() ?? 0] })
        const large = yield* withoutLog
        yield* manyInRedis(setting, large, many)
        yield* compare("redis", side(yield* withoutLog), side(large))
      })
    )

    yield* Effect.scoped(
      Effect.gen(function* () {
        // As many clients, grants and tokens on either side, or it is them that are compared.
        const all = { grants: inWorkspaces, clients: 1000 }
        const options = closely(setting.options)
        const one = yield* tessera(setting, all)
        const thousand = yield* tessera(setting, { ...all, workspaces: 1000 })
        for (const workload of ["client_credentials", "bearer_check"] as const) {
          const entrants = [
            { subject: one, name: "1 workspace" },
            { subject: thousand, name: "1,000 workspaces" }
          ].map(({ subject, name }) =>
            entrant({ generator, options, workload, subjects: [subject], case: name, values: tokensInWorkspaces })
          )
          results.push(...(yield* hold({ part, workload, entrants }, options, setting)))
        }
        // The same server as above, and no line of the budget: enough to see a curve.
        const short = { ...briefly(setting.options), rounds: 3, firstWarmMillis: 200, firstWarmRequests: 100 }
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
        results.push(...(yield* hold({ part, workload: "client_credentials", entrants }, short, setting)))
      })
    )
    return results
  })
}
