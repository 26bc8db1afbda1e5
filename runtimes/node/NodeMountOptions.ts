import type { IncomingMessage } from "node:http"

export interface NodeMountOptions {
  /** The caller's address, from a source that the caller can't write. Default: the socket's. */
  readonly peer?: (request: IncomingMessage) => string | undefined
}
