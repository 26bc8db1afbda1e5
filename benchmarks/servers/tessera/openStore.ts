import { Effect, Layer, Redacted } from "effect"
import type { Storage } from "../../../core/ports/Storage.ts"

/** The adapter for a store, with the settings that it has by default. */
export const openStore = (url: string, alone: boolean): Layer.Layer<Storage, Error> => {
  const [scheme] = url.split(":", 1)
  switch (scheme) {
    case "memory":
      return lazily(async () => (await import("../../../adapters/memory/MemoryStorage.ts")).layerAtOnce)
    case "sqlite": {
      const path = url.slice("sqlite:".length)
      return alone
        ? lazily(async () => (await import("./sqliteAlone.ts")).layer(path))
        : lazily(async () => (await import("../../../adapters/sqlite/SqliteStorage.ts")).layerAtOnce({ path }))
    }
    case "postgres":
      return alone
        ? lazily(async () => (await import("./postgresAlone.ts")).layer(url))
        : lazily(async () =>
            (await import("../../../adapters/postgres/Postgres.ts")).layer({ url: Redacted.make(url) })
          )
    case "redis":
      return lazily(async () => (await import("../../../adapters/redis/Redis.ts")).layer({ url, pipelining: !alone }))
    default:
      throw new Error(`no store for ${url}`)
  }
}

const lazily = <E extends Error>(load: () => Promise<Layer.Layer<Storage, E>>): Layer.Layer<Storage, Error> =>
  Layer.unwrap(Effect.promise(load))
