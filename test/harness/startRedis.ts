import { Effect, type Scope } from "effect"
import { freePort } from "./freePort.ts"
import { redisCli, redisServer } from "./given.ts"
import { runProgram } from "./runProgram.ts"
import { type Server, type ServerFailed, startServer } from "./Server.ts"
import { throwawayFolder } from "./throwawayFolder.ts"

export interface RedisOptions {
  /** The executables. Default: those of the environment. */
  readonly server?: string
  readonly cli?: string
  /** As in `redis.conf`: `{ maxmemory: "10mb" }`. `appendonly` is on by default. */
  readonly settings?: Readonly<Record<string, string>>
}

/** Runs one command by `redis-cli` and answers its output. */
export const askRedis = (cli: string, port: number, command: ReadonlyArray<string>): Effect.Effect<string> =>
  runProgram(cli, ["-h", "127.0.0.1", "-p", `${port}`, ...command]).pipe(Effect.map(({ stdout }) => stdout))

/** A Redis for one test. */
export const startRedis = Effect.fnUntraced(function* (
  options: RedisOptions = {}
): Effect.fn.Return<Server, ServerFailed, Scope.Scope> {
  const command = options.server ?? redisServer()
  const cli = options.cli ?? redisCli()
  const folder = yield* throwawayFolder("redis")
  const settings = { bind: "127.0.0.1", dir: folder, daemonize: "no", save: "", appendonly: "yes", ...options.settings }

  return yield* Effect.gen(function* () {
    const port = yield* freePort
    return yield* startServer({
      name: "redis",
      url: `redis://127.0.0.1:${port}`,
      port,
      folder,
      command,
      args: ["--port", `${port}`, ...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])],
      user: undefined,
      stopSignal: "SIGTERM",
      discardSignal: "SIGKILL",
      answers: askRedis(cli, port, ["PING"]).pipe(Effect.map((said) => said.startsWith("PONG")))
    })
  }).pipe(Effect.retry({ times: 4, while: (error) => /address already in use/i.test(error.message) }))
})
