import { type ChildProcess, spawn } from "node:child_process"
import { pipeline, Readable } from "node:stream"
import { Effect } from "effect"
import type { User } from "./unprivilegedUser.ts"

const transpiled = process.env.TEST_TRANSPILED

/**
 * What a test asks of a program is soon done, mostly before code that JavaScriptCore has compiled pays for that: it waits
 * twenty times as long with it, which saves a third of a start.
 */
export const shortLived = {
  BUN_JSC_thresholdForJITAfterWarmUp: "10000",
  BUN_JSC_thresholdForOptimizeAfterWarmUp: "20000"
}

/** A fixed environment, so that `PGHOST`, `LANG` and the like of the machine do not matter. */
export const plainEnvironment = {
  PATH: process.env.PATH ?? "/usr/bin:/bin",
  LANG: "C",
  LC_ALL: "C",
  TZ: "UTC",
  ...shortLived,
  // Bun keeps there what it made of large sources, which is a third of a start. Without a home it would have no place.
  ...(transpiled === undefined ? {} : { BUN_RUNTIME_TRANSPILER_CACHE_PATH: transpiled })
}

export interface Ended {
  /** `undefined` if it could not start, or ended by a signal. */
  readonly status: number | undefined
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly cwd?: string
  readonly user?: User | undefined
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Standard input. Default: none. */
  readonly input?: Iterable<string>
}

const collect = (child: ChildProcess, whenDone: (ended: Ended) => void) => {
  const said = { stdout: "", stderr: "" }
  child.stdout?.on("data", (chunk) => {
    said.stdout += chunk
  })
  child.stderr?.on("data", (chunk) => {
    said.stderr += chunk
  })
  child.on("error", (error) => whenDone({ ...said, status: undefined, stderr: error.message }))
  child.on("close", (status) => whenDone({ ...said, status: status ?? undefined }))
}

/** Runs a program to its end, and kills it on interruption. */
export const runProgram = (
  command: string,
  args: ReadonlyArray<string>,
  { cwd, user, env = plainEnvironment, input }: RunOptions = {}
): Effect.Effect<Ended> =>
  Effect.callback((resume) => {
    const stdin = input === undefined ? "ignore" : "pipe"
    const child = spawn(command, args, { ...(cwd ? { cwd } : {}), env, stdio: [stdin, "pipe", "pipe"], ...user })
    if (input !== undefined && child.stdin !== null) {
      // A program may end before it has read its input; its status says why.
      pipeline(Readable.from(input), child.stdin, () => undefined)
    }
    collect(child, (ended) => resume(Effect.succeed(ended)))
    return Effect.sync(() => child.kill("SIGKILL"))
  })
