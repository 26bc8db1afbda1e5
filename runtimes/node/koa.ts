import type { IncomingMessage, ServerResponse } from "node:http"
import type { Mount } from "../embed/Mount.ts"
import { serveNative } from "../embed/nativeRequest.ts"
import { nodeListener } from "../node.ts"
import { bodyRead } from "./bodyRead.ts"
import { isOurs } from "./isOurs.ts"
import type { NodeMountOptions } from "./NodeMountOptions.ts"

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
