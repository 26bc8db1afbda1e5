import { Duration, Effect } from "effect"
import { bunServe } from "../bun.ts"
import { peerOf } from "../peer/peerOf.ts"
import { cannotListen, type Listen, type ListenOptions } from "../server/Listen.ts"

const start = ({ host, port, requestTimeout, serve, trustedProxies }: ListenOptions) =>
  Bun.serve({
    hostname: host,
    port,
    ...bunServe(serve, {
      requestTimeout,
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

export const listen: Listen = (options) =>
  Effect.acquireRelease(
    Effect.try({ try: () => start(options), catch: (thrown) => cannotListen(options, thrown) }),
    (server) => drain(server, options.shutdownTimeout)
  ).pipe(Effect.map((server) => ({ port: server.port ?? options.port })))
