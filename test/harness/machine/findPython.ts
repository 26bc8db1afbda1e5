import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { runProgram } from "../runProgram.ts"
import { isExecutable, onPath } from "./onPath.ts"

/** What clients of others are written in, each of one version. */
const packages = ["mcp==2.3.0", "authlib==1.9.10"]
const oldest = "import sys; sys.exit(sys.version_info < (3, 10))"

const kept = join(import.meta.dir, "../../../node_modules/.cache/python")
const programOf = (folder: string) => join(folder, "bin", "python3")
/** Which packages a folder has: an older run may have had others. */
const listOf = (folder: string) => join(folder, "packages")

const isKept = (): boolean => {
  try {
    return readFileSync(listOf(kept), "utf8") === packages.join("\n") && isExecutable(programOf(kept))
  } catch {
    return false
  }
}

const say = (line: string) => Effect.sync(() => process.stderr.write(`${line}\n`))

const leftOut = (why: string) =>
  Effect.as(
    say(`Without Python 3.10 and ${packages.join(", ")}, the clients of others in Python are left out: ${why}`),
    undefined
  )

type Steps = ReadonlyArray<readonly [string, ...ReadonlyArray<string>]>

/** Compiled is what a test imports, when it does. */
const installed = ["install", "--quiet", "--no-input", "--no-compile", ...packages]

/** The Python's own pip serves, where it is new enough: one for the draft alone takes as long as the packages do. */
const waysTo = (draft: string, python: string): ReadonlyArray<Steps> => [
  [
    [python, "-m", "venv", "--without-pip", draft],
    [python, "-m", "pip", "--python", programOf(draft), ...installed]
  ],
  [
    [python, "-m", "venv", "--clear", draft],
    [programOf(draft), "-m", "pip", ...installed]
  ]
]

/** What went wrong, if anything did. */
const follow = Effect.fnUntraced(function* (steps: Steps) {
  for (const [program, ...args] of steps) {
    const { status, stderr } = yield* runProgram(program, args, { env: process.env })
    if (status !== 0) return stderr.trim().split("\n").at(-1) || `${program} ended with ${status}`
  }
  return undefined
})

/** Made beside its place and renamed, so that a concurrent run never sees half of it: `bin/python3` can be moved. */
const make = Effect.fnUntraced(function* (python: string) {
  const draft = `${kept}-${process.pid}`
  mkdirSync(draft, { recursive: true })
  let wrong: string | undefined
  for (const steps of waysTo(draft, python)) {
    wrong = yield* follow(steps)
    if (wrong === undefined) break
  }
  if (wrong !== undefined) {
    rmSync(draft, { recursive: true, force: true })
    return yield* leftOut(wrong)
  }
  writeFileSync(listOf(draft), packages.join("\n"))
  if (!isKept()) {
    rmSync(kept, { recursive: true, force: true })
    renameSync(draft, kept)
  }
  rmSync(draft, { recursive: true, force: true })
  return programOf(kept)
})

/**
 * A Python with the clients of others: from the environment, or made by pip and kept. `undefined` where the machine has no
 * Python, or none of these packages can be had: that is said, and nothing else needs them.
 */
export const findPython: Effect.Effect<string | undefined> = Effect.gen(function* () {
  const named = process.env.TEST_PYTHON
  if (named !== undefined && named !== "") return named
  if (isKept()) return programOf(kept)
  for (const python of onPath("python3")) {
    if ((yield* runProgram(python, ["-c", oldest], { env: process.env })).status === 0) return yield* make(python)
  }
  return yield* leftOut("there is no python3")
})
