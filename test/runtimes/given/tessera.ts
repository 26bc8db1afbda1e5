import { Effect } from "effect"
import { serverProgram, toServe } from "../../given/serverProgram.ts"
import type { User } from "../../harness/unprivilegedUser.ts"
import { startChild } from "./Child.ts"

export interface Told {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd: string
  /** What standard input holds. */
  readonly input?: string
  /** The user who runs it, where it is not the user who runs the tests. */
  readonly user?: User | undefined
}

/** The server's own program, with nothing of this process's environment. */
export const tessera = (args: ReadonlyArray<string>, { cwd, env = {}, user }: Told) => {
  const program = serverProgram()
  const all = { ...program.env, ...env }
  return startChild(program.file, [...program.args, ...args], {
    cwd,
    env: args[0] === "serve" ? toServe(all) : all,
    user
  })
}

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
