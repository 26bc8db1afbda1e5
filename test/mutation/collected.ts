/** What test files import here for `bun:test`: the tests are kept, to be run as often as there are mutants. */
export { expect, spyOn } from "bun:test"

export interface Collected {
  readonly name: string
  readonly run: () => unknown
}

const tests: Array<Collected> = []
let path: ReadonlyArray<string> = []

export const describe = (name: string, body: () => void): void => {
  const outer = path
  path = [...outer, name]
  body()
  path = outer
}

export const test = (name: string, run: () => unknown): void => {
  tests.push({ name: [...path, name].join(" > "), run })
}

/** Takes what was collected since the last time. */
export const takeCollected = (): ReadonlyArray<Collected> => {
  path = []
  return tests.splice(0)
}
