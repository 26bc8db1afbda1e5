import type { Mutant } from "./instrument.ts"
import type { Hits, Said } from "./Job.ts"
import { startTrial } from "./startTrial.ts"
import { lost, type Verdict } from "./Verdict.ts"

/**
 * Tries all mutants that can be switched on in a running process. One that ends its process, or never comes back, is
 * noticed by that, and a new process goes on with the next.
 */
export const runSwitched = async (
  mutants: ReadonlyArray<Mutant>,
  verdicts: ReadonlyMap<string, Verdict>,
  judged: (mutant: string, verdict: Verdict) => void
): Promise<Hits> => {
  let hits: Hits | undefined
  for (;;) {
    const left = mutants.filter(({ id }) => !verdicts.has(id)).map(({ id }) => id)
    let trying: string | undefined
    let unsound: string | undefined
    const heard = (said: Said): void => {
      if (said._tag === "Reached") hits = said.hits
      if (said._tag === "Unsound") unsound = `${said.test} fails without any mutant: ${said.reason}`
      if (said._tag === "Trying") trying = said.mutant
      if (said._tag === "Tried") judged(said.mutant, said.verdict)
    }
    const end = await startTrial({ _tag: "Switched", mutants: left, hits }, heard)
    if (unsound !== undefined) throw new Error(unsound)
    if (end === "ended" && hits !== undefined) return hits
    if (trying === undefined || verdicts.has(trying)) throw new Error("the tests cannot be run")
    judged(trying, lost(end))
  }
}
