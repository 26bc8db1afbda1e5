import { afterAll, describe, test } from "bun:test"
import { join } from "node:path"
import { Effect, Layer, ManagedRuntime } from "effect"
import { layer } from "../../adapters/sqlite/Sqlite.ts"
import { checkLaws, storageLaws, storageScanLaws } from "../../core/testing/StorageConformance.ts"
import { throwawayFolder } from "../harness/throwawayFolder.ts"
import { seed } from "./seed.ts"

const throwaway = Layer.unwrap(
  Effect.map(throwawayFolder("sqlite"), (folder) => layer({ path: join(folder, "data", "tessera.db") }))
)

describe("the store in a SQLite file", () => {
  const runtime = ManagedRuntime.make(throwaway)
  afterAll(() => runtime.dispose())

  checkLaws(storageLaws(seed), test, (law) => runtime.runPromise(law))
  checkLaws(storageScanLaws(seed), test, (law) => runtime.runPromise(law))
})
