import { Effect } from "effect"
import { familyOf, signal } from "../harness/processes.ts"
import { type ChildOptions, startChild } from "../runtimes/given/Child.ts"

/** A program that starts others, which end with the scope too. */
export const startFamily = (command: string, args: ReadonlyArray<string>, options: ChildOptions) =>
  Effect.tap(startChild(command, args, options), ({ process: { pid } }) =>
    Effect.addFinalizer(() =>
      Effect.sync(() => {
        for (const member of pid === undefined ? [] : familyOf(pid)) signal(member, "SIGKILL")
      })
    )
  )
