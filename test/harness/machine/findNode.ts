import { mkdirSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { runProgram } from "../runProgram.ts"
import { NotInstalled } from "./installPackages.ts"
import { isExecutable, onPath } from "./onPath.ts"

const cache = join(import.meta.dir, "../../../node_modules/.cache")

const platform = process.platform === "win32" ? "win" : process.platform
const packageName = `node-${platform}-${process.arch}`
const within = (prefix: string) => join(prefix, "node_modules", packageName, "bin", "node")

/** A major version of Node, and the oldest release of it that tests use. */
interface Wanted {
  readonly major: number
  readonly minor: number
}

const is = (version: string, { major, minor }: Wanted): boolean => {
  const [foundMajor = 0, foundMinor = 0] = version.replace("v", "").split(".").map(Number)
  return foundMajor === major && foundMinor >= minor
}

const runs = (file: string, wanted: Wanted) =>
  runProgram(file, ["--version"]).pipe(Effect.map(({ status, stdout }) => status === 0 && is(stdout.trim(), wanted)))

/** Installs into a temporary folder and renames it, so that a concurrent run never sees half of it. */
const install = Effect.fnUntraced(function* (wanted: Wanted, kept: string) {
  const draft = `${kept}-${process.pid}`
  mkdirSync(draft, { recursive: true })
  const { status, stderr } = yield* runProgram(
    "npm",
    ["install", "--no-save", "--no-package-lock", "--prefix", draft, `${packageName}@${wanted.major}`],
    { cwd: draft, env: process.env }
  )
  if (status === 0 && !(yield* runs(within(kept), wanted))) {
    rmSync(kept, { recursive: true, force: true })
    renameSync(draft, kept)
  }
  rmSync(draft, { recursive: true, force: true })
  if (status === 0) return within(kept)
  return yield* new NotInstalled({
    message: `Node ${wanted.major} is needed beside ${process.env.TEST_NODE ?? "this one"}: install it, or name it in TEST_NODE${wanted.major} (npm: ${stderr.trim().split("\n")[0]})`
  })
})

/** A Node of that version: from the environment, this process, or the PATH; otherwise from npm. */
const findNode = Effect.fnUntraced(function* (wanted: Wanted) {
  const kept = join(cache, `node${wanted.major}`)
  const named = process.env[`TEST_NODE${wanted.major}`]
  if (named !== undefined && named !== "") return named
  const present = [process.env.TEST_NODE ?? "", ...onPath("node"), within(kept)].filter(isExecutable)
  for (const file of present) if (yield* runs(file, wanted)) return file
  return yield* install(wanted, kept)
})

export const findNode20: Effect.Effect<string, NotInstalled> = findNode({ major: 20, minor: 0 })

/** The first release with `node:sqlite` and no flag. */
export const findNode22: Effect.Effect<string, NotInstalled> = findNode({ major: 22, minor: 13 })

export const findNode24: Effect.Effect<string, NotInstalled> = findNode({ major: 24, minor: 0 })
