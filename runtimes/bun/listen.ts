import { type Context, Duration, Effect } from "effect"
import { server } from "../bun.ts"
import { peerOf } from "../serve/peer.ts"
import { cannotListen, type Listen, type ListenOptions } from "../server/Listen.ts"

const start = (
  { host, onEarlyAnswer, port, requestTimeout, serve, trustedProxies }: ListenOptions,
  context: Context.Context<never>
) =>
  Bun.serve({
    hostname: host,
    port,
    ...server(serve, {
      requestTimeout,
      ...(onEarlyAnswer === undefined ? {} : { onEarlyAnswer }),
      log: Effect.runForkWith(context),
      peer: (request, socketPeer) => peerOf(socketPeer, request.headers.get("x-forwarded-for"), trustedProxies)
    })
  })

/** Stops listening, closes what is idle, and waits for the rest, but not for ever. */
const drain = (server: Bun.Server<undefined>, patience: number) =>
  Effect.promise(() => server.stop()).pipe(
    Effect.timeoutOrElse({
      duration: Duration.millis(patience),
      orElse: () =>
        Effect.logWarning("requests were still under way when the time for the shutdown was over", {
          requests: server.pendingRequests
        })
    }),
    Effect.andThen(Effect.promise(() => server.stop(true)))
  )

export const listen: Listen = Effect.fnUntraced(function* (options) {
  const context = yield* Effect.context()
  const server = yield* Effect.acquireRelease(
    Effect.try({ try: () => start(options, context), catch: (thrown) => cannotListen(options, thrown) }),
    (server) => drain(server, options.shutdownTimeout)
  )
  return { port: server.port ?? options.port }
})
