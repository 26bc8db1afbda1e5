import type { HonoBody } from "./honoBody.ts"

/** What Hono hands to middleware, as far as a mount needs it. */
export interface HonoContext {
  readonly req: HonoBody & { readonly raw: Request }
  /** What the server under Hono passes on with a request. */
  readonly env: unknown
}

/** Of all that servers under Hono pass on, what says who is at the other end of the socket. */
interface Environment {
  /** `@hono/node-server` */
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: unknown } }
  /** `Bun.serve({ fetch: app.fetch })`: the server itself. */
  readonly requestIP?: (request: Request) => { readonly address?: unknown } | null
  /** `Deno.serve(app.fetch)` */
  readonly remoteAddr?: { readonly hostname?: unknown }
}

export const honoPeer = ({ env, req }: HonoContext): string | undefined => {
  if (typeof env !== "object" || env === null) return undefined
  const server: Environment = env
  const found =
    server.incoming?.socket?.remoteAddress ?? server.requestIP?.(req.raw)?.address ?? server.remoteAddr?.hostname
  return typeof found === "string" ? found : undefined
}
