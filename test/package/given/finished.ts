import { Effect } from "effect"
import { type RunOptions, runProgram } from "../../harness/runProgram.ts"

/** What a program wrote, once it has ended well. */
export const finished = (command: string, args: ReadonlyArray<string>, options: RunOptions = {}) =>
  Effect.map(runProgram(command, args, options), ({ status, stderr, stdout }) => {
    if (status !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${status}:\n${stdout}\n${stderr}`)
    return stdout
  })
