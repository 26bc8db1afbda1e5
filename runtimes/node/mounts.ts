import type { IncomingMessage, ServerResponse } from "node:http"
import type { HttpResponse } from "../../core/http/Http.ts"
import { serveNative } from "../embed/nativeRequest.ts"
import type { Mount } from "../embed/Options.ts"
import { bodyLimit, isWinding, readBefore, readTarget, tooLarge } from "../serve/request.ts"
import { isUnderWay, nodeListener } from "./listener.ts"

export interface NodeMountOptions {
  /** The caller's address, from a source that the caller can't write. Default: the socket's. */
  readonly peer?: (request: IncomingMessage) => string | undefined
}

/** A path that may be two places stays with the app: what it has put before ours, it has put before one of them. */
const isOurs = (mount: Mount, url: string): boolean => {
  if (isWinding(url)) return false
  const target = readTarget(url)
  return target !== undefined && mount.owns(target.path)
}

const inForm = (name: string, value: unknown): ReadonlyArray<readonly [string, string]> | undefined => {
  if (typeof value === "string") return [[name, value]]
  // A parameter that came twice: it stays two, and is refused for that.
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value.map((one) => [name, one])
  return undefined
}

/** The form again that a parser made this of; `undefined` where nobody can tell what was sent. */
const formOf = (parsed: object): string | undefined => {
  const pairs: Array<[string, string]> = []
  for (const [name, value] of Object.entries(parsed)) {
    const pair = inForm(name, value)
    if (pair === undefined) return undefined
    pairs.push(...pair.map(([name, text]): [string, string] => [name, text]))
  }
  return new URLSearchParams(pairs).toString()
}

const textOf = (type: string, parsed: unknown): string | undefined => {
  if (typeof parsed === "string") return parsed
  if (parsed instanceof Uint8Array) return new TextDecoder().decode(parsed)
  if (typeof parsed !== "object" || parsed === null) return undefined
  if (/^application\/json\b/i.test(type)) return JSON.stringify(parsed)
  return /^application\/x-www-form-urlencoded\b/i.test(type) ? formOf(parsed) : undefined
}

/**
 * The body of a request, where a parser of the app's has had it before: as it was sent, where that was kept, or else as
 * it can be written again. `undefined`: nobody has touched it.
 */
const bodyRead = (request: IncomingMessage, raw: unknown, parsed: unknown): string | HttpResponse | undefined => {
  if (!isUnderWay(request)) return undefined
  const type = request.headers["content-type"] ?? ""
  const text = textOf(type, raw) ?? textOf(type, parsed)
  if (text === undefined) return readBefore
  return Buffer.byteLength(text) > bodyLimit ? tooLarge() : text
}

export type ConnectMount = (request: IncomingMessage, response: ServerResponse, next: () => void) => void

/** What Express keeps of the address before routers take prefixes off it, and what parsers leave behind. */
interface Trodden extends IncomingMessage {
  readonly originalUrl?: unknown
  readonly rawBody?: unknown
  readonly body?: unknown
}

/** The whole address, whatever a router in between has taken off. */
const wholeUrl = (request: IncomingMessage): string => {
  const { originalUrl }: Trodden = request
  return typeof originalUrl === "string" ? originalUrl : (request.url ?? "")
}

/**
 * Middleware for Express, Connect and what is like them: `app.use(connectMount(auth))`, before body parsers, at the
 * app's root, whatever the issuer's path is. What is not Tessera's goes on to the app.
 */
export const connectMount =
  (mount: Mount, options: NodeMountOptions = {}): ConnectMount =>
  (request, response, next) => {
    if (!isOurs(mount, wholeUrl(request))) return next()
    const { body, rawBody }: Trodden = request
    nodeListener(serveNative(mount.serve, request), {
      ...options,
      log: mount.log,
      url: wholeUrl,
      body: () => bodyRead(request, rawBody, body)
    })(request, response)
  }

interface FastifyRequest {
  readonly raw: IncomingMessage
  readonly originalUrl: string
  /** What a body parser leaves behind. */
  readonly body?: unknown
  readonly rawBody?: unknown
}

interface FastifyReply {
  readonly raw: ServerResponse
  readonly hijack: () => unknown
  readonly getHeaders: () => { readonly [name: string]: number | string | ReadonlyArray<string> | undefined }
}

export type FastifyMount = (request: FastifyRequest, reply: FastifyReply, done: () => void) => void

/**
 * A Fastify hook: `app.addHook("onRequest", fastifyMount(auth))`, on the root instance, whatever the issuer's path is.
 * It comes before Fastify reads a body.
 */
export const fastifyMount =
  (mount: Mount, options: NodeMountOptions = {}): FastifyMount =>
  (request, reply, done) => {
    const { originalUrl } = request
    if (!isOurs(mount, originalUrl)) return done()
    // What the app's other hooks have put on every answer, such as a policy or an id, is on this one too.
    for (const [name, value] of Object.entries(reply.getHeaders())) {
      if (value !== undefined) reply.raw.setHeader(name, value)
    }
    reply.hijack()
    nodeListener(serveNative(mount.serve, request), {
      ...options,
      log: mount.log,
      url: () => originalUrl,
      body: () => bodyRead(request.raw, request.rawBody, request.body)
    })(request.raw, reply.raw)
  }

/** Over HTTP/2 it is the stream of an answer that knows. */
type Answering = ServerResponse & { readonly stream?: { readonly destroyed: boolean } }

interface KoaContext {
  readonly req: IncomingMessage
  readonly res: Answering
  readonly originalUrl: string
  /** What a body parser leaves behind. */
  readonly request: { readonly body?: unknown; readonly rawBody?: unknown }
  respond?: boolean | undefined
}

export type KoaMount = (context: KoaContext, next: () => Promise<unknown>) => Promise<void>

/** Koa middleware: `app.use(koaMount(auth))`, before body parsers, whatever the issuer's path is. */
export const koaMount =
  (mount: Mount, options: NodeMountOptions = {}): KoaMount =>
  async (context, next) => {
    const { originalUrl, req, res } = context
    if (!isOurs(mount, originalUrl)) {
      await next()
      return
    }
    // Koa's way of leaving an answer to somebody else.
    context.respond = false
    const listener = nodeListener(serveNative(mount.serve, context), {
      ...options,
      log: mount.log,
      url: () => originalUrl,
      body: () => bodyRead(req, context.request.rawBody, context.request.body)
    })
    // What comes before this in the app waits as for any answer, and finds its status: not a 404 that it would fill.
    await new Promise<void>((resolve) => {
      // Whoever left while the app was busy has closed it already, and it closes only once.
      if (res.destroyed || res.stream?.destroyed === true) return resolve()
      res.once("close", resolve)
      listener(req, res)
    })
  }
