import "../server/compileSchemas.ts"
import { readFileSync } from "node:fs"
import * as util from "node:util"
import { Effect, Result, Schema } from "effect"
import { exitStatus } from "../command/output.ts"
import { program } from "../command/run.ts"
import { systemCode } from "../serve/defect.ts"
import { peerOf } from "../serve/peer.ts"
import { type CannotListen, cannotListen, type Listen } from "../server/Listen.ts"
import { nodeServer } from "./listener.ts"

// By its namespace: before Node 20.12 there is no `parseEnv` to import.

/** `message` says why, and nothing of what stands in the file. */
class DotenvUnread extends Schema.TaggedError<DotenvUnread>()("DotenvUnread", { message: Schema.String }) {}

const unread = (why: string) => Result.fail(new DotenvUnread({ message: `.env can't be read: ${why}` }))

const textOf = (): Result.Result<string | undefined, DotenvUnread> => {
  try {
    return Result.succeed(readFileSync(".env", "utf8"))
  } catch (thrown) {
    if (systemCode(thrown) === "ENOENT") return Result.succeed(undefined)
    return unread(thrown instanceof Error ? thrown.message : String(thrown))
  }
}

/**
 * Adds what `.env` says and the environment does not, as Bun does by itself. Node's own `loadEnvFile` takes a file that it
 * may not read for one that is not there.
 */
const loadDotenv = (environment: NodeJS.ProcessEnv): Result.Result<void, DotenvUnread> =>
  Result.flatMap(textOf(), (text) => {
    if (text === undefined) return Result.void
    if (util.parseEnv === undefined) return unread(`that needs Node 20.12 or later; this is ${process.version}`)
    for (const [name, value] of Object.entries(util.parseEnv(text))) environment[name] ??= value
    return Result.void
  })

export const listen: Listen = Effect.fnUntraced(function* (options) {
  const context = yield* Effect.context()
  const { server } = yield* Effect.acquireRelease(
    Effect.callback<ReturnType<typeof nodeServer>, CannotListen>((resume) => {
      const made = nodeServer(options.serve, {
        requestTimeout: options.requestTimeout,
        ...(options.onTurnedAway === undefined ? {} : { onTurnedAway: options.onTurnedAway }),
        together: true,
        log: Effect.runForkWith(context),
        peer: (request) =>
          peerOf(
            request.socket.remoteAddress,
            request.headersDistinct["x-forwarded-for"]?.join(","),
            options.trustedProxies
          )
      })
      made.server.once("error", (thrown) => resume(Effect.fail(cannotListen(options, thrown))))
      made.server.listen(options.port, options.host, () => resume(Effect.succeed(made)))
    }),
    ({ close }) => Effect.promise(() => close(options.shutdownTimeout))
  )
  const address = server.address()
  return { port: typeof address === "object" && address !== null ? address.port : options.port }
})

const loaded = loadDotenv(process.env)
if (Result.isFailure(loaded)) {
  process.stderr.write(`${loaded.failure.message}\n`)
  process.exit(exitStatus.usage)
}

await program(listen)
