import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { node } from "../../harness/given.ts"
import { runProgram } from "../../harness/runProgram.ts"
import { letThrough, throwawayFolder } from "../../harness/throwawayFolder.ts"
import { type User, unprivilegedUser } from "../../harness/unprivilegedUser.ts"
import { startChild } from "../../runtimes/given/Child.ts"

const root = join(import.meta.dir, "../../..")

/** One executable, alone in a folder. */
export interface Binary {
  readonly file: string
  readonly user: User | undefined
}

/** What `npm run build:binary` has Node run. */
export const buildScript = (): string => {
  // What npm takes for its scripts, or there is nothing to run.
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly scripts: Readonly<Record<string, string>>
  }
  const [, script] = /^node (\S+)$/.exec(scripts["build:binary"] ?? "") ?? []
  if (script === undefined) throw new Error("package.json has no build:binary that Node runs")
  return script
}

const build = Effect.gen(function* () {
  const scope = Scope.makeUnsafe()
  const folder = yield* Scope.provide(throwawayFolder("binary"), scope)
  process.once("exit", () => Effect.runSync(Scope.close(scope, Exit.void)))
  letThrough(folder)
  const file = join(folder, "tessera")
  const built = yield* runProgram(node(), [buildScript(), "--outfile", file], { cwd: root })
  if (built.status !== 0) throw new Error(`the build failed: ${built.stdout}${built.stderr}`)
  return file
})

declare global {
  /** Every test file has modules of its own; this is what all of a run have in common. */
  var executableOfThisRun: Promise<string> | undefined
}

/** The executable as `npm run build:binary` makes it, once for all test files of a run. */
export const builtBinary: Effect.Effect<Binary> = Effect.gen(function* () {
  globalThis.executableOfThisRun ??= Effect.runPromise(build)
  const making = globalThis.executableOfThisRun
  return { file: yield* Effect.promise(() => making), user: unprivilegedUser() }
})

/** An empty folder that belongs to whoever runs the executable. */
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
