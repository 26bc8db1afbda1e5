import type { Sample } from "../Plan.ts"
import { allParts } from "../parts/all.ts"
import { generatorBound, type Verdict } from "./judge.ts"
import { median, type Report, type Result, spread } from "./Report.ts"

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

type Column = Exclude<keyof Sample, "rows">

const rowOf = (result: Result): ReadonlyArray<string> => {
  const of = (key: Column) => result.samples.map((sample) => sample[key])
  // What a database's own program takes itself is not measured.
  const unless0 = (key: Column, text: (middle: number) => string) => {
    const middle = median(of(key))
    return middle === 0 ? "" : text(middle)
  }
  const number = (key: Column, digits: number) => unless0(key, (middle) => middle.toFixed(digits))
  const percent = (key: Column) => unless0(key, () => `${(spread(of(key)) * 100).toFixed(0)}%`)
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

const heading = "## Performance"

const cells = (row: ReadonlyArray<string>) => `| ${row.join(" | ")} |`

const markdown = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>) =>
  [cells(head), cells(head.map(() => "---")), ...rows.map(cells)].join("\n")

const words = (workload: string) => workload.replaceAll("_", " ")

const medianOf = (result: Result, key: "cpu" | "perSecond") => median(result.samples.map((sample) => sample[key]))

const figuresHead = ["part", "of", "store", "servers"]

/** What a database's own program takes itself is not measured. */
const figureText = (result: Result): string => {
  const cpu = medianOf(result, "cpu")
  const name = result.runtime === "C" ? result.subject : `${result.subject} (${result.runtime})`
  return `${name} ${cpu === 0 ? "" : `${cpu.toFixed(1)} `}[${medianOf(result, "perSecond").toFixed(0)}]`
}

const shown = new Set(["sealed", "sealed-node", "peers", "peers-postgres", "stores"])

/** What is held where the aim is not reached. */
const shortRows = (verdicts: ReadonlyArray<Verdict>) =>
  verdicts
    .filter(({ aim }) => aim !== undefined)
    .map(({ aim = "", figure, measured, part, shown, wanted, what, workload }) => [
      part,
      words(workload),
      figure,
      what,
      aim,
      wanted,
      String(measured ?? ""),
      shown
    ])

const shortHead = ["part", "of", "figure", "of what to what", "aim", "held", "measured before", "this run"]

export const shortTable = (verdicts: ReadonlyArray<Verdict>): string => {
  const rows = shortRows(verdicts)
  return rows.length === 0 ? "" : `Short of the aim:\n\n${markdown(shortHead, rows)}\n`
}

const notReached = { holds: "", unclear: " (unclear)", short: " (not reached)" } as const

/** The page's section on speed, out of one run: ratios first, because only they mean something elsewhere. */
export const performanceSection = (report: Report, verdicts: ReadonlyArray<Verdict>): string => {
  const { machine } = report
  const ratios = verdicts.map((verdict) => [
    `${words(verdict.workload)}${verdict.part === "sealed-node" ? " on Node" : ""}`,
    verdict.figure,
    verdict.what,
    verdict.within === undefined ? verdict.shown : `${verdict.shown} (${verdict.within})`,
    `${verdict.wanted}${notReached[verdict.outcome]}`,
    verdict.floor ?? "",
    verdict.aim ?? "",
    String(verdict.measured ?? "")
  ])
  const results = report.results.filter(({ part }) => shown.has(part))
  const contests = new Map<string, Array<string>>()
  for (const result of results) {
    const name = cells([result.part, words(result.workload), result.store])
    contests.set(name, [...(contests.get(name) ?? []), figureText(result)])
  }
  const figures = [...contests].map(([name, entrants]) => `${name} ${entrants.join("; ")} |`)
  const held = generatorBound(results)
  const limit =
    held.length === 0
      ? ""
      : `The load generator was at its limit, and requests per second are a least: ${held.join("; ")}.\n\n`
  const unrest = median(
    report.results.map(({ samples }) => spread(samples.map(({ cpu }) => cpu))).filter(Number.isFinite)
  )
  return `${heading}

One run, everything side by side. The ratios carry over to other machines better than the figures below them, and not
wholly: on a host of twice the speed, what had taken 0.9 of a floor took 1.2. Behind a ratio stands between what the true
one lies in 19 of 20 cases. Between the least and the greatest round of a figure lay ${(200 * unrest).toFixed(0)} % of its median, in the
middle over all figures: on a host that others disturb, single ratios say less.

${markdown(["workload", "figure", "of what to what", "ratio", "held", "floor", "short of", "before"], ratios)}

Where an aim stands under "short of", what is held is what was reached, which stands under "before".

The same run in figures: CPU µs per request and, in brackets, requests per second; medians over the rounds, 64 connections.

${[cells(figuresHead), cells(figuresHead.map(() => "---")), ...figures].join("\n")}

${limit}${machine.processor}, ${machine.cores} cores, ${machine.memory}, ${machine.system}; Bun ${machine.bun}, Node ${machine.node};
${report.startedAt.slice(0, 10)}, commit ${report.commit}.
`
}

/** The page with that section in the place of the one that it had, or at its end. */
export const withSection = (readme: string, section: string): string => {
  const start = readme.indexOf(`${heading}\n`)
  if (start === -1) return `${readme.trimEnd()}\n\n${section}`
  const next = readme.indexOf("\n## ", start + heading.length)
  return readme.slice(0, start) + section + (next === -1 ? "" : readme.slice(next))
}

/** The parts that a run was without, so that it says nothing of them. */
export const leftOut = ({ parts }: Report): ReadonlyArray<string> =>
  allParts.map(({ name }) => name).filter((name) => !parts.includes(name))
