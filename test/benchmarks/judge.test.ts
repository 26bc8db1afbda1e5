import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { Sample } from "../../benchmarks/load/Run.ts"
import type { Result } from "../../benchmarks/measure/Result.ts"
import { allParts } from "../../benchmarks/parts/all.ts"
import { generatorBound } from "../../benchmarks/report/generatorBound.ts"
import { type Budget, judge, readBudget } from "../../benchmarks/report/judge.ts"

const sample = (cpu: number, more: Partial<Sample> = {}): Sample => ({
  requests: 1000,
  seconds: 1,
  perSecond: 1000,
  cpu,
  databaseCpu: 0,
  p50: 1,
  p99: 2,
  memory: 80,
  generatorLoad: 0.3,
  ...more
})

const result = (subject: string, samples: ReadonlyArray<Sample>): Result => ({
  part: "sealed",
  workload: "metadata",
  store: "memory",
  subject,
  runtime: "bun",
  case: "",
  samples
})

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
    const ours = result("tessera", [sample(14), sample(90), sample(15)])
    const floor = result("floor", [sample(10), sample(50), sample(10)])
    const [verdict] = judge([line], [ours, floor])
    expect(verdict?.ratio).toBe(1.5)
    expect(verdict?.holds).toBe(true)
    expect(judge([{ ...line, atMost: 1.49 }], [ours, floor])[0]?.holds).toBe(false)
  })

  test("a line that was not measured does not hold", () => {
    for (const results of [[], [result("tessera", [sample(1)])], [result("floor", [sample(1)])]]) {
      expect(judge([line], results)).toMatchObject([{ ratio: undefined, holds: false }])
    }
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
  const slow = result("tessera", [sample(1)])
  const fast = result("floor", [sample(1, { generatorLoad: 0.97 })])
  expect(generatorBound([slow, fast])).toEqual(["sealed, metadata: floor on memory"])
})
