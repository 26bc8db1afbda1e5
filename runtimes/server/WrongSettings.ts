import { Schema } from "effect"

/** The server can't start like this. One line for each thing that is wrong, and none of them holds a value. */
export class WrongSettings extends Schema.TaggedError<WrongSettings>()("WrongSettings", {
  complaints: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return this.complaints.join("\n")
  }
}
