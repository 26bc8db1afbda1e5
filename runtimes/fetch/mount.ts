import type { Mount } from "../embed/Mount.ts"
import { serveNative } from "../embed/nativeRequest.ts"
import { fetchHandler, type PeerOf } from "../fetch.ts"
import { pathOf } from "../requestTarget.ts"
import { type HonoContext, honoPeer } from "./honoPeer.ts"

export interface FetchMountOptions {
  /** The caller's address, from a source that the caller can't write. Default: unknown. */
  readonly peer?: (request: Request) => string | undefined
}

export type FetchMount = (request: Request) => Response | Promise<Response> | undefined

const answer = (mount: Mount, request: Request, native: unknown, peer: PeerOf | undefined) => {
  // Before anything is read: what is not ours reaches the app as it came.
  const path = pathOf(request.url)
  if (path === undefined || !mount.owns(path)) return undefined
  return fetchHandler(serveNative(mount.serve, native), mount.log)(request, peer)
}

/**
 * For apps that speak `Request` and `Response`: the answer to what is Tessera's, `undefined` for what is the app's own.
 * `fetch: (request) => mount(request) ?? app(request)`.
 */
export const fetchMount =
  (mount: Mount, options: FetchMountOptions = {}): FetchMount =>
  (request) =>
    answer(mount, request, request, () => options.peer?.(request))

export interface HonoMountOptions<C> {
  /** The caller's address, from a source that the caller can't write. Default: the socket's, on Node, Bun and Deno. */
  readonly peer?: (context: C) => string | undefined
}

export type HonoMount<C> = (context: C, next: () => Promise<void>) => Promise<Response | undefined>

/** Hono middleware: `app.use(honoMount(auth))`, at the app's root, whatever the issuer's path is. */
export const honoMount =
  <C extends HonoContext>(mount: Mount, options: HonoMountOptions<C> = {}): HonoMount<C> =>
  async (context, next) => {
    const answered = answer(mount, context.req.raw, context, () =>
      options.peer === undefined ? honoPeer(context) : options.peer(context)
    )
    if (answered !== undefined) return answered
    await next()
    return undefined
  }
