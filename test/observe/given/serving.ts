import { Effect } from "effect"
import { freePort } from "../../harness/freePort.ts"
import type { Child } from "../../runtimes/given/Child.ts"
import { tessera } from "../../runtimes/given/tessera.ts"

export interface Started {
  readonly child: Child
  readonly url: string
}

/** A server of the test's own, once it says that it listens. */
export const started = (cwd: string, env: Readonly<Record<string, string>> = {}) =>
  Effect.gen(function* () {
    const port = env.PORT ?? String(yield* freePort)
    const child = yield* tessera(["serve"], { cwd, env: { PORT: port, ...env } })
    yield* Effect.promise(() => child.says(/listening on\s+http/))
    return { child, url: `http://127.0.0.1:${port}` } satisfies Started
  })

export const ended = ({ child }: Started, signal: NodeJS.Signals) =>
  Effect.promise(() => {
    child.process.kill(signal)
    return child.ended
  })

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** One request, its answer read to the end. */
export const ask = (url: string, init: RequestInit = {}) =>
  Effect.promise(async (): Promise<Answer> => {
    const response = await fetch(url, { redirect: "manual", ...init })
    return { status: response.status, headers: response.headers, text: await response.text() }
  })

export interface Machine {
  readonly client_id: string
  readonly client_secret: string
  readonly registration_access_token: string
}

export const register = (url: string) =>
  Effect.map(
    ask(`${url}/oauth/register`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        grant_types: ["client_credentials"],
        token_endpoint_auth_method: "client_secret_post"
      })
    }),
    // What a registration answers; a wrong shape fails what follows.
    ({ text }) => JSON.parse(text) as Machine
  )

export const formOf = (fields: Readonly<Record<string, string>>): RequestInit => ({
  method: "POST",
  body: new URLSearchParams(fields)
})

export const tokenOf = (url: string, { client_id, client_secret }: Machine) =>
  Effect.map(
    ask(`${url}/oauth/token`, formOf({ grant_type: "client_credentials", client_id, client_secret })),
    // What the token endpoint answers; a wrong shape fails what follows.
    ({ text }) => (JSON.parse(text) as { readonly access_token: string }).access_token
  )

export const companies = (url: string, token?: string) =>
  ask(`${url}/rest/companies`, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } })
