import { Schema } from "effect"

/** The storage can't be used. `message` says what is wrong, and holds no password. */
export class StorageRefused extends Schema.TaggedError<StorageRefused>()("StorageRefused", {
  message: Schema.String
}) {}
