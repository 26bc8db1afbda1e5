import { get, type IncomingMessage } from "node:http"
import { text } from "node:stream/consumers"
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { basePath } from "../../core/workspace/Workspace.ts"
import { hostInUrl } from "../server/Listen.ts"
import { readSettings, type Settings } from "../server/Settings.ts"
import { explain, failed } from "./output.ts"

/** Where a server with these settings is found from the machine that it runs on. */
export const localOrigin = ({ host, port }: Settings): string => {
  const local = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host
  return `http://${hostInUrl(local)}:${port}`
}

/** The host of the issuer: a server of several workspaces answers nobody else's. */
export const hostAsked = ({ workspace }: Settings): string => new URL(workspace.issuer).host

interface Answer {
  readonly status: number
  readonly body: string
}

const answerOf = async (response: IncomingMessage): Promise<Answer> => ({
  status: response.statusCode ?? 0,
  body: await text(response)
})

/**
 * What it answers; nothing where nobody does, in three seconds. Not by `fetch`, which on Bun asks the environment's proxy
 * for what is on this machine too.
 */
export const asked = (url: string, host: string): Effect.Effect<Answer | undefined> =>
  Effect.promise(
    () =>
      new Promise<Answer | undefined>((resolve) => {
        const nobody = () => resolve(undefined)
        const request = get(url, { agent: false, headers: { host }, signal: AbortSignal.timeout(3000) }, (response) => {
          answerOf(response).then(resolve, nobody)
        })
        request.on("error", nobody)
      })
  )

const ready = Flag.Boolean("ready").pipe(
  Flag.withDescription("Whether its storage answers and takes writes too, for whoever sends requests to it"),
  Flag.withDefault(false)
)

const ask = Effect.fnUntraced(function* (whether: "alive" | "ready") {
  const settings = yield* readSettings
  const path = whether === "ready" ? "/readyz" : "/healthz"
  const url = `${localOrigin(settings)}${basePath(settings.workspace.issuer)}${path}`
  const answer = yield* asked(url, hostAsked(settings))
  if (answer === undefined) return yield* failed(`Nobody answers on ${url}.`)
  if (answer.status !== 200) return yield* failed(`${url} answers ${answer.status}.`)
  yield* Console.log(whether)
})

/** For supervisors that run a program instead of sending a request, as containers do. */
export const health = Command.make("health", { ready }, (given) =>
  // A restart mends no storage, so who restarts what is not well has to ask for less.
  Effect.mapError(ask(given.ready ? "ready" : "alive"), explain)
).pipe(Command.withDescription("Ask the server on this machine whether it is alive"))
