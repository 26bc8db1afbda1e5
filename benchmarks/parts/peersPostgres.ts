import { Effect } from "effect"
import { entrant, hold } from "../measure/contest.ts"
import { startGenerator } from "../measure/Generator.ts"
import { installPeers } from "../measure/installPeers.ts"
import { freshDatabase } from "../measure/postgresDatabase.ts"
import { peer, tessera } from "../servers/start.ts"
import type { Part } from "./Part.ts"

const part = "peers-postgres"
/** Peers have to be asked for each of their refresh tokens. */
const values = 64

/** On the runtime that is cheaper for them in memory. The other peers leave all storing to whoever embeds them. */
const field = [
  { name: "oidc-provider", script: "oidcProvider.ts" },
  { name: "better-auth", script: "betterAuth.ts" }
]

export const peersPostgres: Part = {
  name: part,
  about: "Tessera beside other authorization servers, over PostgreSQL",
  run: Effect.fnUntraced(function* (setting) {
    const { say } = setting
    // No line of the budget.
    const options = { ...setting.options, rounds: 3, firstWarmMillis: 300, firstWarmRequests: 2000 }
    yield* installPeers(say)
    const postgres = yield* setting.postgres
    const ours = yield* tessera(setting, { store: yield* freshDatabase(postgres, "peers") })
    const theirs = yield* Effect.forEach(field, (one, n) =>
      Effect.flatMap(freshDatabase(postgres, `peer_${n}`), (url) =>
        peer(setting, { ...one, runtime: "bun", store: url, args: [`--postgres=${url}`] })
      )
    )
    const generator = yield* startGenerator()
    const held = yield* Effect.forEach(["client_credentials", "refresh"] as const, (workload) => {
      const entrants = [ours, ...theirs].map((subject) =>
        entrant({
          generator,
          options,
          workload,
          store: "postgres",
          values,
          subjects: [subject],
          families: [postgres.server.pid() ?? 0]
        })
      )
      return hold({ part, workload, entrants }, options, say)
    })
    return held.flat()
  })
}
