import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { Effect, type Layer, Redacted, type Scope } from "effect"
import { layer as postgres } from "../../adapters/postgres/Postgres.ts"
import { layer as redis } from "../../adapters/redis/Redis.ts"
import { layer as sqlite } from "../../adapters/sqlite/Sqlite.ts"
import type { Storage, StorageScan } from "../../core/ports/Storage.ts"
import { freshDatabase } from "../adapters/postgres/freshDatabase.ts"
import { postgresUrl, redisClusterUrl, redisUrl } from "../harness/given.ts"
import { throwawayFolder } from "../harness/throwawayFolder.ts"

/** An empty store on a server that `npm test` brings, for as long as the scope. */
export interface Store {
  readonly name: string
  readonly databaseUrl: string
  /** What a server's environment needs beside `DATABASE_URL` to see this store and no other. */
  readonly environment: Readonly<Record<string, string>>
  /** What all keys begin with, in Redis. */
  readonly prefix?: string
  /** For this process. */
  readonly layer: Layer.Layer<Storage | StorageScan, { readonly message: string }>
}

const inFile = Effect.gen(function* () {
  const path = join(yield* throwawayFolder("store"), "tessera.db")
  return { name: "SQLite", databaseUrl: `sqlite:${path}`, environment: {}, layer: sqlite({ path }) }
})

const inPostgres = Effect.gen(function* () {
  const { url } = yield* Effect.acquireRelease(freshDatabase(postgresUrl()), ({ drop }) => drop)
  return { name: "PostgreSQL", databaseUrl: url, environment: {}, layer: postgres({ url: Redacted.make(url) }) }
})

const inRedis = (name: string, url: () => string) =>
  Effect.sync(() => {
    const prefix = `p${randomBytes(6).toString("hex")}`
    const databaseUrl = `${url()}?prefix=${prefix}`
    return { name, databaseUrl, environment: {}, prefix, layer: redis({ url: databaseUrl }) }
  })

type Opening = Effect.Effect<Store, never, Scope.Scope>

export const sqliteStore: Opening = inFile
export const postgresStore: Opening = inPostgres
export const redisStore: Opening = inRedis("Redis", redisUrl)
export const clusterStore: Opening = inRedis("Redis Cluster", redisClusterUrl)

/** Those that many processes may share. */
export const sharedStores: ReadonlyArray<readonly [name: string, open: Opening]> = [
  ["PostgreSQL", postgresStore],
  ["Redis", redisStore],
  ["a Redis Cluster", clusterStore]
]

export const everyStore: ReadonlyArray<readonly [name: string, open: Opening]> = [
  ["SQLite", sqliteStore],
  ...sharedStores
]
