import { symlinkSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { node } from "../../harness/given.ts"
import { madeOnce } from "../../harness/madeOnce.ts"
import { plainEnvironment, runProgram } from "../../harness/runProgram.ts"

const root = join(import.meta.dir, "../../..")

/** The project as JavaScript, for a Node that knows no types. */
export const nodeBuild = madeOnce(
  "node",
  Effect.fnUntraced(function* (folder) {
    const tsc = join(root, "node_modules", "typescript", "bin", "tsc")
    const config = join(root, "test/runtimes/onNode/tsconfig.json")
    const args = [tsc, "-p", config, "--outDir", folder]
    const built = yield* runProgram(node(), args, { cwd: root, env: plainEnvironment })
    if (built.status !== 0) throw new Error(`the build failed: ${built.stdout}${built.stderr}`)
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"))
  })
)
