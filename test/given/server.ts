import { type ChildProcess, spawn } from "node:child_process"
import { closeSync, openSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { freePort } from "../harness/freePort.ts"
import { pollUntil } from "../harness/pollUntil.ts"
import { throwawayFolder } from "../harness/throwawayFolder.ts"
import { serverProgram, toServe } from "./serverProgram.ts"

export const owner = { email: "ada@northwind.example", password: "correct horse battery staple" } as const

export interface ServerOptions {
  /** Settings that replace the fixture's own. */
  readonly env?: Readonly<Record<string, string>>
  /** `none`: the first start prints a set-up link. */
  readonly owner?: "given" | "none"
}

/** The server as a process of its own, over SQLite in a throwaway folder. Ends with the scope. */
export interface RunningServer {
  /** Its address, and its issuer unless `BASE_URL` differs. */
  readonly url: string
  readonly port: number
  readonly folder: string
  readonly pid: () => number | undefined
  /** Starts it again on the same data and port; done when it answers. */
  readonly start: Effect.Effect<void>
  /** `kill -9`; done when the process is gone. */
  readonly kill: Effect.Effect<void>
  /** SIGTERM; answers the exit status. */
  readonly stop: Effect.Effect<number | null>
  /** All output since the first start. */
  readonly log: () => string
}

const startLimit = 30_000

const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null

const ended = (child: ChildProcess) =>
  Effect.callback<number | null>((resume) => {
    if (hasEnded(child)) resume(Effect.succeed(child.exitCode))
    else child.once("exit", (status) => resume(Effect.succeed(status)))
  })

export const startServer = Effect.fnUntraced(function* (
  options: ServerOptions = {}
): Effect.fn.Return<RunningServer, never, Scope.Scope> {
  const folder = yield* throwawayFolder("server")
  const port = yield* freePort
  const url = `http://127.0.0.1:${port}`
  const logFile = join(folder, "server.log")
  const log = () => readFileSync(logFile, "utf8")
  const program = serverProgram()
  const env = toServe({
    ...program.env,
    PORT: String(port),
    DATABASE_URL: `sqlite:${join(folder, "tessera.db")}`,
    ...(options.owner === "none" ? {} : { OWNER_EMAIL: owner.email, OWNER_PASSWORD: owner.password }),
    ...options.env
  })
  let child: ChildProcess | undefined

  const spawned = () => {
    const output = openSync(logFile, "a")
    const process_ = spawn(program.file, [...program.args, "serve"], {
      cwd: folder,
      env,
      stdio: ["ignore", output, output]
    })
    closeSync(output)
    return process_
  }

  const start = Effect.suspend(() => {
    if (child !== undefined) return Effect.void
    const before = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0
    const starting = spawned()
    child = starting
    // The server prints the banner once it listens, and ends it with the issuer.
    const ready = Effect.sync(() => hasEnded(starting) || /issuer .+\n/.test(log().slice(before)))
    return Effect.flatMap(pollUntil(ready, startLimit), (settled) =>
      settled && !hasEnded(starting) ? Effect.void : Effect.die(new Error(`the server did not start:\n${log()}`))
    )
  })

  const endBy = (signal: NodeJS.Signals) =>
    Effect.suspend(() => {
      const running = child
      if (running === undefined) return Effect.succeed(null)
      child = undefined
      running.kill(signal)
      return ended(running)
    })

  const kill = Effect.asVoid(endBy("SIGKILL"))
  yield* Effect.addFinalizer(() => kill)
  yield* start
  return { url, port, folder, pid: () => child?.pid, start, kill, stop: endBy("SIGTERM"), log }
})

/** The one-time link of the first start. */
export const setUpLink = (server: RunningServer): string => {
  const [link] = /http\S+\/set-up\?token=\S+/.exec(server.log()) ?? []
  if (link === undefined) throw new Error(`no set-up link was printed:\n${server.log()}`)
  return link
}
