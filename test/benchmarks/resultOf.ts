import type { Sample } from "../../benchmarks/Plan.ts"
import type { Result } from "../../benchmarks/report/Report.ts"

export const sampleOf = (cpu: number, more: Partial<Sample> = {}): Sample => ({
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

/** Of metadata on memory, in the part `sealed`. */
export const resultOf = (subject: string, samples: ReadonlyArray<Sample>): Result => ({
  part: "sealed",
  workload: "metadata",
  store: "memory",
  subject,
  runtime: "bun",
  case: "",
  samples
})
