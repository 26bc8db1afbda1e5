import type { Collected } from "./collected.ts"
import { failureOf } from "./failureOf.ts"
import type { Hits, Said } from "./Job.ts"
import { load } from "./load.ts"
import { switchboard, takeReached } from "./Switchboard.ts"
import { testFiles } from "./targets.ts"

/** Loads and runs every test once with no mutant at work, and notes what each reaches. */
export const look = async (
  tests: ReadonlyArray<Collected>,
  atStart: ReadonlyArray<string>,
  say: (said: Said) => void
): Promise<Hits | undefined> => {
  const byFile: { [file: string]: ReadonlyArray<string> } = {}
  for (const [at, file] of testFiles.entries()) {
    takeReached()
    // Anew, since what two files share would only be loaded for the first.
    await load(file, `look${at}`)
    byFile[file] = takeReached()
  }
  for (const one of tests) {
    switchboard.currentTestId = one.name
    const reason = await failureOf(one)
    if (reason !== undefined) {
      say({ _tag: "Unsound", test: one.name, reason })
      return undefined
    }
  }
  switchboard.currentTestId = undefined
  const hits: Hits = { atStart, byFile, byTest: switchboard.mutantCoverage.perTest }
  say({ _tag: "Reached", hits })
  return hits
}
