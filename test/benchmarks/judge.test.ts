import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { allParts } from "../../benchmarks/parts/all.ts"
import {
  type Budget,
  generatorBound,
  judge,
  medianWithin,
  readBudget,
  shortIn,
  together,
  verdictText
} from "../../benchmarks/report/judge.ts"
import { resultOf, sampleOf } from "./resultOf.ts"

const line: Budget[number] = {
  figure: "cpu",
  part: "sealed",
  workloads: ["metadata"],
  ours: { subject: "tessera" },
  theirs: { subject: "floor" },
  atMost: 1.5
}

describe("judge", () => {
  test("compares round by round, and takes the median of the ratios", () => {
    const ours = resultOf("tessera", [sampleOf(14), sampleOf(90), sampleOf(15)])
    const floor = resultOf("floor", [sampleOf(10), sampleOf(50), sampleOf(10)])
    const [verdict] = judge([line], [ours, floor])
    expect(verdict?.ratio).toBe(1.5)
    expect(verdict?.outcome).toBe("holds")
    expect(judge([{ ...line, atMost: 1.39 }], [ours, floor])[0]?.outcome).toBe("short")
  })

  test("leaves a line open whose rounds lie on both sides of its bound, and judges one whose rounds agree", () => {
    const of = (ratios: ReadonlyArray<number>) =>
      judge(
        [line],
        [
          resultOf(
            "tessera",
            ratios.map((ratio) => sampleOf(10 * ratio))
          ),
          resultOf(
            "floor",
            ratios.map(() => sampleOf(10))
          )
        ]
      )[0]
    expect(of([1.2, 1.6, 1.7, 1.8, 2])).toMatchObject({ outcome: "unclear", shown: "1.70", within: "1.20 to 2.00" })
    expect(of([1.6, 1.6, 1.7, 1.8, 2])).toMatchObject({ outcome: "short", within: "1.60 to 2.00" })
    expect(of([1.2, 1.3, 1.4, 1.8, 2])).toMatchObject({ outcome: "holds" })
    // One round of nine that was undisturbed says nothing yet.
    expect(of([1.2, 1.6, 1.6, 1.7, 1.7, 1.7, 1.8, 1.8, 2])).toMatchObject({ outcome: "short", within: "1.60 to 1.80" })
    const { atMost: _, ...unbounded } = line
    const atLeast: Budget[number] = { ...unbounded, atLeast: 1.5 }
    const slow = [resultOf("tessera", [sampleOf(10), sampleOf(14)]), resultOf("floor", [sampleOf(10), sampleOf(10)])]
    expect(judge([atLeast], slow)).toMatchObject([{ outcome: "short" }])
  })

  test("holds a line against its floor: an aim that the floor misses is out of reach, and one that it makes is not", () => {
    const withFloor = { ...line, theirs: { subject: "peer" }, floor: { subject: "floor" }, atMost: 0.4 }
    const results = [resultOf("tessera", [sampleOf(50)]), resultOf("peer", [sampleOf(100)])]
    const [missed] = judge([withFloor], [...results, resultOf("floor", [sampleOf(45)])])
    expect(missed).toMatchObject({ outcome: "holds", outOfReach: true, floor: "0.45" })
    expect(missed && verdictText(missed)).toEndWith("0.50, at most 0.4; the floor: 0.45")
    const [short] = judge([withFloor], [...results, resultOf("floor", [sampleOf(35)])])
    expect(short).toMatchObject({ outcome: "short", outOfReach: false, floor: "0.35" })
    expect(judge([withFloor], results)).toMatchObject([{ outcome: "short", floor: "not measured" }])
    expect(judge([line], results)).toMatchObject([{ floor: undefined }])
  })

  test("holds a floor against another floor where what it is to show is how a floor grows", () => {
    const grown: Budget[number] = {
      ...line,
      ours: { subject: "tessera", case: "many" },
      theirs: { subject: "tessera", case: "few" },
      floor: { subject: "floor", case: "many" },
      floorTo: { subject: "floor", case: "few" },
      atMost: 1.15
    }
    const at = (subject: string, name: string, cpu: number) => ({ ...resultOf(subject, [sampleOf(cpu)]), case: name })
    const ours = [at("tessera", "few", 100), at("tessera", "many", 130)]
    const floors = [at("floor", "few", 50), at("floor", "many", 80)]
    expect(judge([grown], [...ours, ...floors])).toMatchObject([
      { shown: "1.30", floor: "1.60", outcome: "holds", outOfReach: true }
    ])
    expect(judge([grown], [...ours, at("floor", "many", 80)])).toMatchObject([{ floor: "not measured" }])
  })

  test("a line that was not measured does not hold", () => {
    for (const results of [[], [resultOf("tessera", [sampleOf(1)])], [resultOf("floor", [sampleOf(1)])]]) {
      expect(judge([line], results)).toMatchObject([{ ratio: undefined, outcome: "short" }])
    }
  })
})

