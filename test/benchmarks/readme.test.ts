import { expect, test } from "bun:test"
import { allParts } from "../../benchmarks/parts/all.ts"
import type { Verdict } from "../../benchmarks/report/judge.ts"
import { leftOut, performanceSection, shortTable, withSection } from "../../benchmarks/report/print.ts"
import type { Report } from "../../benchmarks/report/Report.ts"
import { resultOf, sampleOf } from "./resultOf.ts"

const report: Report = {
  startedAt: "2026-01-02T03:04:05.678Z",
  commit: "abcdef0",
  quick: false,
  parts: ["sealed"],
  machine: { processor: "P", cores: 2, memory: "1 GB", system: "S", bun: "1", node: "2", pinned: true },
  results: []
}

const verdict: Verdict = {
  part: "sealed",
  workload: "metadata",
  what: "tessera to floor",
  figure: "CPU time per request",
  ratio: undefined,
  shown: "not measured",
  wanted: "at most 1.5",
  within: undefined,
  outcome: "short",
  outOfReach: false,
  floor: undefined,
  aim: undefined,
  measured: undefined
}

test("a line of the budget without figures is not left out", () => {
  expect(performanceSection(report, [verdict])).toContain("| not measured | at most 1.5 (not reached) |  |")
  expect(performanceSection(report, [{ ...verdict, floor: "1.6" }])).toContain("| at most 1.5 (not reached) | 1.6 |")
})

test("what the rounds leave open stands with how far apart they lie", () => {
  const unclear = { ...verdict, shown: "1.60", within: "1.30 to 1.90", outcome: "unclear" } as const
  expect(performanceSection(report, [unclear])).toContain("| 1.60 (1.30 to 1.90) | at most 1.5 (unclear) |  |")
})

test("a line that is short of its aim is held to what it reached, and listed with both", () => {
  const held = {
    ...verdict,
    shown: "1.31",
    wanted: "at most 1.4",
    outcome: "holds",
    aim: "at most 1.2",
    measured: 1.3
  } as const
  expect(shortTable([verdict])).toBe("")
  expect(shortTable([verdict, held])).toContain("| at most 1.2 | at most 1.4 | 1.3 | 1.31 |")
  expect(performanceSection(report, [held])).toContain("| 1.31 | at most 1.4 |  | at most 1.2 | 1.3 |")
})

test("what the load generator may have held up is named", () => {
  const of = (subject: string, generatorLoad: number) => resultOf(subject, [sampleOf(1, { generatorLoad })])
  const held =
    "The load generator was at its limit, and requests per second are a least: sealed, metadata: floor on memory."
  expect(performanceSection({ ...report, results: [of("floor", 0.95), of("tessera", 0.5)] }, [])).toContain(held)
  expect(performanceSection({ ...report, results: [of("floor", 0.8)] }, [])).not.toContain("at its limit")
})

test("a figure stands with its part, and parts that are not shown are not spoken of", () => {
  const of = (part: string) => ({ ...resultOf("tessera", [sampleOf(7, { generatorLoad: 0.95 })]), part })
  const section = performanceSection({ ...report, results: [of("sealed"), of("floors")] }, [])
  expect(section).toContain("| sealed | metadata | memory | tessera (bun) 7.0 [1000] |")
  expect(section).not.toContain("floors")
})

test("how far the rounds of a figure lay apart is told, so that a reader knows what a ratio is worth", () => {
  const results = [resultOf("tessera", [sampleOf(10), sampleOf(10), sampleOf(13)]), resultOf("floor", [])]
  expect(performanceSection({ ...report, results }, [])).toContain(" 30 % ")
})

test("the section takes the place of the one before, and nothing else changes", () => {
  const readme = "# T\n\n## Performance\n\nold\n\n## The map\n\nmap\n"
  expect(withSection(readme, "## Performance\n\nnew\n")).toBe("# T\n\n## Performance\n\nnew\n\n## The map\n\nmap\n")
  expect(withSection("# T\n", "## Performance\n")).toBe("# T\n\n## Performance\n")
})

test("a report knows which parts it lacks", () => {
  expect(leftOut(report)).toEqual(allParts.map(({ name }) => name).filter((name) => name !== "sealed"))
  expect(leftOut({ ...report, parts: allParts.map(({ name }) => name) })).toEqual([])
})
