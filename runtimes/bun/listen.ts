import { type Context, Duration, Effect } from "effect"
import { server } from "../bun.ts"
import { peerOf } from "../serve/peer.ts"
import { lastAnswersFor } from "../serve/shutdown.ts"
import { cannotListen, type Listen, type ListenOptions } from "../server/Listen.ts"
import { followTls, type TlsIdentity, tlsSuites } from "../server/Tls.ts"

const start = (
  { host, onEarlyAnswer, port, requestTimeout, serve, trustedProxies }: ListenOptions,
  context: Context.Context<never>,
  identity?: TlsIdentity
) => {
  const { fetch, ...limits } = server(serve, {
    requestTimeout,
    ...(onEarlyAnswer === undefined ? {} : { onEarlyAnswer }),
    log: Effect.runForkWith(context),
    peer: (request, socketPeer) => peerOf(socketPeer, request.headers.get("x-forwarded-for"), trustedProxies)
  })
  let ends = false
  /** Bun closes the connection after it: who is not told sends the next request there, and gets no answer. */
  const lastOfItsConnection = (answer: Response) => {
    if (ends) answer.headers.set("connection", "close")
    return answer
  }
  const running = Bun.serve({
    hostname: host,
    port,
    ...limits,
    fetch: (request, peers) => {
      const answer = fetch(request, peers)
      return answer instanceof Promise ? answer.then(lastOfItsConnection) : lastOfItsConnection(answer)
    },
    ...(identity === undefined ? {} : { tls: { ...identity, ciphers: tlsSuites }, reusePort: true })
  })
  return {
    port: running.port,
    /** From now on each connection is told with its next answer. */
    tellLast: () => {
      ends = true
    },
    /** Stops listening and closes what is idle; `rest`: until what is under way is answered. */
    stop: () => {
      ends = true
      return { server: running, rest: running.stop() }
    },
    close: () => running.stop(true)
  }
}

/** Bun shows one certificate for good: a new one takes a new listener, which shares the port until the old one has ended. */
const startTls = (options: ListenOptions, context: Context.Context<never>, identity: TlsIdentity) => {
  // A port that is shared from the start would be had beside the process that has it already.
  void start(options, context).close()
  return start(options, context, identity)
}

type Ending = ReturnType<ReturnType<typeof start>["stop"]>

/** Waits for what is under way, but not for ever. */
const drain = ({ rest, server }: Ending, patience: number) =>
  Effect.promise(() => rest).pipe(
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
  const { tls } = options
  const server = yield* Effect.acquireRelease(
    Effect.try({
      try: () => ({
        running: tls === undefined ? start(options, context) : startTls(options, context, tls.identity),
        /** Those that showed an older certificate, until what is under way there is answered. */
        ending: new Set<Ending>()
      }),
      catch: (thrown) => cannotListen(options, thrown)
    }),
    ({ ending, running }) => {
      running.tellLast()
      const stopped = Effect.suspend(() =>
        Effect.forEach([running.stop(), ...ending], (one) => drain(one, options.shutdownTimeout), {
          concurrency: "unbounded",
          discard: true
        })
      )
      return Effect.delay(stopped, Math.min(lastAnswersFor, options.shutdownTimeout))
    }
  )
  if (tls !== undefined) {
    yield* followTls(tls, (identity) => {
      const before = server.running
      server.running = start({ ...options, port: before.port ?? options.port }, context, identity)
      const ended = before.stop()
      server.ending.add(ended)
      void ended.rest.then(() => server.ending.delete(ended))
    })
  }
  return { port: server.running.port ?? options.port }
})
