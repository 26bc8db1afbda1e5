import type { Collected } from "./collected.ts"
import { failureOf } from "./failureOf.ts"
import type { Hits, Said } from "./Job.ts"
import { load } from "./load.ts"
import { switchboard, takeReached } from "./Switchboard.ts"
import { testFiles } from "./targets.ts"

/** Loads and runs every test once with no mutant at work, and notes which of those that are asked about each reaches. */
export const look = async (
  tests: ReadonlyArray<Collected>,
  mutants: ReadonlyArray<string>,
  atStart: ReadonlyArray<string>,
  say: (said: Said) => void
): Promise<Hits | undefined> => {
  const asked = new Set(mutants)
  const among = (reached: ReadonlyArray<string>) => reached.filter((mutant) => asked.has(mutant))
  const byFile: { [file: string]: ReadonlyArray<string> } = {}
  for (const [at, file] of testFiles.entries()) {
    takeReached()
    // Anew, since what two files share would only be loaded for the first.
    await load(file, `look${at}`)
    byFile[file] = among(takeReached())
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
  // All that all tests reach is more than a process can say.
  const byTest = Object.fromEntries(
    Object.entries(switchboard.mutantCoverage.perTest).map(([test, reached]) => [
      test,
      Object.fromEntries(Object.entries(reached).filter(([mutant]) => asked.has(mutant)))
    ])
  )
  const hits: Hits = { atStart: among(atStart), byFile, byTest }
  say({ _tag: "Reached", hits })
  return hits
}
