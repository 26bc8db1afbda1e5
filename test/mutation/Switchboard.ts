/** What instrumented code shares with its runner; the names are Stryker's. */
interface Switchboard {
  activeMutant?: string | undefined
  currentTestId?: string | undefined
  hitCount?: number | undefined
  hitLimit?: number | undefined
  readonly mutantCoverage: {
    /** What was reached outside tests. */
    readonly static: { [mutant: string]: number }
    readonly perTest: { [test: string]: { [mutant: string]: number } }
  }
}

declare global {
  var __stryker__: Switchboard | undefined
}

export const switchboard: Switchboard = { mutantCoverage: { static: {}, perTest: {} } }
globalThis.__stryker__ = switchboard

/** What has been reached outside tests since the last time. */
export const takeReached = (): ReadonlyArray<string> => {
  const reached = switchboard.mutantCoverage.static
  const mutants = Object.keys(reached)
  for (const mutant of mutants) delete reached[mutant]
  return mutants
}
