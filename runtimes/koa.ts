/** `tessera/koa`: middleware. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Needs } from "../core/oauth/presented/guard.ts"
import type { Mount } from "../core/serve.ts"
import { serveNative } from "./embed/nativeRequest.ts"
import { type Guard, refuseBad, setPrincipal } from "./guard/Check.ts"
import { guardedCall, type NodeCall } from "./guard/nodeCall.ts"
import { handler } from "./node/listener.ts"
import { bodyRead, isOurs } from "./node/mount.ts"

export type { NodeCall } from "./guard/nodeCall.ts"

/** Over HTTP/2 the answer's stream says whether it was destroyed. */
type Answering = ServerResponse & { readonly stream?: { readonly destroyed: boolean } }

export interface MountedContext {
  readonly req: IncomingMessage
  readonly res: Answering
  readonly originalUrl: string
  /** The caller's address, by the app's option `proxy`. */
  readonly ip: string
  /** What a body parser leaves behind. */
  readonly request: { readonly body?: unknown; readonly rawBody?: unknown }
  respond?: boolean | undefined
}

export interface MountOptions {
  /** The caller's address, from a source that the caller can't write. Default: the socket's. */
  readonly peer?: (context: MountedContext) => string | null | undefined
}

export type Mounted = (context: MountedContext, next: () => Promise<unknown>) => Promise<void>

/** Middleware: `app.use(mount(auth))`, before body parsers, whatever the issuer's path is. */
export const mount =
  (auth: Mount, { peer }: MountOptions = {}): Mounted =>
  async (context, next) => {
    const { originalUrl, req, res } = context
    if (!isOurs(auth, originalUrl, req)) {
      await next()
      return
    }
    // Koa sends no answer of its own then.
    context.respond = false
    const listener = handler(serveNative(auth.serve, context), {
      ...(peer === undefined ? {} : { peer: () => peer(context) }),
      log: auth.log,
      url: () => originalUrl,
      body: () => bodyRead(req, context.request.rawBody, context.request.body)
    })
    // What comes before this in the app waits as for any answer, and finds its status: not a 404 that it would fill.
    await new Promise<void>((resolve) => {
      // A caller that left while the app was busy has closed it already, and it closes only once.
      if (res.destroyed || res.stream?.destroyed === true) return resolve()
      res.once("close", resolve)
      listener(req, res)
    })
  }

export interface GuardedContext {
  readonly req: NodeCall
  readonly originalUrl: string
  readonly state: object
  status: number
  body: unknown
  readonly set: (name: string, value: string) => unknown
}

/** Middleware: `ctx.state.principal` behind it. */
export const guard = (auth: Guard, needs: Needs) => {
  refuseBad(needs)
  return async (context: GuardedContext, next: () => Promise<unknown>): Promise<void> => {
    const { headers, headersDistinct = {}, method } = context.req
    const call = guardedCall({ method, headers, headersDistinct, originalUrl: context.originalUrl })
    const checked = await auth.check(call, needs)
    if (checked._tag === "Admitted") {
      setPrincipal(context.state, checked.principal)
      for (const [name, value] of checked.headers ?? []) context.set(name, value)
      await next()
      return
    }
    context.status = checked.response.status
    context.body = checked.response.body
    for (const [name, value] of checked.response.headers) context.set(name, value)
  }
}
