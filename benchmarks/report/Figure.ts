import type { Sample } from "../load/Run.ts"
import type { Result } from "../measure/Result.ts"
import { median } from "../measure/statistics.ts"

/** What a line of the budget is about. */
export const figures = [
  "cpu",
  "databaseCpu",
  "totalCpu",
  "perSecond",
  "p50",
  "capacity",
  "memory",
  "memoryTrend"
] as const
export type Figure = (typeof figures)[number]

/** "2 processes" are two; everything else is one. */
const processesOf = (result: Result): number => Number(/^(\d+) process/.exec(result.case)?.[1] ?? 1)

export const figureOf = (figure: Figure, result: Result, sample: Sample): number => {
  switch (figure) {
    case "cpu":
    case "databaseCpu":
    case "perSecond":
    case "p50":
    case "memory":
      return sample[figure]
    case "totalCpu":
      return sample.cpu + sample.databaseCpu
    // What the processes would answer in a second that is theirs alone: the load generator takes some of it here.
    case "capacity":
      return (1e6 * processesOf(result)) / sample.cpu
    case "memoryTrend":
      return sample.memory
  }
}

/** The same for all samples together, where a line has nothing to compare with. */
export const overall = (figure: Figure, result: Result): number => {
  const values = result.samples.map((sample) => figureOf(figure, result, sample))
  if (figure === "memory") return Math.max(...values)
  if (figure !== "memoryTrend") return median(values)
  const third = Math.max(1, Math.floor(values.length / 3))
  return median(values.slice(-third)) / median(values.slice(0, third))
}

export const inWords: { readonly [figure in Figure]: string } = {
  cpu: "CPU time per request",
  databaseCpu: "the database's CPU time per request",
  totalCpu: "CPU time per request, the database's included",
  perSecond: "requests per second",
  p50: "median latency",
  capacity: "requests per second of its own CPU time",
  memory: "resident memory at its highest, MB",
  memoryTrend: "resident memory at the end over that at the start"
}
