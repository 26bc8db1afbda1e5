import { type ChildProcess, spawn } from "node:child_process"
import { closeSync, openSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Schema, type Scope } from "effect"
import { pollUntil } from "./pollUntil.ts"
import { familyOf, isAlive, runningIn, signal } from "./processes.ts"
import { plainEnvironment } from "./runProgram.ts"
import type { User } from "./unprivilegedUser.ts"

export class ServerFailed extends Schema.TaggedError<ServerFailed>()("ServerFailed", { message: Schema.String }) {}

/** A server in a throwaway folder, on a free port. Ends with the scope. */
export interface Server {
  readonly url: string
  readonly host: string
  readonly port: number
  readonly folder: string
  /** The running process; `undefined` between a kill and the next start. */
  readonly pid: () => number | undefined
  /** Starts it again on the same data and port; done when it answers. Does nothing while it runs. */
  readonly start: Effect.Effect<void, ServerFailed>
  /** An orderly stop: the server writes its data first. */
  readonly stop: Effect.Effect<void>
  /** `kill -9` of the server and its children; done when all are gone. */
  readonly kill: Effect.Effect<void>
  /** SIGSTOP of the server and its children: connections stay open, and nothing answers. */
  readonly freeze: Effect.Effect<void>
  readonly thaw: Effect.Effect<void>
  readonly log: () => string
}

export interface Program {
  readonly name: string
  readonly url: string
  readonly port: number
  readonly folder: string
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly user: User | undefined
  /** Added to the harness's environment. */
  readonly env?: Readonly<Record<string, string>>
  /** Asks it to write its data and end. */
  readonly stopSignal: NodeJS.Signals
  /** Ends it at once and cleans up, when its data is no longer needed. */
  readonly discardSignal: NodeJS.Signals
  readonly answers: Effect.Effect<boolean>
}

const startLimit = 60_000
const stopLimit = 20_000

export const startServer = Effect.fnUntraced(function* (
  program: Program
): Effect.fn.Return<Server, ServerFailed, Scope.Scope> {
  const logFile = join(program.folder, `${program.name}.log`)
  const log = () => readFileSync(logFile, "utf8")
  let child: ChildProcess | undefined

  const spawned = () => {
    const output = openSync(logFile, "a")
    // A process group of its own, so that Ctrl-C at the terminal reaches the tests and not the servers.
    const process = spawn(program.command, program.args, {
      cwd: program.folder,
      detached: true,
      env: { ...plainEnvironment, ...program.env },
      stdio: ["ignore", output, output],
      ...program.user
    })
    process.on("error", () => undefined)
    closeSync(output)
    return process
  }

  const hasEnded = (process: ChildProcess) =>
    process.pid === undefined || process.exitCode !== null || process.signalCode !== null

  const family = () => (child?.pid === undefined ? [] : familyOf(child.pid))

  /** Answers whether all were stopped already. Until then a running one may have started another. */
  const stopAll = () => {
    const running = child?.pid === undefined ? [] : runningIn(child.pid)
    for (const pid of running) signal(pid, "SIGSTOP")
    return running.length === 0
  }

  const stopped = pollUntil(Effect.sync(stopAll), stopLimit)

  const requireStopped = (areStopped: boolean) =>
    areStopped ? Effect.void : Effect.die(new Error(`${program.name} does not stop`))

  const gone = (pids: ReadonlyArray<number>) =>
    pollUntil(
      Effect.sync(() => !pids.some(isAlive) && (child === undefined || hasEnded(child))),
      stopLimit
    )

  const kill = Effect.uninterruptible(
    Effect.gen(function* () {
      // A stopped process cannot start another while they are counted.
      const wereStopped = yield* stopped
      const pids = family()
      for (const pid of pids) signal(pid, "SIGKILL")
      yield* gone(pids)
      child = undefined
      yield* requireStopped(wereStopped)
    })
  )

  const endBy = (name: NodeJS.Signals) =>
    Effect.uninterruptible(
      Effect.gen(function* () {
        const pids = family()
        for (const pid of pids) signal(pid, "SIGCONT")
        if (child?.pid !== undefined) signal(child.pid, name)
        if (yield* gone(pids)) child = undefined
        else yield* kill
      })
    )

  const start = Effect.gen(function* () {
    if (child !== undefined) return
    const process = spawned()
    child = process
    const settled = yield* pollUntil(
      Effect.suspend(() => (hasEnded(process) ? Effect.succeed(true) : program.answers)),
      startLimit
    )
    if (settled && !hasEnded(process)) return
    yield* kill
    const last = log().trim().split("\n").slice(-8).join("\n")
    return yield* new ServerFailed({ message: `${program.name} did not start (${program.command}):\n${last}` })
  })

  yield* Effect.addFinalizer(() => endBy(program.discardSignal))
  yield* start
  return {
    url: program.url,
    host: "127.0.0.1",
    port: program.port,
    folder: program.folder,
    pid: () => child?.pid,
    start,
    stop: endBy(program.stopSignal),
    kill,
    freeze: Effect.flatMap(stopped, requireStopped),
    thaw: Effect.sync(() => {
      for (const pid of family()) signal(pid, "SIGCONT")
    }),
    log
  }
})
