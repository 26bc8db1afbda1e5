import { mkdirSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { runProgram } from "../runProgram.ts"
import { NotInstalled } from "./installPackages.ts"
import { isExecutable, onPath } from "./onPath.ts"

const cache = join(import.meta.dir, "../../../node_modules/.cache")
const kept = join(cache, "node22")

const platform = process.platform === "win32" ? "win" : process.platform
const packageName = `node-${platform}-${process.arch}`
const within = (prefix: string) => join(prefix, "node_modules", packageName, "bin", "node")

/** The first with `node:sqlite` and no flag. */
const isNewEnough = (version: string): boolean => {
  const [major = 0, minor = 0] = version.replace("v", "").split(".").map(Number)
  return major > 22 || (major === 22 && minor >= 13)
}

const runs = (file: string) =>
  runProgram(file, ["--version"]).pipe(Effect.map(({ status, stdout }) => status === 0 && isNewEnough(stdout.trim())))

/** Into a folder of its own that is then renamed, so that two runs at once do not see each other's half. */
const install = Effect.gen(function* () {
  const draft = `${kept}-${process.pid}`
  mkdirSync(draft, { recursive: true })
  const { status, stderr } = yield* runProgram(
    "npm",
    ["install", "--no-save", "--no-package-lock", "--prefix", draft, `${packageName}@22`],
    { cwd: draft, env: process.env }
  )
  if (status === 0 && !(yield* runs(within(kept)))) {
    rmSync(kept, { recursive: true, force: true })
    renameSync(draft, kept)
  }
  rmSync(draft, { recursive: true, force: true })
  if (status === 0) return within(kept)
  return yield* new NotInstalled({
    message: `Node 22.13 or later is needed beside ${process.env.TEST_NODE ?? "this one"}: install it, or name it in TEST_NODE22 (npm: ${stderr.trim().split("\n")[0]})`
  })
})

/** A Node with `node:sqlite`: the one that is named, or runs this, or is on the PATH; else npm brings one. */
export const findNode22: Effect.Effect<string, NotInstalled> = Effect.gen(function* () {
  const named = process.env.TEST_NODE22
  if (named !== undefined && named !== "") return named
  const present = [process.env.TEST_NODE ?? "", ...onPath("node"), within(kept)].filter(isExecutable)
  for (const file of present) if (yield* runs(file)) return file
  return yield* install
})
