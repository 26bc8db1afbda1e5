import { failureOf } from "./failureOf.ts"
import type { Said } from "./Job.ts"
import { load } from "./load.ts"
import { switchboard } from "./Switchboard.ts"

/** Tries one mutant that is at work from the first import on, file of tests by file of tests. */
export const tryFromStart = async (
  mutant: string,
  files: ReadonlyArray<string>,
  say: (said: Said) => void
): Promise<void> => {
  switchboard.activeMutant = mutant
  say({ _tag: "Trying", mutant })
  for (const file of files) {
    try {
      for (const one of await load(file)) {
        if ((await failureOf(one)) !== undefined) return say({ _tag: "Killed", mutant, by: one.name })
      }
    } catch {
      return say({ _tag: "Killed", mutant, by: `${file} > (cannot be loaded)` })
    }
  }
  say({ _tag: "Survived", mutant })
}
