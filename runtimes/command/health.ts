import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { basePath } from "../../core/workspace/Workspace.ts"
import { readSettings } from "../server/Settings.ts"
import { explain } from "./explain.ts"
import { asked, localOrigin } from "./localServer.ts"
import { failed } from "./Outcome.ts"

const ready = Flag.Boolean("ready").pipe(
  Flag.withDescription("Whether its storage answers and takes writes too, for whoever sends requests to it"),
  Flag.withDefault(false)
)

const ask = Effect.fnUntraced(function* (whether: "alive" | "ready") {
  const settings = yield* readSettings
  const path = whether === "ready" ? "/readyz" : "/healthz"
  const url = `${localOrigin(settings)}${basePath(settings.workspace.issuer)}${path}`
  const answer = yield* asked(url)
  if (answer === undefined) return yield* failed(`Nobody answers on ${url}.`)
  if (answer.status !== 200) return yield* failed(`${url} answers ${answer.status}.`)
  yield* Console.log(whether)
})

/** For supervisors that run a program instead of sending a request, as containers do. */
export const health = Command.make("health", { ready }, (given) =>
  // A restart mends no storage, so who restarts what is not well has to ask for less.
  Effect.mapError(ask(given.ready ? "ready" : "alive"), explain)
).pipe(Command.withDescription("Ask the server on this machine whether it is alive"))
