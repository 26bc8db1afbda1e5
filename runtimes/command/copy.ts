import { Config, Console, Context, Effect, Layer, Option, Redacted, Result } from "effect"
import { Command, Flag } from "effect/cli"
import { type Copied, copy as copyRecords, type Progress, type Side } from "../../adapters/copy/copy.ts"
import { Storage, StorageScan } from "../../core/ports/Storage.ts"
import { openStorage } from "../server/openStorage.ts"
import { sealKeyFileOf } from "../server/SealKeyFile.ts"
import {
  type DatabaseUrl,
  databaseUrlExpected,
  describeDatabase,
  parseDatabaseUrl,
  readStorageSettings,
  type StorageSettings,
  storageNames
} from "../server/StorageSettings.ts"
import { complaint, type Variable } from "../server/Variable.ts"
import { lookAt } from "./administration.ts"
import { type CommandFailed, failed, json, misused, notFound, print, refused, table } from "./output.ts"
import { bringUpToDate } from "./upkeep.ts"

const store = (side: "from" | "to", description: string) =>
  Flag.Redacted(side).pipe(
    Flag.withDescription(
      `${description}: ${databaseUrlExpected}. COPY_${side.toUpperCase()} in the environment does the same, and no other user of the machine sees its password`
    ),
    Flag.withFallbackConfig(Config.Redacted(`COPY_${side.toUpperCase()}`))
  )

const name = (side: "from" | "to") =>
  Flag.String(`${side}-name`).pipe(
    Flag.withDescription("The POSTGRES_SCHEMA or REDIS_PREFIX there, where it is not that of the environment"),
    Flag.optional
  )

const overwrite = Flag.Boolean("overwrite").pipe(
  Flag.withDescription("Make the target what the source is, even if that changes or removes what it holds"),
  Flag.withDefault(false)
)

interface Place {
  readonly database: Exclude<DatabaseUrl, { readonly _tag: "Memory" }>
  readonly settings: StorageSettings
  readonly migrations: "run" | "check"
  readonly name: string
}

/** The settings of the environment, but for the name that was given for this side. */
const settingsAt = (
  side: "from" | "to",
  database: Place["database"],
  own: Option.Option<string>,
  settings: StorageSettings
): Effect.Effect<Pick<Place, "name" | "settings">, CommandFailed> => {
  const nameBy = ({ expected, read }: Variable<string>, otherwise: string) =>
    Option.match(own, {
      onNone: () => Effect.succeed(otherwise),
      onSome: (given) =>
        Effect.mapError(Effect.fromOption(read(given)), () => misused(complaint(`--${side}-name`, expected)))
    })
  const { postgres, redis } = settings
  switch (database._tag) {
    case "Sqlite":
      return Option.isNone(own)
        ? Effect.succeed({ name: "", settings })
        : Effect.fail(misused(`--${side}-name: a file has neither schema nor prefix`))
    case "Postgres":
      return Effect.map(nameBy(storageNames.schema, postgres.schema), (schema) => ({
        name: schema,
        settings: { ...settings, postgres: { ...postgres, schema } }
      }))
    case "Redis":
      return Effect.map(nameBy(storageNames.prefix, redis.prefix), (prefix) => ({
        name: prefix,
        settings: { ...settings, redis: { ...redis, prefix } }
      }))
  }
}

const placeOf = Effect.fnUntraced(function* (
  side: "from" | "to",
  url: Redacted.Redacted<string>,
  own: Option.Option<string>,
  settings: StorageSettings
): Effect.fn.Return<Place, CommandFailed> {
  const parsed = parseDatabaseUrl(Redacted.value(url))
  if (Result.isFailure(parsed)) return yield* misused(complaint(`--${side}`, databaseUrlExpected))
  const database = parsed.success
  if (database._tag === "Memory") return yield* misused(`--${side}: a process's memory is its own`)
  return {
    database,
    // A copy reads its source and changes nothing there, not even the form of its tables.
    migrations: side === "from" ? "check" : "run",
    ...(yield* settingsAt(side, database, own, settings))
  }
})

const locationOf = ({ database, name }: Place): string =>
  database._tag === "Sqlite" ? database.path : `${Redacted.value(database.url)} ${name}`

