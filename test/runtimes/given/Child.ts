import { type ChildProcess, spawn } from "node:child_process"
import { Effect } from "effect"
import type { User } from "../../harness/unprivilegedUser.ts"

export interface ChildOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly user?: User | undefined
}

/** A program that runs beside the test, killed with the scope. */
export interface Child {
  readonly process: ChildProcess
  readonly stdout: () => string
  readonly stderr: () => string
  /** The first match in what it has said, now or later; fails when it ends without having said it. */
  readonly says: (pattern: RegExp) => Promise<RegExpExecArray>
  readonly ended: Promise<{ readonly status: number | null; readonly signal: NodeJS.Signals | null }>
}

export const startChild = (command: string, args: ReadonlyArray<string>, { cwd, env, user }: ChildOptions = {}) =>
  Effect.acquireRelease(
    Effect.sync((): Child => {
      const child = spawn(command, args, {
        ...(cwd === undefined ? {} : { cwd }),
        ...(env === undefined ? {} : { env }),
        stdio: ["pipe", "pipe", "pipe"],
        ...user
      })
      const said = { stdout: "", stderr: "" }
      const listeners = new Set<() => void>()
      const heard = () => {
        for (const listener of listeners) listener()
      }
      let over = false
      child.stdout.on("data", (chunk) => {
        said.stdout += chunk
        heard()
      })
      child.stderr.on("data", (chunk) => {
        said.stderr += chunk
        heard()
      })
      const ended = new Promise<{ status: number | null; signal: NodeJS.Signals | null }>((resolve) => {
        child.on("error", () => resolve({ status: null, signal: null }))
        child.on("close", (status, signal) => {
          over = true
          heard()
          resolve({ status, signal })
        })
      })
      const says = (pattern: RegExp) =>
        new Promise<RegExpExecArray>((resolve, reject) => {
          const look = () => {
            const found = pattern.exec(said.stdout) ?? pattern.exec(said.stderr)
            if (found === null && !over) return
            listeners.delete(look)
            if (found !== null) resolve(found)
            else reject(new Error(`ended without saying ${pattern}:\n${said.stdout}\n${said.stderr}`))
          }
          listeners.add(look)
          look()
        })
      return { process: child, stdout: () => said.stdout, stderr: () => said.stderr, says, ended }
    }),
    (child) =>
      Effect.promise(async () => {
        child.process.kill("SIGKILL")
        await child.ended
      })
  )
