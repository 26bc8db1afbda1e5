import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { freePort } from "../harness/freePort.ts"
import { type Ended, plainEnvironment, runProgram } from "../harness/runProgram.ts"
import { type Server, type ServerFailed, startServer } from "../harness/Server.ts"
import { throwawayFolder } from "../harness/throwawayFolder.ts"
import { type Reply, send } from "./Reply.ts"
import type { Store } from "./Store.ts"

export const main = join(import.meta.dir, "../../runtimes/bun/main.ts")

/** One ring for all processes over a store. */
export const sealKeys = randomBytes(32).toString("base64url")

/** As behind a proxy: the same for all processes, wherever each of them listens. */
export const issuer = "https://id.example.com"

export type Environment = Readonly<Record<string, string>>

export const environmentOver = (store: Pick<Store, "databaseUrl" | "environment">): Environment => ({
  DATABASE_URL: store.databaseUrl,
  BASE_URL: issuer,
  SEAL_KEYS: sealKeys,
  RATE_LIMITS: "off",
  ...store.environment
})

/** Runs one command of `tessera` to its end. */
export const tessera = (args: ReadonlyArray<string>, environment: Environment): Effect.Effect<Ended> =>
  runProgram(process.execPath, ["--no-env-file", main, ...args], { env: { ...plainEnvironment, ...environment } })

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
  const server = yield* startServer({
    name: "tessera",
    url,
    port,
    folder,
    command: process.execPath,
    args: ["--no-env-file", main, "serve"],
    user: undefined,
    env: { ...environmentOver(store), PORT: `${port}`, ...environment },
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
