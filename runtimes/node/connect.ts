import type { IncomingMessage, ServerResponse } from "node:http"
import type { Mount } from "../embed/Mount.ts"
import { serveNative } from "../embed/nativeRequest.ts"
import { nodeListener } from "../node.ts"
import { isWinding, readTarget } from "../requestTarget.ts"
import { bodyRead } from "./bodyRead.ts"

export interface MountOptions {
  /** The caller's address, from a source that the caller can't write. Default: the socket's. */
  readonly peer?: (request: IncomingMessage) => string | undefined
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

/** A path that may be two places stays with the app: what it has put before ours, it has put before one of them. */
export const isOurs = (mount: Mount, url: string): boolean => {
  if (isWinding(url)) return false
  const target = readTarget(url)
  return target !== undefined && mount.owns(target.path)
}

/**
 * Middleware for Express, Connect and what is like them: `app.use(connectMount(auth))`, before body parsers, at the
 * app's root, whatever the issuer's path is. What is not Tessera's goes on to the app.
 */
export const connectMount =
  (mount: Mount, options: MountOptions = {}): ConnectMount =>
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
