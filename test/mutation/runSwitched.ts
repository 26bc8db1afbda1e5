import type { Mutant } from "./instrument.ts"
import type { Hits, Said } from "./Job.ts"
import { startTrial } from "./startTrial.ts"
import { lost, type Verdict } from "./Verdict.ts"

export interface Switched {
  readonly hits: Hits
  /** Mutants that want a process of their own, since what their place makes is made once, and the files of tests to run there. */
  readonly unseen: ReadonlyMap<string, ReadonlyArray<string>>
}

/**
 * Tries all mutants that can be switched on in a running process. One that ends its process, or never comes back, is
 * noticed by that, and a new process goes on with the next.
 */
export const runSwitched = async (
  mutants: ReadonlyArray<Mutant>,
  verdicts: ReadonlyMap<string, Verdict>,
  judged: (mutant: string, verdict: Verdict) => void
): Promise<Switched> => {
  let hits: Hits | undefined
  const unseen = new Map<string, ReadonlyArray<string>>()
  for (;;) {
    const left = mutants.filter(({ id }) => !verdicts.has(id) && !unseen.has(id)).map(({ id }) => id)
    let trying: string | undefined
    let unsound: string | undefined
    const heard = (said: Said): void => {
      if (said._tag === "Reached") hits = said.hits
      if (said._tag === "Unsound") unsound = `${said.test} fails without any mutant: ${said.reason}`
      if (said._tag === "Trying") trying = said.mutant
      if (said._tag === "Unseen") unseen.set(said.mutant, said.files)
      if (said._tag === "Tried") judged(said.mutant, said.verdict)
    }
    const end = await startTrial({ _tag: "Switched", mutants: left, hits }, heard)
    if (unsound !== undefined) throw new Error(unsound)
    if (end === "ended" && hits !== undefined) return { hits, unseen }
    if (trying === undefined || verdicts.has(trying) || unseen.has(trying)) throw new Error("the tests cannot be run")
    judged(trying, lost(end))
  }
}
