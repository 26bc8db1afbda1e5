import { Effect, Layer, Option } from "effect"
import type { PostgresOptions } from "../../adapters/postgres/Postgres.ts"
import type { Storage, StorageScan } from "../../core/ports/Storage.ts"
import type { DatabaseUrl } from "./DatabaseUrl.ts"
import { StorageRefused } from "./StorageRefused.ts"
import type { StorageSettings } from "./StorageSettings.ts"

/** What the adapters say themselves is written for operators. */
const refused = (error: { readonly message: string }) => new StorageRefused({ message: error.message })

const lazily = <E extends { readonly message: string }>(
  load: () => Promise<Layer.Layer<Storage | StorageScan, E>>
): Layer.Layer<Storage | StorageScan, StorageRefused> =>
  Layer.unwrap(Effect.promise(load)).pipe(Layer.catch((error) => Layer.effectContext(Effect.fail(refused(error)))))

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

/** The adapter for a database. Only the one that is used is loaded: drivers take their time. */
export const openStorage = (
  database: DatabaseUrl,
  settings: StorageSettings
): Layer.Layer<Storage | StorageScan, StorageRefused> => {
  switch (database._tag) {
    case "Memory":
      return lazily(async () => (await import("../../adapters/memory/Memory.ts")).layerTrusting)
    case "Sqlite":
      return lazily(async () => (await import("../../adapters/sqlite/Sqlite.ts")).layer({ path: database.path }))
    case "Postgres":
      return lazily(async () =>
        (await import("../../adapters/postgres/Postgres.ts")).layer(postgresOptions(database.url, settings))
      )
    case "Redis":
      return lazily(async () =>
        (await import("../../adapters/redis/Redis.ts")).layer({
          url: database.url,
          patience: settings.patience,
          ...deadlineOf(settings),
          ...settings.redis
        })
      )
  }
}
