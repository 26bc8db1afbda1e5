import { randomBytes } from "node:crypto"
import { Effect, type Scope } from "effect"
import { serverProgram, toServe } from "../given/serverProgram.ts"
import { freePort } from "../harness/freePort.ts"
import { type Ended, runProgram } from "../harness/runProgram.ts"
import { type Server, type ServerFailed, startServer } from "../harness/Server.ts"
import { throwawayFolder } from "../harness/throwawayFolder.ts"
import { type Reply, send } from "./Reply.ts"
import type { Store } from "./Store.ts"

/** One ring for all processes over a store. */
export const sealKeys = randomBytes(32).toString("base64url")

/** As behind a proxy: the same for all processes, wherever each of them listens. */
export const issuer = "https://id.example.com"

export type Environment = Readonly<Record<string, string>>

export const environmentOver = (store: Pick<Store, "databaseUrl" | "environment">): Environment => ({
  DATABASE_URL: store.databaseUrl,
  BASE_URL: issuer,
  // As on one's own machine: its machines register themselves.
  WORKSPACE_ACCESS: "registered",
  SEAL_KEYS: sealKeys,
  RATE_LIMITS: "off",
  ...store.environment
})

/** Runs one command of `tessera` to its end. */
export const tessera = (args: ReadonlyArray<string>, environment: Environment): Effect.Effect<Ended> => {
  const program = serverProgram()
  return runProgram(program.file, [...program.args, ...args], { env: { ...program.env, ...environment } })
}

export interface ServerProcess extends Server {
  readonly get: (path: string, headers?: Environment) => Effect.Effect<Reply>
  readonly post: (path: string, body: string, headers?: Environment) => Effect.Effect<Reply>
}

/** `tessera serve` over a store, ready to answer. */
export const startTessera = Effect.fnUntraced(function* (
  store: Pick<Store, "databaseUrl" | "environment">,
  environment: Environment = {}
): Effect.fn.Return<ServerProcess, ServerFailed, Scope.Scope> {
  const folder = yield* throwawayFolder("server")
  const port = yield* freePort
  const url = `http://127.0.0.1:${port}`
  const program = serverProgram()
  const server = yield* startServer({
    name: "tessera",
    url,
    port,
    folder,
    command: program.file,
    args: [...program.args, "serve"],
    user: undefined,
    env: toServe({ ...program.env, ...environmentOver(store), PORT: `${port}`, ...environment }),
    stopSignal: "SIGTERM",
    discardSignal: "SIGKILL",
    answers: Effect.map(send(`${url}/readyz`), ({ status }) => status === 200)
  })
  return {
    ...server,
    get: (path, headers = {}) => send(url + path, { headers }),
    post: (path, body, headers = {}) =>
      send(url + path, {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
        body
      })
  }
})
