import { type ChildProcess, spawn } from "node:child_process"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { Effect, Schema, type Scope } from "effect"
import { onPath } from "../../test/harness/machine/onPath.ts"
import type { Plan, Ready, Rows, Run, WarmedSample, Workload } from "../Plan.ts"

/** Servers on the first core, the load generator on the last: they never share one, where there are two. */
export const serverCore = 0
const generatorCore = Math.max(0, availableParallelism() - 1)

export class BenchFailed extends Schema.TaggedError<BenchFailed>()("BenchFailed", { message: Schema.String }) {}

/** A process that answers each line on its input with one on its output. */
interface Talker {
  readonly pid: number
  /** The answer to a question, parsed; the first, to nothing, is what the process says when it is ready. */
  readonly ask: (question?: unknown) => Effect.Effect<unknown, BenchFailed>
}

interface Command {
  readonly name: string
  readonly command: string
  readonly args: ReadonlyArray<string>
  /** The core that it is held to, where the system can do that. */
  readonly core: number | undefined
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
}

const [taskset] = onPath("taskset")

/** Processes can be held to cores here; where they cannot, figures are noisier. */
export const canPin = taskset !== undefined

/**
 * A log goes into a pipe, as in a container, and what reads it is a program that does next to nothing. Of its own, a
 * child has a socket there. The process that is named is the one that is asked for: bash turns into it.
 */
const throughPipe = `exec "$@" 2> >(exec ${taskset === undefined ? "" : `${taskset} --cpu-list ${generatorCore} `}tail -c 4000 >&2)`

const started = ({ command, args, core, cwd, env }: Command): ChildProcess => {
  const [file, rest] =
    taskset === undefined || core === undefined
      ? [command, args]
      : [taskset, ["--cpu-list", String(core), command, ...args]]
  return spawn("bash", ["-c", throughPipe, "bash", file, ...rest], {
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...process.env, NODE_ENV: "production", ...env },
    stdio: ["pipe", "pipe", "pipe"]
  })
}

const tailLength = 4000

/** Starts the process; it is killed with the scope. */
export const startTalker = (command: Command): Effect.Effect<Talker, BenchFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => started(command)),
      (child) => Effect.sync(() => void child.kill("SIGKILL"))
    )
    let said = ""
    let ended = false
    const unread: Array<string> = []
    let waiting: ((line: string | undefined) => void) | undefined
    const give = (line: string | undefined) => {
      const take = waiting
      waiting = undefined
      if (take !== undefined) take(line)
      else if (line !== undefined) unread.push(line)
    }
    child.stderr?.on("data", (chunk) => {
      said = `${said}${chunk}`.slice(-tailLength)
    })
    const end = () => {
      ended = true
      give(undefined)
    }
    child.on("error", (error) => {
      said += error.message
      end()
    })
    // By then the end of its log is here too.
    child.on("close", end)
    if (child.stdout !== null) createInterface({ input: child.stdout }).on("line", give)

    const failed = (what: string) => new BenchFailed({ message: `${command.name} ${what}\n${said.trim()}` })
    const next = Effect.callback<string, BenchFailed>((resume) => {
      const line = unread.shift()
      if (line !== undefined) resume(Effect.succeed(line))
      else if (ended) resume(failed("has ended"))
      else waiting = (line) => resume(line === undefined ? failed("has ended") : Effect.succeed(line))
    })

    const ask = (question?: unknown): Effect.Effect<unknown, BenchFailed> =>
      Effect.gen(function* () {
        if (question !== undefined) child.stdin?.write(`${JSON.stringify(question)}\n`)
        // Servers log on the same stream; ours are the lines that are JSON and no log entry.
        for (;;) {
          const line = yield* next
          const answer = answerIn(line)
          if (answer === undefined) continue
          if (answer.failure !== undefined) return yield* failed(`failed: ${String(answer.failure)}`)
          return answer
        }
      })
    return { pid: child.pid ?? 0, ask }
  })

interface Line {
  readonly failure?: unknown
  readonly level?: unknown
}

const answerIn = (line: string): Line | undefined => {
  try {
    // Any JSON object will do: what it holds is for whoever asked.
    const value = JSON.parse(line) as Line | null
    return typeof value !== "object" || value === null || value.level !== undefined ? undefined : value
  } catch {
    return undefined
  }
}

/** A server that runs and can be measured. */
export interface Subject {
  readonly name: string
  readonly runtime: Runtime
  readonly pid: number
  readonly port: number
  readonly prepare: (workload: Workload, count: number) => Effect.Effect<Plan, BenchFailed>
  /** How many records its store holds. */
  readonly rows: Effect.Effect<number, BenchFailed>
}

export type Runtime = "bun" | "node"

interface SubjectOptions {
  readonly name: string
  readonly runtime: Runtime
  readonly executable: string
  /** What a runtime is to run; nothing, where the executable is the server itself. */
  readonly script?: string
  readonly args: ReadonlyArray<string>
  readonly core?: number | undefined
  readonly env?: Readonly<Record<string, string>>
}

/** Node 22 takes types off by itself only when it is told to. */
const flags = {
  bun: ["--no-env-file"],
  node: ["--expose-gc", "--experimental-strip-types", "--disable-warning=ExperimentalWarning"]
}

export const startSubject = (options: SubjectOptions): Effect.Effect<Subject, BenchFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const { name, runtime, executable, script, args } = options
    const talker = yield* startTalker({
      name,
      command: executable,
      args: [...(script === undefined ? [] : [...flags[runtime], script]), `--runtime=${runtime}`, ...args],
      core: "core" in options ? options.core : serverCore,
      ...(options.env === undefined ? {} : { env: options.env })
    })
    // What `obey` says.
    const { port } = (yield* talker.ask()) as Ready
    return {
      name,
      runtime,
      pid: talker.pid,
      port,
      prepare: (workload, count) => Effect.map(talker.ask({ workload, count }), (plan) => plan as Plan),
      rows: Effect.map(talker.ask({ rows: true }), (answer) => (answer as Rows).rows)
    }
  })

export interface Generator {
  readonly run: (run: Run) => Effect.Effect<WarmedSample, BenchFailed>
}

export const startGenerator = (core: number = generatorCore): Effect.Effect<Generator, BenchFailed, Scope.Scope> =>
  Effect.map(
    startTalker({
      name: "the load generator",
      command: process.execPath,
      args: ["--no-env-file", join(import.meta.dir, "../load/generate.ts")],
      core
    }),
    // What `generate` says.
    (talker) => ({ run: (run) => Effect.map(talker.ask(run), (sample) => sample as WarmedSample) })
  )
