import { spawn } from "node:child_process"
import { writeFileSync } from "node:fs"
import { availableParallelism, constants, tmpdir } from "node:os"
import { join } from "node:path"
import { Cause, Effect, Exit, Fiber, Schema } from "effect"
import { type Counts, readCounts } from "./Counts.ts"
import { failuresIn } from "./failuresIn.ts"
import { type Environment, startServices } from "./startServices.ts"
import { letThrough, sweepThrowaways, throwawayFolder } from "./throwawayFolder.ts"
import { tiers } from "./tiers.ts"
import { expected, readTimings, slowestOf } from "./timings.ts"

/** Ignored by git; they may hold copies of test files. */
const ignored = ["artifacts/**", "data/**", "dist/**", "reports/**"]

/** Milliseconds. Starting servers on a busy machine takes longer than `bun test`'s five seconds. */
const limitPerTest = 180_000

/** Half of a file's time is waiting for servers and browsers, so one more than there are processors; each takes memory. */
const filesAtOnce = Math.min(3, availableParallelism() + 1)

const say = (line: string) => process.stderr.write(`${line}\n`)

interface Ended {
  readonly status: number
  readonly output: string
}

const bunTest = (args: ReadonlyArray<string>, environment: Environment) =>
  Effect.callback<Ended>((resume) => {
    const child = spawn(
      process.execPath,
      [
        "--no-orphans",
        "--no-env-file",
        "test",
        `--timeout=${limitPerTest}`,
        `--parallel=${filesAtOnce}`,
        "--no-isolate",
        ...ignored.map((pattern) => `--path-ignore-patterns=${pattern}`),
        ...args
      ],
      {
        env: { ...process.env, ...(process.stderr.isTTY ? { FORCE_COLOR: "1" } : {}), ...environment },
        stdio: ["ignore", "inherit", "pipe"]
      }
    )
    let output = ""
    child.stderr.on("data", (chunk) => {
      process.stderr.write(chunk)
      output += chunk
    })
    child.on("error", (error) => resume(Effect.succeed({ status: 1, output: error.message })))
    child.on("close", (status) => resume(Effect.succeed({ status: status ?? 1, output })))
    // `--no-orphans` ends what a test has started with it.
    return Effect.callback<void>((done) => {
      if (child.exitCode !== null || child.signalCode !== null) done(Effect.void)
      child.once("exit", () => done(Effect.void))
      child.kill("SIGKILL")
    })
  })

const nothing: Counts = { pass: 0, fail: 0, skip: 0 }

/** Prints a closing line with the totals, including those of `before`, and answers the exit status. */
const judge = ({ status, output }: Ended, before: Counts = nothing): number => {
  const counts = readCounts(output)
  if (counts === undefined) {
    say(`bun test ended with status ${status} and without a summary: nobody knows what passed`)
    return status || 1
  }
  const { fail, skip } = counts
  const pass = before.pass + counts.pass
  // Repeated last, because a reader looks at the end of a long run.
  for (const failure of failuresIn(output)) say(`\nOnce more, what failed:\n${failure}`)
  const complaint =
    skip > 0
      ? `${skip} skipped: what is not run proves nothing`
      : pass + fail === 0
        ? "there was nothing to run"
        : status !== 0 && fail === 0
          ? `bun test ended with status ${status}`
          : undefined
  if (complaint !== undefined) say(complaint)
  say(`${pass} passed, ${fail} failed`)
  return status || (complaint !== undefined || fail > 0 ? 1 : 0)
}

/** What tests write, they write into a folder that goes with the run, however they end. */
const roomForTests = Effect.fnUntraced(function* (name: string) {
  const folder = yield* throwawayFolder(name)
  letThrough(folder)
  return folder
})

const [first, ...rest] = process.argv.slice(2)
const withServices = first !== "--without-services"
const args = withServices ? process.argv.slice(2) : rest

/** The first tier: what it found, where nothing more needs to run. */
class FirstTierFailed extends Schema.TaggedError<FirstTierFailed>()("FirstTierFailed", {
  status: Schema.Number,
  output: Schema.String
}) {}

const isSound = ({ status }: Ended, counts: Counts) => status === 0 && counts.fail + counts.skip === 0

const program = Effect.gen(function* () {
  sweepThrowaways(tmpdir(), Date.now())
  const own = {
    TMPDIR: yield* roomForTests("files"),
    TEST_MADE: yield* roomForTests("made"),
    TEST_PORTS: yield* throwawayFolder("ports"),
    TEST_TRANSPILED: yield* roomForTests("transpiled")
  }
  const run = (args: ReadonlyArray<string>, services: Environment) => bunTest(args, { ...services, ...own })
  if (args.length > 0) return judge(yield* run(args, withServices ? yield* startServices : {}))

  const { alone, others } = tiers()
  if (!withServices) return judge(yield* run(alone, {}))
  const firstTier = Effect.gen(function* () {
    const ended = yield* run(alone, {})
    const counts = readCounts(ended.output)
    return counts !== undefined && isSound(ended, counts) ? counts : yield* new FirstTierFailed(ended)
  })
  // Installing and starting are mostly waiting. Whichever fails ends the other.
  const [counts, services] = yield* Effect.all([firstTier, startServices], { concurrency: "unbounded" })
  say(`${counts.pass} passed without services; now the rest`)
  const timings = join(yield* throwawayFolder("timings"), "timings.json")
  writeFileSync(timings, JSON.stringify(expected(others)))
  const rest = yield* run([`--timings=${timings}`, "--update-timings", ...others], services)
  say(`\nWhat took longest:\n${slowestOf(readTimings(timings)).join("\n")}\n`)
  return judge(rest, counts)
}).pipe(
  Effect.scoped,
  Effect.catchTag("FirstTierFailed", (ended) => Effect.sync(() => judge(ended)))
)

const fiber = Effect.runFork(program)

let interruptedBy: NodeJS.Signals | undefined
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    interruptedBy ??= signal
    Effect.runFork(Fiber.interrupt(fiber))
  })
}

const exit = await Effect.runPromise(Fiber.await(fiber))
if (interruptedBy !== undefined) {
  say(`Stopped by ${interruptedBy}`)
  process.exit(128 + constants.signals[interruptedBy])
}
if (Exit.isFailure(exit)) {
  const error = Cause.squash(exit.cause)
  say(error instanceof Error ? error.message : String(error))
  process.exit(1)
}
process.exit(exit.value)
