import { accessSync, constants } from "node:fs"
import { dirname, resolve } from "node:path"
import { Effect, Schema } from "effect"
import { lookAt, type Unseen } from "./lookAt.ts"

/** Whoever asks may not write there. */
export class Unwritable extends Schema.TaggedError<Unwritable>()("Unwritable", { message: Schema.String }) {}

export const mayWrite = (path: string): Effect.Effect<void, Unwritable> =>
  Effect.try({
    try: () => accessSync(path, constants.W_OK),
    catch: (thrown) =>
      new Unwritable({
        message: `${path} can't be written: ${thrown instanceof Error ? thrown.message : String(thrown)}`
      })
  })

/** Whether a file could be made at a path, along with the folders that are missing. */
export const mayMake = Effect.fnUntraced(function* (path: string): Effect.fn.Return<void, Unseen | Unwritable> {
  let folder = dirname(resolve(path))
  // A root that is not there, such as a drive's, has no parent but itself.
  while ((yield* lookAt(folder)) === undefined && folder !== dirname(folder)) folder = dirname(folder)
  yield* mayWrite(folder)
})
