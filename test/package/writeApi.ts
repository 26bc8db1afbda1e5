import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { throwawayFolder } from "../harness/throwawayFolder.ts"
import { documentOutline, outlineFile } from "../openapi/outline.ts"
import { buildPackage } from "./given/builtPackage.ts"
import { publicTypes } from "./given/publicTypes.ts"

const folder = join(import.meta.dir, "api")

const write = Effect.gen(function* () {
  const built = yield* throwawayFolder("package")
  yield* buildPackage(built)
  const types = publicTypes(built)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  for (const [name, text] of types) writeFileSync(join(folder, name), text)
})

await Effect.runPromise(Effect.scoped(write))
writeFileSync(outlineFile, await documentOutline())
