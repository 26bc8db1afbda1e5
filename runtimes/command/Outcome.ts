import { Schema } from "effect"

/** What the exit status of a command says. */
export const exitStatus = { done: 0, failed: 1, usage: 2, notFound: 3, refused: 4 } as const

/** A command did not do what it was asked. `message` is for whoever asked. */
export class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", {
  status: Schema.Literals([exitStatus.failed, exitStatus.usage, exitStatus.notFound, exitStatus.refused]),
  message: Schema.String
}) {}

export const failed = (message: string) => new CommandFailed({ status: exitStatus.failed, message })
export const misused = (message: string) => new CommandFailed({ status: exitStatus.usage, message })
export const notFound = (message: string) => new CommandFailed({ status: exitStatus.notFound, message })
export const refused = (message: string) => new CommandFailed({ status: exitStatus.refused, message })
