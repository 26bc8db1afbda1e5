/** `tessera/node`: `node:http`, and what is served by its requests and answers (Connect, Polka, Next's API routes). */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Effect } from "effect"
import type { HttpResponse } from "../core/http/Http.ts"
import type { Needs } from "../core/oauth/presented/guard.ts"
import type { Mount } from "../core/serve.ts"
import { serveNative } from "./embed/nativeRequest.ts"
import { type Guard, refuseBad, setPrincipal } from "./guard/Check.ts"
import { guardedCall, type NodeCall } from "./guard/nodeCall.ts"
import { handler } from "./node/listener.ts"
import { bodyRead, isOurs, type MountOptions } from "./node/mount.ts"
import { answerThrown } from "./serve/defect.ts"

export type { NodeCall } from "./guard/nodeCall.ts"
export {
  type Handler,
  type HandlerOptions,
  handler,
  type NodeServer,
  type ServerOptions,
  server
} from "./node/listener.ts"
export type { MountOptions } from "./node/mount.ts"

export type Mounted = (request: IncomingMessage, response: ServerResponse, next: () => void) => void

/** What Express keeps of the address before routers take prefixes off it, and what parsers leave behind. */
interface ParsedRequest extends IncomingMessage {
  readonly originalUrl?: unknown
  readonly rawBody?: unknown
  readonly body?: unknown
}

/** The whole address, whatever a router in between has taken off. */
const wholeUrl = (request: IncomingMessage): string => {
  const { originalUrl }: ParsedRequest = request
  return typeof originalUrl === "string" ? originalUrl : (request.url ?? "")
}

/**
 * Middleware: `app.use(mount(auth))`, before body parsers, at the app's root, whatever the issuer's path is. A path
 * that is not Tessera's goes on to the app.
 */
export const mount =
  (auth: Mount, options: MountOptions = {}): Mounted =>
  (request, response, next) => {
    if (!isOurs(auth, wholeUrl(request), request)) return next()
    const { body, rawBody }: ParsedRequest = request
    handler(serveNative(auth.serve, request), {
      ...options,
      log: auth.log,
      url: wholeUrl,
      body: () => bodyRead(request, rawBody, body)
    })(request, response)
  }

export interface NodeAnswer {
  readonly setHeader: (name: string, value: string) => unknown
  readonly end: (body: string) => unknown
  statusCode: number
  readonly headersSent?: boolean | undefined
  readonly writableEnded?: boolean | undefined
}

const send = (request: NodeCall, response: NodeAnswer, { body, headers, status }: HttpResponse): void => {
  // The app has begun to answer: Node throws where a header is set now.
  if (response.headersSent === true) return
  response.statusCode = status
  for (const [name, value] of headers) response.setHeader(name, value)
  response.end(request.method === "HEAD" ? "" : body)
}

/** Middleware: `app.get("/orders", guard(auth, { scopes: ["api"] }), …)`; then `req.principal`, and `principalOf(req)`. */
export const guard = (auth: Guard, needs: Needs) => {
  refuseBad(needs)
  return (request: NodeCall, response: NodeAnswer, next: () => void): void => {
    const act = async (): Promise<void> => {
      const checked = await auth.check(guardedCall(request), needs)
      // The app has answered meanwhile, as one with a time limit does: there is nothing left to admit to.
      if (response.writableEnded === true) return
      if (checked._tag === "Refused") return send(request, response, checked.response)
      if (checked.headers !== undefined && response.headersSent !== true) {
        for (const [name, value] of checked.headers) response.setHeader(name, value)
      }
      setPrincipal(request, checked.principal)
      next()
    }
    // A rejection would end the process. `next` is no place for it: on plain Node it takes no error, and admits.
    act().catch((defect: unknown) => send(request, response, answerThrown(defect, Effect.runFork)))
  }
}
