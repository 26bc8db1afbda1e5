import { Schema } from "effect"

/**
 * The storage can't be used, or only once it is brought up to date. `message` says what is wrong, and holds no password.
 */
export class StorageRefused extends Schema.TaggedError<StorageRefused>()("StorageRefused", {
  reason: Schema.Literals(["unusable", "outdated"]),
  message: Schema.String
}) {}
