import { describe, expect, test } from "bun:test"
import { drawNumbers } from "../../benchmarks/servers/tessera/grants.ts"

describe("the grants that a run is about", () => {
  test.each([1, 3, 1_000, 12_800, 1_000_000])("are each met once, below %d", (bound) => {
    const numbers = drawNumbers(2000, bound)
    expect(new Set(numbers).size).toBe(Math.min(2000, bound))
    expect(numbers).toHaveLength(Math.min(2000, bound))
    for (const number of numbers) expect(number).toBeLessThan(bound)
  })

  test("lie on pages of their own, also those that are asked for together", () => {
    const onOnePage = 12
    const numbers = drawNumbers(960, 50_000)
    for (let first = 0; first < numbers.length; first += 64) {
      const pages = new Set(numbers.slice(first, first + 64).map((number) => Math.floor(number / onOnePage)))
      expect(pages.size).toBeGreaterThan(60)
    }
  })
})
