import { Effect } from "effect"
import type { Child } from "../runtimes/given/Child.ts"
import { startFamily } from "./startFamily.ts"

export interface Printed {
  readonly stdout: string
  readonly stderr: string
  /** Of the last command. */
  readonly status: number
}

/** A terminal that blocks are pasted into, one after the other; what one sets, the next one has. */
export interface Shell {
  readonly paste: (block: string) => Promise<Printed>
  /** What a block that is not over yet has printed, as soon as it has. */
  readonly says: Child["says"]
}

export const openShell = (cwd: string, env: Readonly<Record<string, string>>) =>
  Effect.map(startFamily("bash", ["--norc", "--noprofile"], { cwd, env }), (child): Shell => {
    let pasted = 0
    const paste = async (block: string): Promise<Printed> => {
      const before = { stdout: child.stdout().length, stderr: child.stderr().length }
      const end = `--- end of block ${++pasted}:`
      child.process.stdin?.write(`${block}\necho "${end} $?."\n`)
      const [line, status] = await child.says(new RegExp(`${end} (\\d+)\\.\n`))
      const stdout = child.stdout().slice(before.stdout)
      return {
        stdout: stdout.slice(0, stdout.indexOf(line)),
        stderr: child.stderr().slice(before.stderr),
        status: Number(status)
      }
    }
    return { paste, says: child.says }
  })
