import type { HttpResponse } from "../../core/http/Http.ts"
import { serveNative } from "../embed/nativeRequest.ts"
import type { Mount } from "../embed/Options.ts"
import { pathOf, readBefore, unreadable } from "../serve/request.ts"
import { fetchHandler, type PeerOf, toResponse } from "./handler.ts"

/** A path that may be two places is the app's, as on Node. */
export const isOurs = (mount: Mount, { url }: Request): boolean => {
  const path = pathOf(url)
  return path !== undefined && mount.owns(path)
}

/** What Hono keeps of a body that the app has read through it. */
interface HonoBody {
  readonly bodyCache: object
  readonly text: () => Promise<string>
  readonly formData: () => Promise<FormData>
}

const fieldsOf = (form: FormData): string => {
  const pairs: Array<[string, string]> = []
  for (const [name, value] of form) if (typeof value === "string") pairs.push([name, value])
  return new URLSearchParams(pairs).toString()
}

/** A body that was read before: as it came, or as it can be written again. */
const honoBody = async (body: HonoBody): Promise<string | HttpResponse> => {
  if (Object.keys(body.bodyCache).length === 0) return readBefore
  try {
    return "formData" in body.bodyCache ? fieldsOf(await body.formData()) : await body.text()
  } catch {
    return unreadable()
  }
}

/** What Hono hands to middleware, as far as a mount needs it. */
export interface HonoContext {
  readonly req: HonoBody & { readonly raw: Request }
  /** What the server under Hono passes on with a request. */
  readonly env: unknown
}

/** Of all that servers under Hono pass on, what says who is at the other end of the socket. */
interface Environment {
  /** `@hono/node-server` */
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: unknown } }
  /** `Bun.serve({ fetch: app.fetch })`: the server itself. */
  readonly requestIP?: (request: Request) => { readonly address?: unknown } | null
  /** `Deno.serve(app.fetch)` */
  readonly remoteAddr?: { readonly hostname?: unknown }
}

const honoPeer = ({ env, req }: HonoContext): string | undefined => {
  if (typeof env !== "object" || env === null) return undefined
  const server: Environment = env
  const found =
    server.incoming?.socket?.remoteAddress ?? server.requestIP?.(req.raw)?.address ?? server.remoteAddr?.hostname
  return typeof found === "string" ? found : undefined
}

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
