import { Elysia, NotFoundError } from "elysia"
import type { Route } from "../core/http/Route.ts"
import { serveNative } from "./embed/nativeRequest.ts"
import type { Mount } from "./embed/Options.ts"
import { type FetchHandler, fetchHandler } from "./fetch/handler.ts"
import { isOurs } from "./fetch/mount.ts"
import type { Serve } from "./serve/Serve.ts"

export { type Serve, serveWith } from "./serve/Serve.ts"

export interface ElysiaOptions {
  /** `Tessera`'s own: what is not in this table stays with the app, and so does what stands in the app's own routes. */
  readonly routes: ReadonlyArray<Pick<Route, "path" | "match">>
  /** Where the app has it: the path of the issuer. Default: at the root. */
  readonly prefix?: string
  /** The caller's address, from a source that the caller can't write. Default: the socket's. */
  readonly peer?: (request: Request, socketPeer: string | undefined) => string | undefined
}

/** RFC 8414 §3.1 puts the issuer's path behind a well-known one, and every other path behind the issuer's. */
const placed = (path: string, prefix: string): ReadonlyArray<string> =>
  path.startsWith("/.well-known/") && prefix !== "" ? [path + prefix, prefix + path] : [prefix + path]

const spread = { exact: [""], below: ["/*"], suffix: ["", "/*"] } as const

const patternsOf = (route: Pick<Route, "path" | "match">, prefix: string): ReadonlyArray<string> =>
  placed(route.path, prefix).flatMap((path) => spread[route.match].map((rest) => path + rest))

/**
 * A plugin for an app of one's own: `app.use(tessera(auth))`, at its root, whatever the issuer's path is. Elysia must
 * leave body, path and query alone: two parsers are two opinions on what a repeated parameter means.
 */
export function tessera(auth: Mount, options?: Pick<ElysiaOptions, "peer">): Elysia
export function tessera(serve: Serve, options: ElysiaOptions): Elysia
export function tessera(served: Serve | Mount, options: Partial<ElysiaOptions> = {}): Elysia {
  const { routes = [], serve, prefix = "" } = typeof served === "function" ? { ...options, serve: served } : served
  const { peer = (_request, socketPeer) => socketPeer } = options
  const handle: FetchHandler =
    typeof served === "function"
      ? fetchHandler(serve)
      : (request, peerOf) => fetchHandler(serveNative(serve, request), served.log)(request, peerOf)
  const plugin = new Elysia({ name: "tessera", seed: prefix })
  let server: Elysia["server"] = null
  plugin.onStart((app) => {
    server = app.server
  })
  const answer = (request: Request) => {
    // Elysia takes a path with a slash at its end for the one without it. That one is the app's, as everywhere else.
    if (typeof served !== "function" && !isOurs(served, request)) throw new NotFoundError()
    return handle(request, () => peer(request, server?.requestIP(request)?.address))
  }
  // An app that is not compiled (`aot: false`) parses every body, but for what is mounted.
  const hook = { parse: "none", config: { mount: answer } } as const
  for (const pattern of new Set(routes.flatMap((route) => patternsOf(route, prefix)))) {
    plugin.all(pattern, ({ request }) => answer(request), hook)
    // Where nobody answers HEAD, Elysia does so itself, and takes our empty body for the length.
    plugin.route("HEAD", pattern, ({ request }) => answer(request), hook)
  }
  return plugin
}
