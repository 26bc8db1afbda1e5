import { spawn } from "node:child_process"
import { availableParallelism, constants, tmpdir } from "node:os"
import { Cause, Effect, Exit, Fiber } from "effect"
import { type Counts, readCounts } from "./Counts.ts"
import { failuresIn } from "./failuresIn.ts"
import { type Environment, startServices } from "./startServices.ts"
import { letThrough, sweepThrowaways, throwawayFolder } from "./throwawayFolder.ts"
import { tiers } from "./tiers.ts"

/** Folders that git ignores and that may hold copies of test files. */
const ignored = ["artifacts/**", "data/**", "dist/**", "reports/**"]

/** A test that starts servers of its own on a busy machine needs more than the five seconds of `bun test`. */
const limitPerTest = 180_000

/** Half of the time goes into waiting for servers and browsers. More at once would be short of connections to them. */
const filesAtOnce = Math.min(2, availableParallelism())

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
    // Whatever a test has started goes with it: that is what `--no-orphans` is for.
    return Effect.callback<void>((done) => {
      if (child.exitCode !== null || child.signalCode !== null) done(Effect.void)
      child.once("exit", () => done(Effect.void))
      child.kill("SIGKILL")
    })
  })

const nothing: Counts = { pass: 0, fail: 0, skip: 0 }

/** Says how it went, after what `before` it went well, in a closing line for people and programs; the exit status. */
const judge = ({ status, output }: Ended, before: Counts = nothing): number => {
  const counts = readCounts(output)
  if (counts === undefined) {
    say(`bun test ended with status ${status} and without a summary: nobody knows what passed`)
    return status || 1
  }
  const { fail, skip } = counts
  const pass = before.pass + counts.pass
  // A reader keeps the end of a long run.
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
const roomForTests = Effect.gen(function* () {
  const folder = yield* throwawayFolder("files")
  letThrough(folder)
  return folder
})

const [first, ...rest] = process.argv.slice(2)
const withServices = first !== "--without-services"
const args = withServices ? process.argv.slice(2) : rest

const isSound = ({ status }: Ended, counts: Counts) => status === 0 && counts.fail + counts.skip === 0

const program = Effect.gen(function* () {
  sweepThrowaways(tmpdir(), Date.now())
  const folder = yield* roomForTests
  const ports = yield* throwawayFolder("ports")
  const run = (files: ReadonlyArray<string>, services: Environment) =>
    bunTest(files, { ...services, TMPDIR: folder, TEST_PORTS: ports })
  if (args.length > 0) return judge(yield* run(args, withServices ? yield* startServices : {}))

  const { alone, others } = tiers()
  const quick = yield* run(alone, {})
  const counts = readCounts(quick.output)
  if (!withServices || counts === undefined || !isSound(quick, counts)) return judge(quick)
  say(`${counts.pass} passed without services; now the rest`)
  return judge(yield* run(others, yield* startServices), counts)
}).pipe(Effect.scoped)

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
