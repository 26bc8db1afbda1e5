import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import { basePath } from "../../core/workspace/Workspace.ts"
import { readSettings } from "../server/Settings.ts"
import { explain } from "./explain.ts"
import { asked, localOrigin } from "./localServer.ts"
import { failed } from "./Outcome.ts"

const healthy = Effect.gen(function* () {
  const settings = yield* readSettings
  const ready = `${localOrigin(settings)}${basePath(settings.workspace.issuer)}/readyz`
  const answer = yield* asked(ready)
  if (answer === undefined) return yield* failed(`Nobody answers on ${ready}.`)
  if (answer.status !== 200) return yield* failed(`${ready} answers ${answer.status}.`)
  yield* Console.log("ready")
})

/** For supervisors that run a program instead of sending a request, as containers do. */
export const health = Command.make("health", {}, () => Effect.mapError(healthy, explain)).pipe(
  Command.withDescription("Ask the server on this machine whether it is ready to answer")
)
