import { Effect, Layer } from "effect"
import type { Storage, StorageScan } from "../../core/ports/Storage.ts"
import type { DatabaseUrl } from "./DatabaseUrl.ts"
import { StorageRefused } from "./StorageRefused.ts"

/** What the adapters say themselves is written for operators. */
const refused = (error: { readonly message: string }) => new StorageRefused({ message: error.message })

const lazily = <E extends { readonly message: string }>(
  load: () => Promise<Layer.Layer<Storage | StorageScan, E>>
): Layer.Layer<Storage | StorageScan, StorageRefused> =>
  Layer.unwrap(Effect.promise(load)).pipe(Layer.catch((error) => Layer.effectContext(Effect.fail(refused(error)))))

/** The adapter for a database. Only the one that is used is loaded: drivers take their time. */
export const openStorage = (database: DatabaseUrl): Layer.Layer<Storage | StorageScan, StorageRefused> => {
  switch (database._tag) {
    case "Memory":
      return lazily(async () => (await import("../../adapters/memory/Memory.ts")).layerTrusting)
    case "Sqlite":
      return lazily(async () => (await import("../../adapters/sqlite/Sqlite.ts")).layer({ path: database.path }))
    case "Postgres":
      return lazily(async () => (await import("../../adapters/postgres/Postgres.ts")).layer({ url: database.url }))
    case "Redis":
      return lazily(async () => (await import("../../adapters/redis/Redis.ts")).layer({ url: database.url }))
  }
}
