import { Duration, Effect } from "effect"
import { fetchHandler } from "../fetch.ts"
import { peerOf } from "../peer/peerOf.ts"
import { cannotListen, type Listen, type ListenOptions } from "../server/Listen.ts"

const start = (options: ListenOptions) => {
  const handle = fetchHandler(options.serve)
  const { trustedProxies } = options
  return Bun.serve({
    hostname: options.host,
    port: options.port,
    // The handler itself counts what it reads, and its answer to too much is OAuth's.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    // In seconds, up to 255. Bun counts it from the last byte of a whole message, so dripping gains nothing.
    idleTimeout: Math.min(255, Math.ceil(options.requestTimeout / 1000)),
    development: false,
    fetch: (request, server) =>
      handle(request, () =>
        peerOf(server.requestIP(request)?.address, request.headers.get("x-forwarded-for"), trustedProxies)
      )
  })
}

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
