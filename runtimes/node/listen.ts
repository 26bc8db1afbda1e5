import { Server as HttpsServer } from "node:https"
import { Effect } from "effect"
import { peerOf } from "../serve/peer.ts"
import { type CannotListen, cannotListen, type Listen } from "../server/Listen.ts"
import { followTls, type TlsIdentity, tlsSuites } from "../server/Tls.ts"
import { type NodeServer, server } from "./listener.ts"

const contextOf = (identity: TlsIdentity) => ({ ...identity, ciphers: tlsSuites, minVersion: "TLSv1.2" as const })

export const listen: Listen = Effect.fnUntraced(function* (options) {
  const context = yield* Effect.context()
  const running = yield* Effect.acquireRelease(
    Effect.callback<NodeServer, CannotListen>((resume) => {
      const made = server(options.serve, {
        requestTimeout: options.requestTimeout,
        ...(options.onEarlyAnswer === undefined ? {} : { onEarlyAnswer: options.onEarlyAnswer }),
        together: true,
        ...(options.tls === undefined ? {} : { tls: contextOf(options.tls.identity) }),
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
  const { server: listening } = running
  if (options.tls !== undefined && listening instanceof HttpsServer) {
    yield* followTls(options.tls, (identity) => listening.setSecureContext(contextOf(identity)))
  }
  const address = running.server.address()
  return { port: typeof address === "object" && address !== null ? address.port : options.port }
})
