import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { node } from "./given.ts"
import { runProgram } from "./runProgram.ts"
import { ServerFailed } from "./Server.ts"
import { letThrough, throwawayFolder } from "./throwawayFolder.ts"

const root = join(import.meta.dir, "../..")

/** What `npm run build:binary` has Node run. */
export const buildScript = (): string => {
  // What npm takes for its scripts, or there is nothing to run.
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly scripts: Readonly<Record<string, string>>
  }
  const [, script] = /^node (\S+)$/.exec(scripts["build:binary"] ?? "") ?? []
  if (script === undefined) throw new Error("package.json has no build:binary that Node runs")
  return script
}

/** The executable, alone in a folder that other users may pass through; it goes with the scope. */
export const buildExecutable = Effect.gen(function* () {
  const folder = yield* throwawayFolder("executable")
  letThrough(folder)
  const file = join(folder, "tessera")
  const build = runProgram(node(), [buildScript(), "--outfile", file], { cwd: root })
  // Its compiler is a process of its own, and would write into a folder that is gone.
  const { status, stderr, stdout } = yield* Effect.uninterruptible(build)
  if (status !== 0) return yield* new ServerFailed({ message: `npm run build:binary failed: ${stdout}${stderr}` })
  return { url: file }
})
