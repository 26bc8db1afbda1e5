import { afterAll, describe, test } from "bun:test"
import { Effect, ManagedRuntime, Redacted } from "effect"
import { layer, type PostgresOptions } from "../../adapters/postgres/Postgres.ts"
import { checkLaws, storageLaws, storageScanLaws } from "../../core/testing/StorageConformance.ts"
import { postgresUrl } from "../harness/given.ts"
import { freshDatabase } from "./postgres/freshDatabase.ts"
import { seed } from "./seed.ts"

const ways: ReadonlyArray<readonly [string, Partial<PostgresOptions>]> = [
  ["", {}],
  [", one workspace in a statement", { byWorkspace: true }],
  [", as behind a pooler", { prepare: false }],
  [", over one connection", { poolSize: 1 }]
]

for (const [name, options] of ways) {
  describe(`the store in PostgreSQL${name}`, async () => {
    const database = await Effect.runPromise(freshDatabase(postgresUrl()))
    const runtime = ManagedRuntime.make(layer({ url: Redacted.make(database.url), ...options }))
    afterAll(async () => {
      await runtime.dispose()
      await Effect.runPromise(database.drop)
    })

    checkLaws(storageLaws(seed), test, (law) => runtime.runPromise(law))
    checkLaws(storageScanLaws(seed), test, (law) => runtime.runPromise(law))
  })
}
