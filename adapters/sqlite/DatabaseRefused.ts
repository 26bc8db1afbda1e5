import { Schema } from "effect"

/** The file can't be used as it is, and waiting will not change that. `message` says what to do. */
export class DatabaseRefused extends Schema.TaggedError<DatabaseRefused>()("DatabaseRefused", {
  reason: Schema.Literals(["no_driver", "newer", "foreign", "unopenable"]),
  message: Schema.String
}) {}
