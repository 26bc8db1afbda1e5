import type { HttpResponse } from "../../core/http/Http.ts"
import type { Mount } from "../../core/serve.ts"
import { serveNative } from "../embed/nativeRequest.ts"
import { pathOf, webHeaders } from "../serve/request.ts"
import { handler, type PeerOf, toResponse } from "./handler.ts"

/** A path that may be two places is the app's, as on Node. */
export const isOurs = (auth: Mount, request: Request): boolean => {
  const path = pathOf(request.url)
  return path !== undefined && auth.owns(path, webHeaders(request).get("host") ?? undefined)
}

/** A request whose body the app has read, as it was before. */
const unreadAgain = ({ headers, method, url }: Request, body: string) => new Request(url, { method, headers, body })

interface Received {
  /** What the host's own code knows the request by. */
  readonly native: unknown
  readonly peer: PeerOf
  /** The body, where the app has read it before. */
  readonly body: () => Promise<string | HttpResponse>
}

/** The answer to a request that is Tessera's; `undefined` for one that is the app's. */
export const answerOurs = (auth: Mount, request: Request, { body, native, peer }: Received) => {
  // Before anything is read: what is not ours reaches the app as it came.
  if (!isOurs(auth, request)) return undefined
  const handle = handler(serveNative(auth.serve, native), auth.log)
  // No endpoint reads the body of a GET, and to ask costs @hono/node-server a whole `Request`.
  if (request.method === "GET" || !request.bodyUsed) return handle(request, peer)
  return body().then((read) => (typeof read === "string" ? handle(unreadAgain(request, read), peer) : toResponse(read)))
}
