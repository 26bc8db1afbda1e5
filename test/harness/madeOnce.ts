import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Cause, Effect, Exit } from "effect"
import { madeFolder } from "./given.ts"
import { pollUntil } from "./pollUntil.ts"

/** A build takes seconds; this much is for a machine that does ten other things. */
const patience = 150_000

/** Of all processes of a run that ask, one makes the folder. */
const isMaker = (folder: string): boolean => {
  try {
    mkdirSync(folder, { mode: 0o755 })
    return true
  } catch (thrown) {
    if (thrown instanceof Error && "code" in thrown && thrown.code === "EEXIST") return false
    throw thrown
  }
}

/**
 * A folder that the first test file to ask fills once in a run, and that goes with the run. Every test file sees the
 * same one, so none writes into it afterwards.
 */
export const madeOnce = Effect.fnUntraced(function* (name: string, fill: (folder: string) => Effect.Effect<void>) {
  const folder = join(madeFolder(), name)
  const outcome = `${folder}.outcome`
  if (isMaker(folder)) {
    const exit = yield* Effect.exit(fill(folder))
    const failure = Exit.isFailure(exit) ? Cause.pretty(exit.cause) : ""
    // A test file that waits sees nothing or all of it.
    writeFileSync(`${outcome}.part`, failure)
    renameSync(`${outcome}.part`, outcome)
  }
  const made = yield* pollUntil(
    Effect.sync(() => existsSync(outcome)),
    patience
  )
  const failure = made ? readFileSync(outcome, "utf8") : `${name} is being made for too long`
  if (failure !== "") throw new Error(failure)
  return folder
})
