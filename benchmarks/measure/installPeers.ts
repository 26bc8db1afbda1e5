import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { isCurrent } from "../../runtimes/launch/ensureInstalled.mjs"
import { runProgram } from "../../test/harness/runProgram.ts"
import { BenchFailed } from "./Talker.ts"

const folder = join(import.meta.dir, "../peers")

const packagesIn = (file: string) =>
  existsSync(join(folder, file)) ? JSON.parse(readFileSync(join(folder, file), "utf8")).packages : undefined

/** Brings the peers on first use, and whenever their lock file has changed. None of their scripts runs. */
export const installPeers = (say: (line: string) => void) =>
  Effect.gen(function* () {
    if (isCurrent(packagesIn("package-lock.json"), packagesIn("node_modules/.package-lock.json"))) return
    say("Installing the peers …")
    const args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    const { status, stderr } = yield* runProgram("npm", args, { cwd: folder, env: process.env })
    if (status !== 0) return yield* new BenchFailed({ message: `the peers could not be installed: ${stderr.trim()}` })
  })
