import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { postgresOptions } from "../server/openStorage.ts"
import { readSettings } from "../server/Settings.ts"
import { explain } from "./explain.ts"
import { failed } from "./Outcome.ts"
import { json, print } from "./output.ts"

const dryRun = Flag.Boolean("dry-run").pipe(
  Flag.withDescription("Only print the SQL that would be run"),
  Flag.withAlias("n"),
  Flag.withDefault(false)
)

export const migrate = Command.make("migrate", { dryRun, json }, (given) =>
  Effect.gen(function* () {
    const { database, storage } = yield* readSettings.pipe(Effect.mapError(explain))
    if (database._tag !== "Postgres") {
      const nothing = given.dryRun ? { pending: [], sql: "" } : { done: [] }
      return yield* print(given.json, nothing, ["This storage looks after itself at start."])
    }
    const adapter = yield* Effect.promise(() => import("../../adapters/postgres/Postgres.ts"))
    const options = postgresOptions(database.url, storage)
    const told = Effect.mapError((refusal: { readonly message: string }) => failed(refusal.message))
    if (given.dryRun) {
      const { pending, sql } = yield* adapter.plan(options).pipe(told)
      const lines = pending.length === 0 ? ["-- The database is up to date."] : sql.split("\n")
      return yield* print(given.json, { pending, sql }, lines)
    }
    const done = yield* adapter.migrate(options).pipe(told)
    const lines = done.length === 0 ? ["The database is up to date."] : done.map((name) => `${name}: done`)
    yield* print(given.json, { done }, lines)
  })
).pipe(
  Command.withDescription("Bring a PostgreSQL database up to date by hand; a server does so when it starts"),
  Command.withExamples([{ command: "tessera migrate --dry-run | psql" }])
)
