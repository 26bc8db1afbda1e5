import { get, type IncomingMessage } from "node:http"
import { text } from "node:stream/consumers"
import { Effect } from "effect"
import { hostInUrl } from "../server/hostInUrl.ts"
import type { Settings } from "../server/Settings.ts"

/** Where a server with these settings is found from the machine that it runs on. */
export const localOrigin = ({ host, port }: Settings): string => {
  const local = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host
  return `http://${hostInUrl(local)}:${port}`
}

export interface Answer {
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
export const asked = (url: string): Effect.Effect<Answer | undefined> =>
  Effect.promise(
    () =>
      new Promise<Answer | undefined>((resolve) => {
        const nobody = () => resolve(undefined)
        const request = get(url, { agent: false, signal: AbortSignal.timeout(3000) }, (response) => {
          answerOf(response).then(resolve, nobody)
        })
        request.on("error", nobody)
      })
  )
