import type { IncomingMessage, ServerResponse } from "node:http"
import type { Mount } from "../embed/Mount.ts"
import { serveNative } from "../embed/nativeRequest.ts"
import { nodeListener } from "../node.ts"
import { bodyRead } from "./bodyRead.ts"
import { isOurs } from "./isOurs.ts"
import type { NodeMountOptions } from "./NodeMountOptions.ts"

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
