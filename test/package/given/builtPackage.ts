import { join } from "node:path"
import { Effect } from "effect"
import { node } from "../../harness/given.ts"
import { throwawayFolder } from "../../harness/throwawayFolder.ts"
import { finished } from "./finished.ts"

export const root = join(import.meta.dir, "../../..")

/** The folder that `npm run build` makes and `npm pack` packs. */
export const builtPackage = Effect.gen(function* () {
  const folder = yield* throwawayFolder("package")
  yield* finished(node(), [join(root, "runtimes/package/build.mjs"), folder], { cwd: root, env: process.env })
  return folder
})
