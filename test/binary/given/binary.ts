import { Effect } from "effect"
import { executable } from "../../harness/given.ts"
import { throwawayFolder } from "../../harness/throwawayFolder.ts"
import { type User, unprivilegedUser } from "../../harness/unprivilegedUser.ts"
import { startChild } from "../../runtimes/given/Child.ts"

/** One executable, alone in a folder. */
export interface Binary {
  readonly file: string
  readonly user: User | undefined
}

export const theExecutable = (): Binary => ({ file: executable(), user: unprivilegedUser() })

/** An empty folder that belongs to the user who runs the executable. */
export const emptyFolder = ({ user }: Binary) => throwawayFolder("empty", user)

export interface Started {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
}

/** It runs with nothing of this machine: no PATH, no HOME, no variable but those given, and not as root. */
export const start = ({ file, user }: Binary, args: ReadonlyArray<string>, { cwd, env = {} }: Started) =>
  startChild(file, args, { cwd, env, user })

/** Runs a command to its end. */
export const run = (binary: Binary, args: ReadonlyArray<string>, started: Started & { readonly input?: string }) =>
  Effect.scoped(
    Effect.gen(function* () {
      const child = yield* start(binary, args, started)
      child.process.stdin?.end(started.input ?? "")
      const { status } = yield* Effect.promise(() => child.ended)
      return { status, stdout: child.stdout(), stderr: child.stderr() }
    })
  )
