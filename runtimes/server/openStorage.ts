import { Effect, Layer, Option } from "effect"
import type { PostgresOptions } from "../../adapters/postgres/Postgres.ts"
import type { Storage, StorageScan } from "../../core/ports/Storage.ts"
import { type DatabaseUrl, describeDatabase, StorageRefused, type StorageSettings } from "./StorageSettings.ts"

const lazily = <E extends { readonly _tag: string; readonly message: string }>(
  database: DatabaseUrl,
  load: () => Promise<Layer.Layer<Storage | StorageScan, E>>
): Layer.Layer<Storage | StorageScan, StorageRefused> =>
  Layer.unwrap(Effect.promise(load)).pipe(
    // What the adapters say themselves is written for operators.
    Layer.catch(({ _tag, message }) =>
      Layer.effectContext(
        Effect.fail(
          new StorageRefused({
            reason: _tag === "MigrationsPending" ? "outdated" : "unusable",
            message: `${describeDatabase(database)}: ${message}`
          })
        )
      )
    )
  )

const deadlineOf = ({ deadline }: StorageSettings) =>
  Option.match(deadline, {
    onNone: () => ({}),
    onSome: (millis) => ({ deadline: millis })
  })

/** For everybody who looks at this database, whether as a server, as a migration or as a copy. */
export const postgresOptions = (url: PostgresOptions["url"], settings: StorageSettings): PostgresOptions => ({
  url,
  startWithin: settings.patience,
  ...deadlineOf(settings),
  ...settings.postgres
})

/**
 * The adapter for a database. Only the one that is used is loaded: drivers take their time. `check` is for whoever only
 * looks: what is not up to date is refused, whatever the settings say.
 */
export const openStorage = (
  database: DatabaseUrl,
  settings: StorageSettings,
  migrations: "run" | "check" = "run"
): Layer.Layer<Storage | StorageScan, StorageRefused> => {
  switch (database._tag) {
    case "Memory":
      return lazily(database, async () => (await import("../../adapters/memory/MemoryStorage.ts")).layerAtOnce)
    case "Sqlite":
      return lazily(database, async () =>
        (await import("../../adapters/sqlite/SqliteStorage.ts")).layerAtOnce({ path: database.path, migrations })
      )
    case "Postgres":
      return lazily(database, async () =>
        (await import("../../adapters/postgres/Postgres.ts")).layer({
          ...postgresOptions(database.url, settings),
          ...(migrations === "check" ? { migrations } : {})
        })
      )
    case "Redis":
      return lazily(database, async () =>
        (await import("../../adapters/redis/Redis.ts")).layer({
          url: database.url,
          patience: settings.patience,
          ...deadlineOf(settings),
          ...settings.redis
        })
      )
  }
}
