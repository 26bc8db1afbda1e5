/** What test files import here for `bun:test`: the tests are kept, to be run as often as there are mutants. */
export { expect, spyOn } from "bun:test"

export interface Collected {
  readonly name: string
  readonly run: () => unknown
}

const tests: Array<Collected> = []
let path: ReadonlyArray<string> = []

type Collect = (name: string, body: () => unknown) => void

/** A test or a group for each row, told apart by its number. */
const eachOf =
  (collect: Collect) =>
  (table: ReadonlyArray<unknown>) =>
  (name: string, body: (...row: ReadonlyArray<unknown>) => unknown): void => {
    for (const [index, row] of table.entries()) {
      collect(`${name} (${index + 1})`, () => body(...(Array.isArray(row) ? row : [row])))
    }
  }

const group: Collect = (name, body) => {
  const outer = path
  path = [...outer, name]
  body()
  path = outer
}

const keep: Collect = (name, run) => {
  tests.push({ name: [...path, name].join(" > "), run })
}

export const describe = Object.assign(group, { each: eachOf(group) })
export const test = Object.assign(keep, { each: eachOf(keep) })

/** Takes what was collected since the last time. */
export const takeCollected = (): ReadonlyArray<Collected> => {
  path = []
  return tests.splice(0)
}
