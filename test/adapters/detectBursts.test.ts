import { expect, test } from "bun:test"
import { detectBursts } from "../../adapters/batching/detectBursts.ts"

/** So many arrivals in each turn of the loop, and which of them came alone; `x` is one that did not. */
const arrivals = (turns: ReadonlyArray<number>): ReadonlyArray<string> => {
  let ends: Array<() => void> = []
  const comesAlone = detectBursts((work) => ends.push(work))
  return turns.map((count) => {
    const said = Array.from({ length: count }, () => (comesAlone() ? "alone" : "x")).join(" ")
    const due = ends
    ends = []
    for (const end of due) end()
    return said
  })
}

test.each([
  { turns: [1, 1, 0, 1], said: ["alone", "alone", "", "alone"] },
  { turns: [3, 1, 1], said: ["alone x x", "x", "alone"] },
  { turns: [2, 2, 1, 2], said: ["alone x", "x x", "x", "alone x"] },
  // A turn without arrivals ends none, so the burst is remembered until one arrives.
  { turns: [2, 0, 1, 1], said: ["alone x", "", "x", "alone"] }
])("of $turns arrivals a turn, those that come alone", ({ said, turns }) => {
  expect(arrivals(turns)).toEqual(said)
})
