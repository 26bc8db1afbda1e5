import { Schema } from "effect"

/** What `createTessera` was given and cannot start with. `message` names the option, and never holds a secret's value. */
export class BadOption extends Schema.TaggedError<BadOption>()("BadOption", {
  option: Schema.String,
  message: Schema.String
}) {}

export const badOption = (option: string, why: string): BadOption =>
  new BadOption({ option, message: `createTessera: ${option} ${why}` })
