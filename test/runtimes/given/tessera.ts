import { join } from "node:path"
import { Effect } from "effect"
import { plainEnvironment } from "../../harness/runProgram.ts"
import { startChild } from "./Child.ts"

const main = join(import.meta.dir, "../../../runtimes/bun/main.ts")

export interface Told {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd: string
  /** What standard input holds. */
  readonly input?: string
}

/** The server's own program, with nothing of this process's environment. */
export const tessera = (args: ReadonlyArray<string>, { cwd, env = {} }: Told) =>
  startChild(process.execPath, ["--no-env-file", main, ...args], { cwd, env: { ...plainEnvironment, ...env } })

/** Runs a command to its end. */
export const command = (args: ReadonlyArray<string>, told: Told) =>
  Effect.scoped(
    Effect.gen(function* () {
      const child = yield* tessera(args, told)
      child.process.stdin?.end(told.input ?? "")
      const { status } = yield* Effect.promise(() => child.ended)
      return { status, stdout: child.stdout(), stderr: child.stderr() }
    })
  )
