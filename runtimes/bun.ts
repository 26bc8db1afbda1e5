/** `tessera/bun`: `Bun.serve`. */
import { AsyncLocalStorage } from "node:async_hooks"
import { Effect } from "effect"
import type { Mount, Serve } from "../core/serve.ts"
import { batchingHandler } from "./fetch/handler.ts"
import { answerOurs } from "./fetch/mount.ts"
import type { Log } from "./serve/defect.ts"
import type { OnEarlyAnswer } from "./serve/limitConcurrency.ts"
import { readBefore } from "./serve/request.ts"

export { guard } from "./fetch.ts"

/** What is asked of a `Bun.Server`, so that only users of Bun need its types. */
export interface PeerSource {
  readonly requestIP: (request: Request) => { readonly address: string } | null
}

export interface MountOptions {
  /** The caller's address, from a source that the caller can't write. Default: the socket's. */
  readonly peer?: (request: Request, socketPeer: string | undefined) => string | null | undefined
}

export type Mounted = (request: Request, server: PeerSource) => Response | Promise<Response> | undefined

const socketPeer: NonNullable<MountOptions["peer"]> = (_request, peer) => peer

/**
 * The answer to a request that is Tessera's, `undefined` for one that is the app's own:
 * `Bun.serve({ fetch: (request, server) => mounted(request, server) ?? app(request) })`.
 */
export const mount =
  (auth: Mount, { peer = socketPeer }: MountOptions = {}): Mounted =>
  (request, server) =>
    answerOurs(auth, request, {
      native: request,
      peer: () => peer(request, server.requestIP(request)?.address),
      body: () => Promise.resolve(readBefore)
    })

export interface ServerOptions extends MountOptions {
  /** Milliseconds of silence until a connection is closed; Bun counts in seconds, from 5 to 255. Default: 20 seconds. */
  readonly requestTimeout?: number
  /**
   * Runs what there is to log: answers that Bun would not send, and what `serve` throws. Default: on effect's default
   * loggers.
   */
  readonly log?: Log
  /**
   * Told of each answer that `serve` was not asked for: a body that is too large or never came whole. Default: no
   * listener.
   */
  readonly onEarlyAnswer?: OnEarlyAnswer
}

export interface BunServer {
  readonly fetch: (request: Request, server: PeerSource) => Response | Promise<Response>
  readonly maxRequestBodySize: number
  readonly idleTimeout: number
  readonly development: false
  readonly reusePort: false
}

/**
 * Bun looks every four seconds. With less than five it closes, at the next look, also a connection that was used just
 * now, and a request that is on its way over it is lost.
 */
const leastIdle = 5

/**
 * For `Bun.serve({ port, ...server(serve) })`, beside `routes` of your own if you have any: the handler, with the
 * limits that a server on a network needs.
 */
export const server = (serve: Serve, options: ServerOptions = {}): BunServer => {
  const { log = Effect.runFork, peer = socketPeer, requestTimeout = 20_000 } = options
  // Hosts tell from AsyncLocalStorage who is signed in.
  const handle = batchingHandler(serve, AsyncLocalStorage.snapshot, log, options.onEarlyAnswer)
  return {
    fetch: (request, server) => handle(request, () => peer(request, server.requestIP(request)?.address)),
    // The handler itself counts what it reads, and its answer to too much is OAuth's.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    // Bun counts it from the last byte of a whole message, so dripping gains nothing.
    idleTimeout: Math.min(255, Math.max(leastIdle, Math.ceil(requestTimeout / 1000))),
    development: false,
    // Without development Bun shares a port by itself, and half of the requests would go to the process that has it
    // already.
    reusePort: false
  }
}