const opened = ({ database, migrations, settings }: Place) =>
  Effect.map(
    Layer.build(Layer.fresh(openStorage(database, settings, migrations))),
    (services): Side => ({ storage: Context.get(services, Storage), scan: Context.get(services, StorageScan).scan })
  ).pipe(
    Effect.mapError(({ message, reason }) =>
      failed(reason === "outdated" ? `${message}. ${bringUpToDate(database, settings)}` : message)
    )
  )

const isThere = (path: string): Effect.Effect<boolean, CommandFailed> =>
  lookAt(path).pipe(
    Effect.map((found) => found !== undefined),
    Effect.mapError(({ message }) => failed(message))
  )

/** Tokens are sealed with keys that no store holds: without them, everybody would have to sign in again. */
const advice = Effect.fnUntraced(function* (from: Place, to: Place) {
  const file = from.database._tag === "Sqlite" ? sealKeyFileOf(from.database.path) : undefined
  // The copy is done by now: a file that can't be looked at does not undo it.
  const there = file !== undefined && (yield* Effect.orElseSucceed(isThere(file), () => false))
  const keys = there ? file : "the SEAL_KEYS of the servers there"
  const place = to.database._tag === "Sqlite" ? `${sealKeyFileOf(to.database.path)} or SEAL_KEYS` : "SEAL_KEYS"
  return `The seal keys do not travel: what stands in ${keys} has to stand in ${place} before a server starts there.`
})

const progressOf = ({ kind, seen, written }: Progress) =>
  Console.error(`${kind}: ${seen} records, ${written} of them written`)

const report = (from: Place, to: Place, copied: ReadonlyArray<Copied>, keys: string): ReadonlyArray<string> => [
  `${describeDatabase(from.database)} -> ${describeDatabase(to.database)}`,
  "",
  ...table(
    ["KIND", "RECORDS", "WRITTEN", "DIGEST OF BOTH"],
    copied.map(({ kind, tally, written }) => [kind, `${tally.count}`, `${written}`, tally.digest.slice(0, 16)])
  ),
  "",
  "Both hold the same, by count and digest.",
  keys
]

export const copy = Command.make(
  "copy",
  {
    from: store("from", "Where the records are"),
    to: store("to", "Where they go"),
    fromName: name("from"),
    toName: name("to"),
    overwrite,
    json
  },
  (given) =>
    Effect.gen(function* () {
      const settings = yield* readStorageSettings.pipe(Effect.mapError((complaints) => misused(complaints.join("\n"))))
      const from = yield* placeOf("from", given.from, given.fromName, settings)
      const to = yield* placeOf("to", given.to, given.toName, settings)
      if (locationOf(from) === locationOf(to)) return yield* misused("--from and --to are the same.")
      if (from.database._tag === "Sqlite" && !(yield* isThere(from.database.path))) {
        return yield* notFound(`There is no ${from.database.path}.`)
      }
      const copied = yield* copyRecords(yield* opened(from), yield* opened(to), {
        overwrite: given.overwrite,
        onProgress: progressOf
      }).pipe(
        Effect.catchTags({
          TargetDiffers: ({ message }) =>
            Effect.fail(refused(`${message} Say --overwrite if that may be lost, or choose another target.`)),
          CopyDiffers: ({ message }) => Effect.fail(failed(message)),
          StorageUnavailable: ({ message }) => Effect.fail(failed(`${message}. Run it again: it goes on where it was.`))
        })
      )
      if (copied.every(({ tally }) => tally.count === 0)) return yield* notFound("The source holds no records.")
      yield* print(
        given.json,
        copied.map(({ kind, tally, written }) => ({ kind, written, ...tally })),
        report(from, to, copied, yield* advice(from, to))
      )
    }).pipe(Effect.scoped)
).pipe(
  Command.withDescription(
    "Copy everything from one storage to another, verified by counts and digests. Stop the servers first: a code or refresh token that is spent at the source after it was copied would be good again at the target. A copy that was interrupted goes on where it was when it is run again"
  ),
  Command.withExamples([
    { command: "tessera copy --from sqlite:./data/tessera.db --to postgres://tessera@db.internal/tessera" }
  ])
)
