import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Cause, Effect, Exit, Fiber, Scope } from "effect"
import { findNode22 } from "../test/harness/machine/findNode.ts"
import { readArguments, usage, type Wish } from "./arguments.ts"
import { judged, quick, thorough } from "./measure/contest.ts"
import { millionInSqlite } from "./measure/manyGrants.ts"
import { postgresServer, redisServer } from "./measure/services.ts"
import type { Part, Setting } from "./parts/Part.ts"
import {
  type Budget,
  generatorBound,
  isJudged,
  judge,
  readBudget,
  shortIn,
  together,
  type Verdict,
  verdictText
} from "./report/judge.ts"
import { leftOut, performanceSection, shortTable, table, withSection } from "./report/print.ts"
import { commitOf, describeMachine, folderOfReports, type Report, type Result, readReport } from "./report/Report.ts"
import { compileTessera } from "./servers/start.ts"

const shortWatch = 60
/** For `--check`. */
const briefWatch = 20
const longWatch = 600

const someStrangers = 100_000
/** For `--check`. */
const fewStrangers = 5_000
const allStrangers = 1_000_000

/** How often `--check` looks again at what fell short: a host disturbs for seconds, and a fault is there each time. */
const looksAgain = 2

/** All parts that are wanted, one after the other. */
const run = (wish: Wish, budget: Budget, say: (line: string) => void): Effect.Effect<Report, Error> =>
  Effect.gen(function* () {
    const startedAt = new Date().toISOString()
    const scope = yield* Scope.Scope
    const once = <A>(effect: Effect.Effect<A, Error, Scope.Scope>) =>
      Effect.cached(Effect.provideService(effect, Scope.Scope, scope))
    const node = yield* findNode22
    const tessera = yield* compileTessera(say)
    const executables = { node, tessera, burn: wish.plant }
    const setting: Setting = {
      ...executables,
      options: wish.check ? judged : wish.quick ? quick : thorough,
      say,
      isWanted: () => true,
      postgres: yield* once(postgresServer(say)),
      redis: yield* once(redisServer(say)),
      million: yield* once(millionInSqlite(executables, say)),
      soak: wish.soak ? longWatch : wish.check ? briefWatch : shortWatch,
      strangers: wish.soak ? allStrangers : wish.check ? fewStrangers : someStrangers
    }
    const look = Effect.fnUntraced(function* (parts: ReadonlyArray<Part>, isWanted: Setting["isWanted"]) {
      const results: Array<Result> = []
      for (const part of parts) {
        const start = performance.now()
        results.push(...(yield* Effect.scoped(part.run({ ...setting, isWanted }))))
        say(`${part.name} took ${((performance.now() - start) / 1000).toFixed(0)} s`)
      }
      return results
    })
    const judgedIn = (lines: Budget) => wish.parts.filter(({ name }) => lines.some(({ part }) => part === name))
    const parts = wish.check ? judgedIn(budget) : wish.parts
    let results = yield* look(parts, wish.check ? isJudged(budget) : setting.isWanted)
    const lines = budget.filter(({ part }) => parts.some(({ name }) => name === part))
    for (let again = 0; wish.check && again < looksAgain; again++) {
      const short = shortIn(lines, results)
      if (short.length === 0) break
      say(`looking again at ${short.flatMap(({ workloads }) => workloads).length} figures that fell short`)
      results = together(short, results, yield* look(judgedIn(short), isJudged(short)))
    }
    return {
      startedAt,
      commit: commitOf(import.meta.dir),
      quick: wish.quick || wish.check,
      parts: parts.map(({ name }) => name),
      machine: describeMachine(node),
      results
    }
  }).pipe(Effect.scoped)

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
  say(`kept as ${file}.json`)
}

const budget = readBudget(JSON.parse(readFileSync(join(import.meta.dir, "budget.json"), "utf8")))

/** What a check has the time for. */
const checked = budget.filter(({ wholeRunOnly }) => wholeRunOnly !== true)

const program = Effect.gen(function* () {
  const report = wish.from === undefined ? yield* run(wish, checked, say) : readReport(wish.from)
  if (wish.from === undefined) keep(report)
  process.stdout.write(table(report.results))
  const lines = (wish.check ? checked : budget).filter(({ part }) => report.parts.includes(part))
  const verdicts = judge(lines, report.results)
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
  process.stdout.write(`\n${verdicts.map(verdictText).join("\n")}\n\n${shortTable(verdicts)}\n`)
  const countOf = (of: Verdict["outcome"]) => verdicts.filter(({ outcome }) => outcome === of).length
  const short = countOf("short")
  process.stdout.write(`${countOf("holds")} hold, ${countOf("unclear")} are unclear, ${short} fall short\n`)
  const unseen = budget.filter((line) => !lines.includes(line)).map(({ part }) => part)
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
