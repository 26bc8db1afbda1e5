import type { IncomingMessage, ServerResponse } from "node:http"
import type { Mount } from "../embed/Mount.ts"
import { serveNative } from "../embed/nativeRequest.ts"
import { nodeListener } from "../node.ts"
import { bodyRead } from "./bodyRead.ts"
import { isOurs } from "./isOurs.ts"
import type { NodeMountOptions } from "./NodeMountOptions.ts"

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
