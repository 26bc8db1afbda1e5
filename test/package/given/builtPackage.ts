import { join } from "node:path"
import { Effect } from "effect"
import { node } from "../../harness/given.ts"
import { madeOnce } from "../../harness/madeOnce.ts"
import { finished } from "./finished.ts"

export const root = join(import.meta.dir, "../../..")

/** `test/readme/embedding.test.ts` checks the types of the sources, and the package is the same either way. */
const script = [join(root, "runtimes/package/build.mjs"), "--unchecked"]

export const buildPackage = (folder: string) =>
  Effect.asVoid(finished(node(), [...script, folder], { cwd: root, env: process.env }))

/** The folder that `npm run build` makes and `npm pack` packs: one for all test files, which only read it. */
export const builtPackage = madeOnce("package", buildPackage)
