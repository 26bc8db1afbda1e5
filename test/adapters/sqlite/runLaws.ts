import { ManagedRuntime } from "effect"
import { layer } from "../../../adapters/sqlite/Sqlite.ts"
import { checkLaws, storageLaws, storageScanLaws } from "../../../core/testing/StorageConformance.ts"

/** Runs the conformance suite on a file, under whichever runtime this is, and prints a line of JSON for each law. */
const [path = "", seed = ""] = process.argv.slice(2)
const runtime = ManagedRuntime.make(layer({ path }))
const laws: Array<readonly [string, () => Promise<void>]> = []
const collect = (name: string, body: () => Promise<void>) => laws.push([name, body])

checkLaws(storageLaws(Number(seed)), collect, (law) => runtime.runPromise(law))
checkLaws(storageScanLaws(Number(seed)), collect, (law) => runtime.runPromise(law))
for (const [name, body] of laws) {
  const broken = await body().then(
    () => null,
    (error: unknown) => (error instanceof Error ? `${error.name}: ${error.message}` : String(error))
  )
  console.log(JSON.stringify({ name, broken }))
}
await runtime.dispose()
