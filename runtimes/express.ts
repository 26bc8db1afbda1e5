/** `tessera/express`: Node's own middleware, with the type of `req.principal`. */
import type { IncomingMessage } from "node:http"
import type { Mount } from "../core/serve.ts"
import type { Caller } from "./guard/Check.ts"
import { type Mounted, mount as mountOnNode } from "./node.ts"

export { guard, type Mounted, type NodeAnswer, type NodeCall } from "./node.ts"

declare global {
  // Express's types look here for what middleware adds to a request.
  namespace Express {
    interface Request {
      /** Set behind `guard`. */
      principal?: Caller
    }
  }
}

export interface MountedRequest extends IncomingMessage {
  /** The caller's address, by the app's setting `trust proxy`. */
  readonly ip?: string | undefined
}

export interface MountOptions {
  /** The caller's address, from a source that the caller can't write. Default: the socket's. */
  readonly peer?: (request: MountedRequest) => string | null | undefined
}

/**
 * Middleware: `app.use(mount(auth))`, before body parsers, at the app's root, whatever the issuer's path is. A path
 * that is not Tessera's goes on to the app.
 */
export const mount: (auth: Mount, options?: MountOptions) => Mounted = mountOnNode
