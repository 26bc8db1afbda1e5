import { Schema } from "effect"

/**
 * What `createTessera`, or a method of what it made, was given and cannot work with. `message` names the option, or the
 * method and its argument, and never holds a secret's value.
 */
export class BadOption extends Schema.TaggedError<BadOption>()("BadOption", {
  option: Schema.String,
  message: Schema.String
}) {}

export const badOption = (option: string, why: string): BadOption =>
  new BadOption({ option, message: `createTessera: ${option} ${why}` })

/** `argument`: with its method in front, as `grants.list limit`. */
export const badArgument = (argument: string, why: string): BadOption =>
  new BadOption({ option: argument, message: `${argument} ${why}` })
