import { get, type IncomingMessage } from "node:http"
import { get as getByTls } from "node:https"
import { text } from "node:stream/consumers"
import { Console, Effect, Option } from "effect"
import { Command } from "effect/cli"
import { basePath } from "../../core/workspace/Workspace.ts"
import { hostInUrl } from "../server/Listen.ts"
import { readSettings, type Settings } from "../server/Settings.ts"
import { explain, failed, switchFlag } from "./output.ts"

/** Where a server with these settings is found from the machine that it runs on. */
export const localOrigin = ({ host, port, tls }: Settings): string => {
  const local = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host
  return `${Option.isSome(tls) ? "https" : "http"}://${hostInUrl(local)}:${port}`
}

/** The host of the issuer: a server of several workspaces answers no other. */
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
 * What the server answers; `undefined` after three seconds without an answer. `fetch` on Bun would ask the proxy of the
 * environment, also for this machine.
 */
export const asked = (url: string, host: string): Effect.Effect<Answer | undefined> =>
  Effect.promise(
    () =>
      new Promise<Answer | undefined>((resolve) => {
        const nobody = () => resolve(undefined)
        const options = { agent: false, headers: { host }, signal: AbortSignal.timeout(3000) } as const
        const answered = (response: IncomingMessage) => void answerOf(response).then(resolve, nobody)
        // On this machine, by its address: the certificate is for the issuer's name, and nothing secret is sent.
        const request = url.startsWith("https:")
          ? getByTls(url, { ...options, rejectUnauthorized: false }, answered)
          : get(url, options, answered)
        request.on("error", nobody)
      })
  )

const ready = switchFlag("ready", "Whether its storage answers and takes writes too, for a load balancer")

const ask = Effect.fnUntraced(function* (whether: "alive" | "ready") {
  const settings = yield* readSettings
  const path = whether === "ready" ? "/readyz" : "/healthz"
  const url = `${localOrigin(settings)}${basePath(settings.workspace.issuer)}${path}`
  const answer = yield* asked(url, hostAsked(settings))
  if (answer === undefined) return yield* failed(`No server answers on ${url}.`)
  if (answer.status !== 200) return yield* failed(`${url} answers ${answer.status}.`)
  yield* Console.log(whether)
})

/** For supervisors that run a program instead of sending a request, as containers do. */
export const health = Command.make("health", { ready }, (given) =>
  // A restart mends no storage, so who restarts what is not well has to ask for less.
  Effect.mapError(ask(given.ready ? "ready" : "alive"), explain)
).pipe(Command.withDescription("Ask the server on this machine whether it is alive"))
