import { Schema } from "effect"

/** The file is of an older version, and whoever opened it did not want it changed. */
export class MigrationsPending extends Schema.TaggedError<MigrationsPending>()("MigrationsPending", {
  message: Schema.String
}) {}
