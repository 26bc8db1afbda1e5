import { describe, expect, test } from "bun:test"
import { ratioText } from "../../benchmarks/report/judge.ts"

const atMost = (bound: number) => (ratio: number) => ratio <= bound
const atLeast = (bound: number) => (ratio: number) => ratio >= bound

describe("a ratio as text", () => {
  test("has as many digits as can be read", () => {
    expect(ratioText(0.5274, atMost(1))).toBe("0.53")
    expect(ratioText(0.0127, atMost(0.04))).toBe("0.013")
    expect(ratioText(117.6, atMost(120))).toBe("118")
  })

  test("never reads as if it held where it falls short, or the other way round", () => {
    expect(ratioText(0.8482, atLeast(0.85))).toBe("0.848")
    expect(ratioText(1.1004, atMost(1.1))).toBe("1.1004")
    expect(ratioText(120.3, atMost(120))).toBe("120.3")
    expect(ratioText(0.8504, atLeast(0.85))).toBe("0.85")
  })

  test("says what was not measured", () => {
    expect(ratioText(undefined, atMost(1))).toBe("not measured")
    expect(ratioText(Number.NaN, atMost(1))).toBe("not measured")
  })
})
