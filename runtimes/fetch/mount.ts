import type { HttpResponse } from "../../core/http/Http.ts"
import { readBefore } from "../bodyFaults.ts"
import type { Mount } from "../embed/Mount.ts"
import { serveNative } from "../embed/nativeRequest.ts"
import { fetchHandler, type PeerOf, toResponse } from "./handler.ts"
import { honoBody } from "./honoBody.ts"
import { type HonoContext, honoPeer } from "./honoPeer.ts"
import { isOurs } from "./isOurs.ts"

export interface FetchMountOptions {
  /** The caller's address, from a source that the caller can't write. Default: unknown. */
  readonly peer?: (request: Request) => string | undefined
}

export type FetchMount = (request: Request) => Response | Promise<Response> | undefined

/** A request whose body somebody has read, as it was before. */
const unreadAgain = ({ headers, method, url }: Request, body: string) => new Request(url, { method, headers, body })

interface Received {
  /** What the host's own code knows the request by. */
  readonly native: unknown
  readonly peer: PeerOf
  /** The body, where the app has read it before. */
  readonly body: () => Promise<string | HttpResponse>
}

const answer = (mount: Mount, request: Request, { body, native, peer }: Received) => {
  // Before anything is read: what is not ours reaches the app as it came.
  if (!isOurs(mount, request)) return undefined
  const handle = fetchHandler(serveNative(mount.serve, native), mount.log)
  // Nobody reads what stands behind a GET, and to ask costs @hono/node-server a whole `Request`.
  if (request.method === "GET" || !request.bodyUsed) return handle(request, peer)
  return body().then((read) => (typeof read === "string" ? handle(unreadAgain(request, read), peer) : toResponse(read)))
}

/**
 * For apps that speak `Request` and `Response`: the answer to what is Tessera's, `undefined` for what is the app's own.
 * `fetch: (request) => mount(request) ?? app(request)`.
 */
export const fetchMount =
  (mount: Mount, options: FetchMountOptions = {}): FetchMount =>
  (request) =>
    answer(mount, request, {
      native: request,
      peer: () => options.peer?.(request),
      body: () => Promise.resolve(readBefore)
    })

export interface HonoMountOptions<C> {
  /** The caller's address, from a source that the caller can't write. Default: the socket's, on Node, Bun and Deno. */
  readonly peer?: (context: C) => string | undefined
}

export type HonoMount<C> = (context: C, next: () => Promise<void>) => Promise<Response | undefined>

/** Hono middleware: `app.use(honoMount(auth))`, at the app's root, whatever the issuer's path is. */
export const honoMount =
  <C extends HonoContext>(mount: Mount, options: HonoMountOptions<C> = {}): HonoMount<C> =>
  async (context, next) => {
    const answered = answer(mount, context.req.raw, {
      native: context,
      peer: () => (options.peer === undefined ? honoPeer(context) : options.peer(context)),
      body: () => honoBody(context.req)
    })
    if (answered !== undefined) return answered
    await next()
    return undefined
  }
