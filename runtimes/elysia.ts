/** `tessera/elysia`: plugins. */
import { Elysia, NotFoundError } from "elysia"
import type { Route } from "../core/http/Route.ts"
import type { CallerKind, Needs } from "../core/oauth/presented/guard.ts"
import type { Mount } from "../core/serve.ts"
import { serveNative } from "./embed/nativeRequest.ts"
import { handler } from "./fetch/handler.ts"
import { isOurs } from "./fetch/mount.ts"
import { type CallerOf, type Guard, refuseBad, webCall } from "./guard/Check.ts"

export interface MountOptions {
  /** The caller's address, from a source that the caller can't write. Default: the socket's. */
  readonly peer?: (request: Request, socketPeer: string | undefined) => string | null | undefined
}

/** RFC 8414 §3.1 puts the issuer's path behind a well-known one, and every other path behind the issuer's. */
const placed = (path: string, prefix: string): ReadonlyArray<string> =>
  path.startsWith("/.well-known/") && prefix !== "" ? [path + prefix, prefix + path] : [prefix + path]

const spread = { exact: [""], below: ["/*"], suffix: ["", "/*"] } as const

const patternsOf = (route: Pick<Route, "path" | "match">, prefix: string): ReadonlyArray<string> =>
  placed(route.path, prefix).flatMap((path) => spread[route.match].map((rest) => path + rest))

/**
 * A plugin: `app.use(mount(auth))`, at the app's root, whatever the issuer's path is. Elysia must leave body, path and
 * query alone: two parsers are two opinions on what a repeated parameter means.
 */
export const mount = (auth: Mount, options: MountOptions = {}): Elysia => {
  const { log, prefix, routes, serve } = auth
  const { peer = (_request, socketPeer) => socketPeer } = options
  const plugin = new Elysia({ name: "tessera", seed: prefix ?? "many" })
  let server: Elysia["server"] = null
  plugin.onStart((app) => {
    server = app.server
  })
  const answer = (request: Request) => {
    // Elysia takes a path with a slash at its end for the one without it. That one is the app's, as everywhere else.
    if (!isOurs(auth, request)) throw new NotFoundError()
    return handler(serveNative(serve, request), log)(request, () => peer(request, server?.requestIP(request)?.address))
  }
  if (prefix === undefined) {
    // Of issuers that come and go there are no patterns.
    plugin.onRequest(({ request }) => (isOurs(auth, request) ? answer(request) : undefined))
    return plugin
  }
  // An app that is not compiled (`aot: false`) parses every body, but for what is mounted.
  const hook = { parse: "none", config: { mount: answer } } as const
  for (const pattern of new Set(routes.flatMap((route) => patternsOf(route, prefix)))) {
    plugin.all(pattern, ({ request }) => answer(request), hook)
    // Where no route answers HEAD, Elysia does so itself, and takes our empty body for the length.
    plugin.route("HEAD", pattern, ({ request }) => answer(request), hook)
  }
  return plugin
}

/** What Elysia hands to a resolver, as far as a guard needs it. */
export interface GuardedContext {
  readonly request: Request
  readonly set: { headers: { [name: string]: unknown } }
  readonly status: (code: number, body: string) => unknown
}

/** A resolver: `app.resolve(guard(auth, { scopes: ["api"] })).get("/orders", ({ principal }) => …)`. */
export const guard = <const Kind extends CallerKind = CallerKind>(auth: Guard, needs: Needs<Kind>) => {
  refuseBad(needs)
  return async (context: GuardedContext): Promise<{ readonly principal: CallerOf<Kind> }> => {
    const checked = await auth.check(webCall(context.request), needs)
    if (checked._tag === "Admitted") {
      for (const [name, value] of checked.headers ?? []) context.set.headers[name] = value
      return { principal: checked.principal }
    }
    for (const [name, value] of checked.response.headers) context.set.headers[name] = value
    // Elysia answers with it and calls no handler, so no handler sees anything but a principal.
    return context.status(checked.response.status, checked.response.body) as never
  }
}
