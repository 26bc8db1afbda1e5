import type { Result } from "../measure/Result.ts"
import { median } from "../measure/statistics.ts"
import { generatorBound } from "./generatorBound.ts"
import type { Verdict } from "./judge.ts"
import type { Report } from "./Report.ts"

const heading = "## Performance"

const cells = (row: ReadonlyArray<string>) => `| ${row.join(" | ")} |`

const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>) =>
  [cells(head), cells(head.map(() => "---")), ...rows.map(cells)].join("\n")

const words = (workload: string) => workload.replaceAll("_", " ")

const medianOf = (result: Result, key: "cpu" | "perSecond" | "p50" | "p99") =>
  median(result.samples.map((sample) => sample[key]))

const shown = new Set(["sealed", "sealed-node", "peers", "peers-postgres", "stores"])

/** The page's section on speed, out of one run: ratios first, because only they mean something elsewhere. */
export const performanceSection = (report: Report, verdicts: ReadonlyArray<Verdict>): string => {
  const { machine } = report
  const ratios = verdicts.map((verdict) => [
    `${words(verdict.workload)}${verdict.part === "sealed-node" ? " on Node" : ""}`,
    verdict.figure,
    verdict.what,
    verdict.shown,
    `${verdict.wanted}${verdict.holds ? "" : " (not reached)"}`,
    verdict.floor ?? ""
  ])
  const results = report.results.filter(({ part }) => shown.has(part))
  const figures = results.map((result) => [
    result.part,
    words(result.workload),
    result.store,
    `${result.subject} (${result.runtime})`,
    medianOf(result, "cpu") === 0 ? "" : medianOf(result, "cpu").toFixed(1),
    medianOf(result, "perSecond").toFixed(0),
    medianOf(result, "p50").toFixed(2),
    medianOf(result, "p99") === 0 ? "" : medianOf(result, "p99").toFixed(2)
  ])
  const held = generatorBound(results)
  const limit =
    held.length === 0
      ? ""
      : `The load generator was at its limit, and requests per second are a least: ${held.join("; ")}.\n\n`
  return `${heading}

One run, everything side by side and in turns. The ratios carry over to other machines, the figures below them do not. The
floor beside a peer or a database's own program is a bare server that does only what no server can leave out.

${table(["workload", "figure", "of what to what", "ratio", "aim", "floor"], ratios)}

The same run in figures: medians over the rounds, 64 connections. CPU is the server's time for each request. Only figures
of one part compare: each has as many grants and tokens in use as it needs, and its own neighbours on the machine.

${table(["part", "workload", "store", "server", "CPU µs", "per second", "p50 ms", "p99 ms"], figures)}

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
