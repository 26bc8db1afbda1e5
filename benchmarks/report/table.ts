import type { Sample } from "../load/Run.ts"
import type { Result } from "../measure/Result.ts"
import { median, spread } from "../measure/statistics.ts"

const columns = [
  "part",
  "workload",
  "store",
  "subject",
  "on",
  "case",
  "µs CPU",
  "±",
  "req/s",
  "±",
  "p50 ms",
  "p99 ms",
  "MB",
  "load"
]

const rowOf = (result: Result): ReadonlyArray<string> => {
  const of = (key: keyof Sample) => result.samples.map((sample) => sample[key])
  const number = (key: keyof Sample, digits: number) => median(of(key)).toFixed(digits)
  const percent = (key: keyof Sample) => `${(spread(of(key)) * 100).toFixed(0)}%`
  return [
    result.part,
    result.workload,
    result.store,
    result.subject,
    result.runtime,
    result.case,
    number("cpu", 1),
    percent("cpu"),
    number("perSecond", 0),
    percent("perSecond"),
    number("p50", 2),
    number("p99", 2),
    number("memory", 0),
    `${(median(of("generatorLoad")) * 100).toFixed(0)}%`
  ]
}

/** One table of everything: medians over the rounds, and how far they spread. */
export const table = (results: ReadonlyArray<Result>): string => {
  const rows = [columns, ...results.map(rowOf)]
  const widths = columns.map((_, at) => Math.max(...rows.map((row) => (row[at] ?? "").length)))
  const firstNumber = columns.indexOf("µs CPU")
  const line = (row: ReadonlyArray<string>) =>
    row
      .map((cell, at) => (at < firstNumber ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join("  ")
      .trimEnd()
  return `${rows.map(line).join("\n")}\n`
}
