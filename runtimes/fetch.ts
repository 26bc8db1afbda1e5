/** `tessera/fetch`: for what speaks `Request` and `Response` (Deno, Workers, Next's route handlers …). */
import type { HeaderPairs } from "../core/http/Http.ts"
import type { CallerKind, Needs } from "../core/oauth/presented/guard.ts"
import type { Mount } from "../core/serve.ts"
import { answerOurs } from "./fetch/mount.ts"
import { type CallerOf, type Guard, refuseBad } from "./guard/Check.ts"
import { pathOf, readBefore, webHeaders } from "./serve/request.ts"

export { type Handler, handler, type PeerOf } from "./fetch/handler.ts"

export interface MountOptions {
  /** The caller's address, from a source that the caller can't write. Default: unknown. */
  readonly peer?: (request: Request) => string | null | undefined
}

export type Mounted = (request: Request) => Response | Promise<Response> | undefined

/** Next's proxy takes no redirect without a host. It is the issuer's: what `url` names may be the host behind a proxy. */
const namingHost = (auth: Mount, request: Request, answer: Response): Response => {
  const location = answer.headers.get("location")
  if (location === null || URL.canParse(location)) return answer
  const path = pathOf(request.url) ?? "/"
  const origin = auth.originAt?.(path, webHeaders(request).get("host") ?? undefined)
  if (origin !== undefined && URL.canParse(location, origin + path)) {
    answer.headers.set("location", new URL(location, origin + path).href)
  }
  return answer
}

/**
 * The answer to a request that is Tessera's, `undefined` for one that is the app's own:
 * `fetch: (request) => mounted(request) ?? app(request)`.
 */
export const mount =
  (auth: Mount, options: MountOptions = {}): Mounted =>
  (request) => {
    const answered = answerOurs(auth, request, {
      native: request,
      peer: () => options.peer?.(request),
      body: () => Promise.resolve(readBefore)
    })
    return answered instanceof Promise
      ? answered.then((answer) => namingHost(auth, request, answer))
      : answered && namingHost(auth, request, answered)
  }

/** A copy, since some answers take no header, and an app may give one to many. Of an upgrade there is none. */
const telling = (response: Response, pairs: HeaderPairs): Response => {
  if (!(response instanceof Response) || response.status < 200) return response
  const told = new Response(response.body, response)
  for (const [name, value] of pairs) told.headers.set(name, value)
  return told
}

/**
 * A handler that only admitted requests reach. The request is the platform's own (`BunRequest`, `NextRequest`), and
 * whatever else it passes is passed on.
 */
export const guard = <
  Rest extends ReadonlyArray<unknown>,
  const Kind extends CallerKind = CallerKind,
  Asked extends Request = Request
>(
  auth: Guard,
  needs: Needs<Kind>,
  handler: (request: Asked, principal: CallerOf<NoInfer<Kind>>, ...rest: Rest) => Response | Promise<Response>
) => {
  refuseBad(needs)
  return async (request: Asked, ...rest: Rest): Promise<Response> => {
    const checked = await auth.guard(request, needs)
    if (checked._tag === "Refused") return checked.response
    const { headers, principal } = checked
    const answer = handler(request, principal, ...rest)
    return headers === undefined ? answer : telling(await answer, headers)
  }
}
