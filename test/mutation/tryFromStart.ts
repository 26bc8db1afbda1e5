import { failureOf } from "./failureOf.ts"
import type { Said } from "./Job.ts"
import { load } from "./load.ts"
import { switchboard } from "./Switchboard.ts"
import { killed, type Verdict } from "./Verdict.ts"

const verdictOf = async (files: ReadonlyArray<string>): Promise<Verdict> => {
  for (const file of files) {
    try {
      for (const one of await load(file)) {
        const reason = await failureOf(one)
        if (reason !== undefined) return killed(one.name, reason)
      }
    } catch {
      return killed(file, "cannot be loaded")
    }
  }
  return { _tag: "Survived" }
}

/** Tries one mutant that is at work from the first import on, file of tests by file of tests. */
export const tryFromStart = async (
  mutant: string,
  files: ReadonlyArray<string>,
  say: (said: Said) => void
): Promise<void> => {
  switchboard.activeMutant = mutant
  say({ _tag: "Trying", mutant })
  say({ _tag: "Tried", mutant, verdict: await verdictOf(files) })
}
