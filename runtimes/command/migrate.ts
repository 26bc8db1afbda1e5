import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { readSettings } from "../server/Settings.ts"
import { explain } from "./explain.ts"
import { failed } from "./Outcome.ts"
import { json, print } from "./output.ts"

const plan = Flag.Boolean("plan").pipe(
  Flag.withDescription("Only print the SQL that would be run"),
  Flag.withDefault(false)
)

export const migrate = Command.make("migrate", { plan, json }, (given) =>
  Effect.gen(function* () {
    const { database } = yield* readSettings.pipe(Effect.mapError(explain))
    if (database._tag !== "Postgres") {
      return yield* print(given.json, { pending: [], done: [] }, ["This storage looks after itself at start."])
    }
    const adapter = yield* Effect.promise(() => import("../../adapters/postgres/Postgres.ts"))
    const told = Effect.mapError((refusal: { readonly message: string }) => failed(refusal.message))
    if (given.plan) {
      const { pending, sql } = yield* adapter.plan({ url: database.url }).pipe(told)
      const lines = pending.length === 0 ? ["-- The database is up to date."] : sql.split("\n")
      return yield* print(given.json, { pending, sql }, lines)
    }
    const done = yield* adapter.migrate({ url: database.url }).pipe(told)
    const lines = done.length === 0 ? ["The database is up to date."] : done.map((name) => `${name}: done`)
    yield* print(given.json, { done }, lines)
  })
).pipe(Command.withDescription("Bring the database up to date by hand; a server does so when it starts"))
