import type { Result } from "../measure/Result.ts"
import { median } from "../measure/statistics.ts"

const width = 960
const left = 380
const right = 90
const bar = 16
const gap = 6
const heading = 34
const top = 60

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

const text = (x: number, y: number, content: string, extra = "") =>
  `<text x="${x}" y="${y}"${extra}>${escaped(content)}</text>`

const byContest = (results: ReadonlyArray<Result>): ReadonlyArray<readonly [string, ReadonlyArray<Result>]> => {
  const contests = new Map<string, Array<Result>>()
  for (const result of results) {
    const name = `${result.part}: ${result.workload}`
    const known = contests.get(name)
    if (known === undefined) contests.set(name, [result])
    else known.push(result)
  }
  return [...contests]
}

const labelOf = (result: Result): string =>
  [result.subject, result.runtime, result.store === "memory" ? "" : result.store, result.case]
    .filter(Boolean)
    .join(", ")

/** CPU time per request of everything that was measured: medians as bars, the rounds' range as a line. Logarithmic. */
export const plot = (all: ReadonlyArray<Result>, caption: string): string => {
  const results = all.filter((result) => result.samples.some(({ cpu }) => cpu > 0))
  const values = results.flatMap(({ samples }) => samples.map(({ cpu }) => cpu)).filter((cpu) => cpu > 0)
  const least = 10 ** Math.floor(Math.log10(Math.min(...values, 10)))
  const most = 10 ** Math.ceil(Math.log10(Math.max(...values, 100)))
  const at = (cpu: number) =>
    left + ((width - left - right) * Math.log10(Math.max(cpu, least) / least)) / Math.log10(most / least)
  const marks: Array<string> = []
  let y = top
  for (const [name, entries] of byContest(results)) {
    y += heading
    marks.push(text(16, y - 8, name, ' font-weight="600"'))
    for (const entry of entries) {
      const cpus = entry.samples.map(({ cpu }) => cpu)
      const middle = median(cpus)
      const ours = entry.subject.startsWith("tessera")
      marks.push(
        text(left - 10, y + bar - 4, labelOf(entry), ' text-anchor="end"'),
        `<rect x="${left}" y="${y}" width="${(at(middle) - left).toFixed(1)}" height="${bar}" rx="2" fill="${ours ? "#b4532a" : "#8a94a6"}"/>`,
        `<path d="M${at(Math.min(...cpus)).toFixed(1)} ${y + bar / 2}H${at(Math.max(...cpus)).toFixed(1)}" stroke="#1c1f26" stroke-width="2"/>`,
        text(Math.round(at(Math.max(...cpus))) + 6, y + bar - 4, `${middle.toFixed(middle < 100 ? 1 : 0)} µs`)
      )
      y += bar + gap
    }
  }
  const height = y + 40
  const grid: Array<string> = []
  for (let tick = least; tick <= most; tick *= 10) {
    grid.push(
      `<path d="M${at(tick).toFixed(1)} ${top}V${height - 30}" stroke="#d8dce3"/>`,
      text(Math.round(at(tick)), top - 6, `${tick} µs`, ' text-anchor="middle" fill="#5b6372"')
    )
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="12" fill="#1c1f26">
<rect width="100%" height="100%" fill="#fff"/>
${text(16, 24, "CPU time per request (less is better; logarithmic)", ' font-size="16" font-weight="600"')}
${text(16, height - 10, caption, ' fill="#5b6372"')}
${grid.join("\n")}
${marks.join("\n")}
</svg>
`
}
