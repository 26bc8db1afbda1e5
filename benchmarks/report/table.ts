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
  // What a database's own program takes itself is not measured.
  const unless0 = (key: keyof Sample, text: (middle: number) => string) => {
    const middle = median(of(key))
    return middle === 0 ? "" : text(middle)
  }
  const number = (key: keyof Sample, digits: number) => unless0(key, (middle) => middle.toFixed(digits))
  const percent = (key: keyof Sample) => unless0(key, () => `${(spread(of(key)) * 100).toFixed(0)}%`)
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
    unless0("generatorLoad", (middle) => `${(middle * 100).toFixed(0)}%`)
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
