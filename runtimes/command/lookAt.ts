import { type Stats, statSync } from "node:fs"
import { Effect, Schema } from "effect"

/** Whether there is anything at a path can't be said. */
export class Unseen extends Schema.TaggedError<Unseen>()("Unseen", { message: Schema.String }) {}

/** What is at a path; `undefined` where nothing is. */
export const lookAt = (path: string): Effect.Effect<Stats | undefined, Unseen> =>
  Effect.try({
    try: () => statSync(path, { throwIfNoEntry: false }),
    catch: (thrown) =>
      new Unseen({
        message: `${path} can't be looked at: ${thrown instanceof Error ? thrown.message : String(thrown)}`
      })
  })
