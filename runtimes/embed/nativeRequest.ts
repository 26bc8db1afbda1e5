import type { HttpRequest } from "../../core/http/Http.ts"
import type { Serve } from "../../core/serve.ts"

// Beside the request, not in it: the core has no use for a framework's own object and can't lose it in a log.
const natives = new WeakMap<HttpRequest, unknown>()

/** The request as the host's framework has it, where a mount said so. */
export const nativeOf = (request: HttpRequest): unknown => natives.get(request)

/** The same server, for one request of a framework's. */
export const serveNative =
  (serve: Serve, native: unknown): Serve =>
  (request) => {
    natives.set(request, native)
    return serve(request)
  }