test("the median lies within as many values as the sign test leaves", () => {
  const upTo = (count: number) => Array.from({ length: count }, (_, n) => n + 1)
  const within = [1, 2, 5, 6, 8, 9, 13, 25, 39].map((count) => [count, ...medianWithin(upTo(count))])
  // As tables of the test have it: nine values leave one out on either side, 13 two, 25 seven, 39 twelve.
  expect(within).toEqual([
    [1, 1, 1],
    [2, 1, 2],
    [5, 1, 5],
    [6, 1, 6],
    [8, 1, 8],
    [9, 2, 8],
    [13, 3, 11],
    [25, 8, 18],
    [39, 13, 27]
  ])
  expect(medianWithin([3, 1, 2])).toEqual([1, 3])
})

describe("another look", () => {
  const both = { ...line, workloads: ["metadata", "refresh"] } as const satisfies Budget[number]
  const { theirs: _, ...lone } = line
  const alone: Budget[number] = { ...lone, figure: "memory", ours: { subject: "watched" }, atMost: 100 }
  const of = (subject: string, workload: string, ...cpu: ReadonlyArray<number>) => ({
    ...resultOf(
      subject,
      cpu.map((one) => sampleOf(one))
    ),
    workload
  })
  const first = [of("tessera", "metadata", 20, 20), of("floor", "metadata", 10, 10)]
  const others = [of("tessera", "refresh", 14), of("floor", "refresh", 10)]

  test("is wanted of the figures that fell short, and of no others", () => {
    expect(shortIn([both], [...first, ...others])).toEqual([{ ...both, workloads: ["metadata"] }])
    expect(shortIn([both], [...others, of("tessera", "metadata", 15), of("floor", "metadata", 10)])).toEqual([])
    expect(shortIn([both], [])).toEqual([both])
  })

  test("counts together with the first, so that a fault falls short again and a disturbed moment does not", () => {
    const results = [...first, ...others]
    const calm = [of("tessera", "metadata", 14, 14, 14), of("floor", "metadata", 10, 10, 10)]
    const after = together([line], results, calm)
    expect(after[0]?.samples.map(({ cpu }) => cpu)).toEqual([20, 20, 14, 14, 14])
    expect(after.slice(2)).toEqual(others)
    expect(shortIn([both], after)).toEqual([])
    expect(shortIn([both], together([line], results, first))).toEqual([line])
  })

  test("begins anew where nothing is compared", () => {
    const watched = (most: number) => [resultOf("watched", [sampleOf(1, { memory: most })])]
    expect(shortIn([alone], watched(120))).toEqual([alone])
    expect(together([alone], watched(120), watched(90))).toEqual(watched(90))
  })
})

test("every line of the budget is of a part that runs, and has a bound", () => {
  const budget = readBudget(JSON.parse(readFileSync(join(import.meta.dir, "../../benchmarks/budget.json"), "utf8")))
  for (const { part, atLeast, atMost } of budget) {
    expect(allParts.map(({ name }) => name)).toContain(part)
    expect((atLeast === undefined) !== (atMost === undefined)).toBe(true)
  }
})

test("a load generator at its limit is named", () => {
  const slow = resultOf("tessera", [sampleOf(1)])
  const fast = resultOf("floor", [sampleOf(1, { generatorLoad: 0.97 })])
  expect(generatorBound([slow, fast])).toEqual(["sealed, metadata: floor on memory"])
})
