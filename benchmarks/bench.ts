import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Cause, Effect, Exit, Fiber } from "effect"
import { readArguments, usage } from "./arguments.ts"
import { generatorBound } from "./report/generatorBound.ts"
import { judge, readBudget, verdictText } from "./report/judge.ts"
import { leftOut } from "./report/leftOut.ts"
import { plot } from "./report/plot.ts"
import { folderOfReports, type Report, readReport } from "./report/Report.ts"
import { performanceSection, withSection } from "./report/readme.ts"
import { table } from "./report/table.ts"
import { run } from "./run.ts"

const begun = performance.now()
/** With the seconds so far, since the whole has a budget too. */
const say = (line: string) => {
  process.stderr.write(`${((performance.now() - begun) / 1000).toFixed(1).padStart(6)} s  ${line}\n`)
}

const wish = readArguments(process.argv.slice(2))
if (wish === usage) {
  process.stdout.write(wish)
  process.exit(0)
}
if (typeof wish === "string") {
  process.stderr.write(wish)
  process.exit(2)
}

const keep = (report: Report): void => {
  mkdirSync(folderOfReports, { recursive: true })
  const file = join(folderOfReports, report.startedAt.replaceAll(":", "-").replace(/\..*/, ""))
  writeFileSync(`${file}.json`, `${JSON.stringify(report, undefined, 2)}\n`)
  writeFileSync(`${file}.svg`, plot(report.results, `${report.machine.processor}, ${report.startedAt}`))
  say(`kept as ${file}.json and .svg`)
}

const budget = readBudget(JSON.parse(readFileSync(join(import.meta.dir, "budget.json"), "utf8")))

const program = Effect.gen(function* () {
  const report = wish.from === undefined ? yield* run(wish, say) : readReport(wish.from)
  if (wish.from === undefined) keep(report)
  process.stdout.write(table(report.results))
  const verdicts = judge(
    budget.filter(({ part }) => report.parts.includes(part)),
    report.results
  )
  for (const name of generatorBound(report.results)) {
    process.stdout.write(`The load generator was at its limit: ${name}\n`)
  }
  const missing = leftOut(report)
  if (wish.readme) {
    if (report.quick || missing.length > 0) {
      return yield* Effect.fail(
        new Error("The README is written from a whole run, and this was a part of one, or quick")
      )
    }
    const file = join(import.meta.dir, "README.md")
    writeFileSync(file, withSection(readFileSync(file, "utf8"), performanceSection(report, verdicts)))
  }
  process.stdout.write(`\n${verdicts.map(verdictText).join("\n")}\n`)
  const short = verdicts.filter(({ holds }) => !holds).length
  process.stdout.write(`${verdicts.length - short} hold, ${short} fall short\n`)
  const unseen = budget.map(({ part }) => part).filter((part) => missing.includes(part))
  if (unseen.length > 0) {
    process.stdout.write(
      `${unseen.length} lines of the budget were not looked at: ${[...new Set(unseen)].join(", ")}\n`
    )
  }
  return wish.check && (short > 0 || verdicts.length === 0) ? 1 : 0
})

const fiber = Effect.runFork(program)
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => Effect.runFork(Fiber.interrupt(fiber)))
}
const exit = await Effect.runPromise(Fiber.await(fiber))
if (Exit.isFailure(exit)) {
  const error = Cause.squash(exit.cause)
  say(error instanceof Error ? error.message : String(error))
  process.exit(1)
}
process.exit(exit.value)
