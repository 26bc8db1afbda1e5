import { dirname } from "node:path"
import { Effect } from "effect"
import { bad, type Finding, good } from "./Finding.ts"
import { lookAt } from "./lookAt.ts"
import { mayWrite } from "./mayWrite.ts"

/** The start appends to it, and makes the file, but not its folder. */
export const examineAuditFile = (path: string): Effect.Effect<Finding> => {
  const what = "audit"
  const wrong = ({ message }: { readonly message: string }): Effect.Effect<Finding> =>
    Effect.succeed(bad(what, message, "Look at the path in AUDIT, and at who may write there."))
  return Effect.gen(function* () {
    const file = yield* lookAt(path)
    if (file?.isDirectory() === true) return bad(what, `${path} is a folder`, "Let AUDIT name a file in it.")
    if (file !== undefined) {
      yield* mayWrite(path)
      return good(what, `events are appended to ${path}`)
    }
    const folder = dirname(path)
    if ((yield* lookAt(folder)) === undefined) {
      return bad(what, `${folder} is missing, and ${path} is to be in it`, `Make ${folder}, for the server's user.`)
    }
    yield* mayWrite(folder)
    return good(what, `${path} will be made at the first start`)
  }).pipe(Effect.catchTags({ Unseen: wrong, Unwritable: wrong }))
}
