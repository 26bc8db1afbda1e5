import { Effect } from "effect"
import { ClientId } from "../../core/rules/Id.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { closely, entrant, hold, type Options } from "../measure/contest.ts"
import { fillStores } from "../measure/manyGrants.ts"
import { type Subject, startGenerator } from "../measure/processes.ts"
import { pgbench, redisBenchmark, sqliteLoop } from "../measure/programs.ts"
import type { Workload } from "../Plan.ts"
import type { Result } from "../report/Report.ts"
import { floorOverStore, tessera } from "../servers/start.ts"
import { grantAt } from "../servers/tessera/grants.ts"
import type { Part } from "./Part.ts"

const part = "stores"
const grants = 50_000
/** So many that calls which meet seldom ask for the same. */
const values = 12_800
/** A database's checkpoints and the start of 64 processes weigh on its own program, so that has long turns. */
const programMillis = 2500

export const stores: Part = {
  name: part,
  about: "each store beside what its own benchmark program makes of like rows with the same statements",
  run: Effect.fnUntraced(function* (setting) {
    const { say } = setting
    // The stores were filled by somebody else, so nothing of a server here has run before.
    const options = { ...setting.options, firstWarmRequests: 2 * setting.options.firstWarmRequests }
    // Beside such a program ours are not to be a moment that the host was quiet in, or was not.
    const long = { ...options, millis: 2 * options.millis }
    const short = { ...options, rounds: Math.min(options.rounds, 3), firstWarmRequests: 2000 }
    const { connections } = options
    const programTime = Math.min(programMillis, 8 * options.millis)
    const postgres = yield* setting.postgres
    const redis = yield* setting.redis
    say(`${part}: filling the stores`)
    const filled = yield* fillStores(setting, postgres, redis, grants)
    const generator = yield* startGenerator()
    const database = {
      postgres: [postgres.server.pid() ?? 0],
      redis: [redis.server.pid() ?? 0],
      sqlite: [],
      memory: []
    }
    const subjects = {
      memory: yield* tessera(setting, { grants }),
      sqlite: yield* tessera(setting, { grants, filled: true, store: filled.tessera.sqlite }),
      postgres: yield* tessera(setting, { grants, filled: true, store: filled.tessera.postgres }),
      redis: yield* tessera(setting, { grants, filled: true, store: filled.tessera.redis })
    }
    const floors = {
      sqlite: yield* floorOverStore(setting, filled.floor.sqlite, grants),
      postgres: yield* floorOverStore(setting, filled.floor.postgres, grants),
      redis: yield* floorOverStore(setting, filled.floor.redis, grants)
    }
    const enterAs = (subject: Subject, store: keyof typeof subjects, workload: Workload, how: Options) =>
      entrant({
        generator,
        options: how,
        workload,
        store,
        values,
        keepsChain: true,
        subjects: [subject],
        families: database[store]
      })
    const enter = (store: keyof typeof subjects, workload: Workload, how = options) =>
      enterAs(subjects[store], store, workload, how)
    const floor = (store: keyof typeof floors, workload: Workload) => enterAs(floors[store], store, workload, long)
    const all = ["memory", "sqlite", "postgres", "redis"] as const
    const results: Array<Result> = []

    // What is compared has its turns beside each other: the nearer they are, the more alike they are disturbed. Here
    // that is memory with each of the others, and below a store with its program.
    const around = ["sqlite", "postgres", "memory", "redis"] as const
    const issuing = around.map((store) => enter(store, "client_credentials", closely(options)))
    results.push(
      ...(yield* hold({ part, workload: "client_credentials", entrants: issuing }, closely(options), setting))
    )

    const select = yield* pgbench(postgres, filled.programs.postgres, "select", grants, connections, programTime)
    const check = (store: keyof typeof subjects, how = options) => enter(store, "bearer_check", how)
    const checks = [
      check("memory"),
      check("sqlite"),
      check("redis"),
      check("postgres", long),
      select,
      floor("postgres", "bearer_check")
    ]
    results.push(...(yield* hold({ part, workload: "bearer_check", entrants: checks }, long, setting)))

    // As long as a grant is that the server has stored, command id included.
    const client = ClientId.make("A".repeat(22))
    const now = Instant.make(Date.now())
    const body = JSON.stringify({ ...grantAt(1, client, "00000000", now), _v: 1, _by: "0".repeat(18) })
    const refresh = (store: keyof typeof subjects, how = long) => enter(store, "refresh", how)
    const swaps = [
      refresh("memory", options),
      refresh("sqlite"),
      yield* sqliteLoop(filled.programs.sqlite, grants, long.millis),
      floor("sqlite", "refresh"),
      refresh("postgres"),
      yield* pgbench(postgres, filled.programs.postgres, "swap", grants, connections, programTime),
      refresh("redis"),
      yield* redisBenchmark(redis, grants, body, connections, programTime),
      floor("redis", "refresh")
    ]
    results.push(...(yield* hold({ part, workload: "refresh", entrants: swaps }, long, setting)))

    // No line of the budget, and last, because each adds a client.
    const registering = all.map((store) => enter(store, "registration", short))
    results.push(...(yield* hold({ part, workload: "registration", entrants: registering }, short, setting)))
    return results
  })
}
