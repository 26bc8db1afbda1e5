import { afterAll, describe, test } from "bun:test"
import { join } from "node:path"
import { Effect, Layer, ManagedRuntime } from "effect"
import { layer } from "../../adapters/sqlite/Sqlite.ts"
import { layerAtOnce } from "../../adapters/sqlite/SqliteStorage.ts"
import { checkLaws, storageLaws, storageScanLaws } from "../../core/testing/StorageConformance.ts"
import { throwawayFolder } from "../harness/throwawayFolder.ts"
import { seed } from "./seed.ts"

describe.each([
  ["the store in a SQLite file", layer],
  ["the store in a SQLite file that trusts its callers", layerAtOnce]
])("%s", (_, given) => {
  const throwaway = Effect.map(throwawayFolder("sqlite"), (folder) =>
    given({ path: join(folder, "data", "tessera.db") })
  )
  const runtime = ManagedRuntime.make(Layer.unwrap(throwaway))
  afterAll(() => runtime.dispose())

  checkLaws(storageLaws(seed), test, (law) => runtime.runPromise(law))
  checkLaws(storageScanLaws(seed), test, (law) => runtime.runPromise(law))
})
