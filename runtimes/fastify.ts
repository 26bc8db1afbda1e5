/** `tessera/fastify`: hooks. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Needs } from "../core/oauth/presented/guard.ts"
import type { Mount } from "../core/serve.ts"
import { serveNative } from "./embed/nativeRequest.ts"
import { type Guard, refuseBad, setPrincipal } from "./guard/Check.ts"
import { guardedCall, type NodeCall } from "./guard/nodeCall.ts"
import { handler } from "./node/listener.ts"
import { bodyRead, isOurs } from "./node/mount.ts"

export type { NodeCall } from "./guard/nodeCall.ts"

export interface MountedRequest {
  readonly raw: IncomingMessage
  /** The caller's address, by the app's option `trustProxy`. */
  readonly ip: string
  readonly originalUrl: string
  /** What a body parser leaves behind. */
  readonly body?: unknown
  readonly rawBody?: unknown
}

export interface MountedReply {
  readonly raw: ServerResponse
  readonly hijack: () => unknown
  readonly getHeaders: () => { readonly [name: string]: number | string | ReadonlyArray<string> | undefined }
}

export interface MountOptions {
  /** The caller's address, from a source that the caller can't write. Default: the socket's. */
  readonly peer?: (request: MountedRequest) => string | null | undefined
}

export type Mounted = (request: MountedRequest, reply: MountedReply, done: () => void) => void

/**
 * A hook: `app.addHook("onRequest", mount(auth))`, on the root instance, whatever the issuer's path is. It comes before
 * Fastify reads a body.
 */
export const mount =
  (auth: Mount, { peer }: MountOptions = {}): Mounted =>
  (request, reply, done) => {
    const { originalUrl } = request
    if (!isOurs(auth, originalUrl, request.raw)) return done()
    // What the app's other hooks have put on every answer, such as a policy or an id, is on this one too.
    for (const [name, value] of Object.entries(reply.getHeaders())) {
      if (value !== undefined) reply.raw.setHeader(name, value)
    }
    reply.hijack()
    handler(serveNative(auth.serve, request), {
      ...(peer === undefined ? {} : { peer: () => peer(request) }),
      log: auth.log,
      url: () => originalUrl,
      body: () => bodyRead(request.raw, request.rawBody, request.body)
    })(request.raw, reply.raw)
  }

export interface GuardedRequest {
  readonly raw: NodeCall
  readonly originalUrl: string
}

export interface GuardedReply {
  readonly code: (status: number) => unknown
  readonly header: (name: string, value: string) => unknown
  readonly send: (body: string) => unknown
}

/** A hook, `onRequest` or `preHandler`: `app.get("/orders", { onRequest: guard(auth, needs) }, handler)`. */
export const guard = (auth: Guard, needs: Needs) => {
  refuseBad(needs)
  return async (request: GuardedRequest, reply: GuardedReply): Promise<unknown> => {
    const { headers, headersDistinct = {}, method } = request.raw
    const call = guardedCall({ method, headers, headersDistinct, originalUrl: request.originalUrl })
    const checked = await auth.check(call, needs)
    if (checked._tag === "Admitted") {
      setPrincipal(request, checked.principal)
      for (const [name, value] of checked.headers ?? []) reply.header(name, value)
      return undefined
    }
    reply.code(checked.response.status)
    for (const [name, value] of checked.response.headers) reply.header(name, value)
    reply.send(checked.response.body)
    return reply
  }
}
