import { describe, expect, test } from "bun:test"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import type { Sample } from "../../benchmarks/Plan.ts"
import { type Budget, isJudged, judge, readBudget } from "../../benchmarks/report/judge.ts"
import type { Report, Result } from "../../benchmarks/report/Report.ts"
import { runProgram } from "../harness/runProgram.ts"
import { throwawayFolder } from "../harness/throwawayFolder.ts"
import { resultOf, sampleOf } from "./resultOf.ts"

const bench = join(import.meta.dir, "../../benchmarks")
const budget = readBudget(JSON.parse(readFileSync(join(bench, "budget.json"), "utf8")))

type Line = Budget[number]

const boundOf = ({ atLeast, atMost }: Line): number => atMost ?? atLeast ?? Number.NaN

/** So many times as bad as the bound of the line. */
const worse = (line: Line, times: number): number =>
  line.atMost === undefined ? boundOf(line) / times : boundOf(line) * times

/** A figure of so much, beside one of 1 of the server that it is compared with. */
const samplesOf = ({ figure }: Line, value: number, processes = 1): ReadonlyArray<Sample> => {
  switch (figure) {
    case "cpu":
      return [sampleOf(10 * value)]
    case "databaseCpu":
    case "totalCpu":
      return [sampleOf(0, { databaseCpu: 10 * value })]
    case "perSecond":
    case "p50":
    case "memory":
    case "rows":
      return [sampleOf(1, { [figure]: value })]
    case "capacity":
      return [sampleOf((10 * processes) / value)]
    case "memoryTrend":
      return [1, 1, value].map((memory) => sampleOf(1, { memory }))
  }
}

/** Of one line: ours at so much, and floors that reach the bound, so that it is in reach. */
const resultsOf = (line: Line, value: number): ReadonlyArray<Result> =>
  line.workloads.flatMap((workload) => {
    const of = (which: Line["ours"], samples: ReadonlyArray<Sample>): Result => ({
      ...resultOf(which.subject ?? "tessera", samples),
      part: line.part,
      workload,
      store: which.store ?? "memory",
      case: which.case ?? ""
    })
    const one = samplesOf(line, 1)
    return [
      of(line.ours, samplesOf(line, value, Number.parseInt(line.ours.case ?? "1", 10) || 1)),
      ...(line.theirs === undefined ? [] : [of(line.theirs, one)]),
      ...(line.floor === undefined ? [] : [of(line.floor, samplesOf(line, boundOf(line)))]),
      ...(line.floorTo === undefined ? [] : [of(line.floorTo, one)])
    ]
  })

const nearly = 1.0001

describe("the judge", () => {
  test("lets every line of the budget stand at its bound, and none beyond it", () => {
    for (const line of budget) {
      for (const [times, outcome] of [
        [1 / nearly, "holds"],
        [nearly, "short"],
        [1.2, "short"]
      ] as const) {
        const verdicts = judge([line], resultsOf(line, worse(line, times)))
        expect(verdicts.map((verdict) => verdict.outcome)).toEqual(line.workloads.map(() => outcome))
      }
    }
  })

  test("holds a line that is short of its aim to what it reached, and not to the aim", () => {
    for (const { aim, atLeast, atMost, measured } of budget) {
      expect(aim === undefined).toBe(measured === undefined)
      if (aim === undefined || measured === undefined) continue
      if (atMost !== undefined) expect([aim, measured, atMost]).toEqual([aim, measured, atMost].sort((a, b) => a - b))
      if (atLeast !== undefined)
        expect([atLeast, measured, aim]).toEqual([atLeast, measured, aim].sort((a, b) => a - b))
    }
  })

  test("asks for both sides of each of its lines, and for nothing else", () => {
    const isAskedFor = isJudged(budget)
    for (const line of budget) {
      for (const result of resultsOf(line, 1)) expect(isAskedFor(result)).toBe(true)
    }
    expect(isAskedFor({ ...resultOf("tessera", []), workload: "registration" })).toBe(false)
    expect(isAskedFor({ ...resultOf("somebody else", []) })).toBe(false)
  })
})

const check = Effect.fnUntraced(function* (part: string, results: ReadonlyArray<Result>) {
  const report: Report = {
    startedAt: "2026-01-02T03:04:05.678Z",
    commit: "abcdef0",
    quick: true,
    parts: [part],
    machine: { processor: "P", cores: 2, memory: "1 GB", system: "S", bun: "1", node: "2", pinned: true },
    results
  }
  const file = join(yield* throwawayFolder("bench-report"), "run.json")
  writeFileSync(file, JSON.stringify(report))
  return (yield* runProgram(process.execPath, [join(bench, "bench.ts"), "--check", "--from", file])).status
}, Effect.scoped)

test("the check is green within the budget, and red when one figure is beyond it", async () => {
  const lines = budget.filter(({ part }) => part === "sealed")
  const within = lines.flatMap((line) => resultsOf(line, worse(line, 1 / nearly)))
  const beyond = lines.flatMap((line, n) => resultsOf(line, worse(line, n === 0 ? nearly : 1 / nearly)))
  expect(await Effect.runPromise(Effect.all([check("sealed", within), check("sealed", beyond)]))).toEqual([0, 1])
})

test("the check leaves out what takes a whole run, though its part has run", async () => {
  const lines = budget.filter(({ part }) => part === "strangers")
  // The records and the memory are figures of one result.
  const results = lines
    .filter(({ figure }) => figure !== "rows")
    .flatMap((line) => resultsOf(line, worse(line, line.wholeRunOnly === true ? 2 : 1 / nearly)))
    .map((result) => ({ ...result, samples: result.samples.map((sample) => ({ ...sample, rows: 0 })) }))
  expect(new Set(lines.map(({ wholeRunOnly }) => wholeRunOnly)).size).toBe(2)
  expect(await Effect.runPromise(check("strangers", results))).toBe(0)
})
