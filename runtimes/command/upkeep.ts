import { Console, Effect, Redacted, Result } from "effect"
import { Command, Flag } from "effect/cli"
import { memory } from "../../adapters/memory/store.ts"
import type { Opening, Store } from "../../adapters/StoreKind.ts"
import { openApiDocument } from "../../core/openapi/openApiDocument.ts"
import { Tessera } from "../../core/Tessera.ts"
import { parseKeyRing } from "../../core/token/KeyRing.ts"
import { application } from "../server/application.ts"
import { sweepAll } from "../server/housekeeping.ts"
import { newSealKey } from "../server/SealKeyFile.ts"
import { readSettings, type Settings } from "../server/Settings.ts"
import { administerAll } from "./administration.ts"
import { examples, explain, failed, json, print } from "./output.ts"

/** Whether the next start of a server brings this database up to date. */
export const startBringsUpToDate = (database: Store, opening: Opening): boolean =>
  database.migrate?.(opening).atStart ?? true

/** What to do about a database that is not up to date. */
export const bringUpToDate = (database: Store, opening: Opening): string => {
  if (!startBringsUpToDate(database, opening)) return "Run: tessera migrate"
  const start = "A server of this release does so when it starts"
  return database.migrate !== undefined ? `${start}, and \`tessera migrate\` does so now.` : `${start}.`
}

const dryRun = Flag.Boolean("dry-run").pipe(
  Flag.withDescription("Only print the SQL that would be run"),
  Flag.withAlias("n"),
  Flag.withDefault(false)
)

export const migrate = Command.make("migrate", { dryRun, json }, (given) =>
  Effect.gen(function* () {
    const { database, storage } = yield* readSettings.pipe(Effect.mapError(explain))
    if (database.migrate === undefined) {
      const nothing = given.dryRun ? { pending: [], sql: "" } : { done: [] }
      return yield* print(given.json, nothing, ["This storage looks after itself at start."])
    }
    const migrator = database.migrate(storage)
    const told = Effect.mapError((refusal: { readonly message: string }) => failed(refusal.message))
    if (given.dryRun) {
      const { pending, sql } = yield* migrator.plan.pipe(told)
      const lines = pending.length === 0 ? ["-- The database is up to date."] : sql.split("\n")
      return yield* print(given.json, { pending, sql }, lines)
    }
    const done = yield* migrator.run.pipe(told)
    const lines = done.length === 0 ? ["The database is up to date."] : done.map((name) => `${name}: done`)
    yield* print(given.json, { done }, lines)
  })
).pipe(
  Command.withDescription("Bring a PostgreSQL database up to date by hand; a server does so when it starts"),
  examples("tessera migrate --dry-run | psql")
)

export const sweep = Command.make("sweep", { json }, (given) =>
  administerAll(function* ({ services }) {
    const removed = yield* sweepAll(services.storage)
    yield* print(given.json, { removed }, [`${removed} expired records removed.`])
  })
).pipe(Command.withDescription("Remove what has expired; a server that runs does so every minute"))

const fresh = Command.make("new", {}, () => Console.log(Redacted.value(newSealKey()))).pipe(
  Command.withDescription(
    "Print a fresh seal key. Put it in front of the others in SEAL_KEYS, or in the file beside the database, with a comma between: the first seals, all open, and no session ends"
  ),
  examples("SEAL_KEYS=$(tessera seal-keys new) tessera serve")
)

export const sealKeys = Command.make("seal-keys").pipe(
  Command.withDescription("Make keys that tokens are sealed with"),
  Command.withSubcommands([fresh])
)

/** What a server with these settings would answer at `/openapi.json`: from the same application, over nothing. */
const describeApi = (settings: Settings) =>
  Effect.flatMap(Effect.orDie(Effect.fromResult(memory.at("memory:"))), (database) =>
    Tessera.pipe(
      Effect.map(({ services }) => openApiDocument(services, settings.workspace)),
      Effect.provide(application({ ...settings, database }, Result.getOrThrow(parseKeyRing(newSealKey()))))
    )
  )

export const openapi = Command.make("openapi", {}, () =>
  Effect.gen(function* () {
    const settings = yield* readSettings
    yield* Console.log(JSON.stringify(yield* describeApi(settings), undefined, 2))
  }).pipe(Effect.mapError(explain))
).pipe(
  Command.withDescription("Print the OpenAPI document of a server that is configured like this; no storage is opened"),
  examples("BASE_URL=https://auth.example.com tessera openapi > openapi.json")
)
