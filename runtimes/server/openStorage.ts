import { Effect, Layer, Schema } from "effect"
import type { Storage, StorageScan } from "../../core/ports/Storage.ts"
import type { DatabaseUrl } from "./DatabaseUrl.ts"

/** The storage can't be used. `message` says what is wrong, and holds no password. */
export class StorageRefused extends Schema.TaggedError<StorageRefused>()("StorageRefused", {
  message: Schema.String
}) {}

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
      return Layer.effectContext(Effect.fail(new StorageRefused({ message: "not yet" })))
  }
}
