/** `tessera/hono`: middleware. */
import type { HttpResponse } from "../core/http/Http.ts"
import type { CallerKind, Needs } from "../core/oauth/presented/guard.ts"
import type { Mount } from "../core/serve.ts"
import { answerOurs } from "./fetch/mount.ts"
import { type CallerOf, type Guard, refuseBad } from "./guard/Check.ts"
import { readBefore, unreadable } from "./serve/request.ts"

/** What Hono keeps of a body that the app has read through it. */
interface HonoBody {
  readonly bodyCache: object
  readonly text: () => Promise<string>
  readonly formData: () => Promise<FormData>
}

const fieldsOf = (form: FormData): string => {
  const pairs: Array<[string, string]> = []
  for (const [name, value] of form) if (typeof value === "string") pairs.push([name, value])
  return new URLSearchParams(pairs).toString()
}

/** A body that was read before: as it came, or as it can be written again. */
const honoBody = async (body: HonoBody): Promise<string | HttpResponse> => {
  if (Object.keys(body.bodyCache).length === 0) return readBefore
  try {
    return "formData" in body.bodyCache ? fieldsOf(await body.formData()) : await body.text()
  } catch {
    return unreadable()
  }
}

/** What Hono hands to middleware, as far as a mount needs it. */
export interface MountedContext extends Answering {
  readonly req: HonoBody & { readonly raw: Request; readonly header: (name: string) => string | undefined }
  /** What the server under Hono passes on with a request. */
  readonly env: unknown
}

/** What middleware before has put on the answer, and the answer. */
interface Answering {
  get res(): Response
  set res(answer: Response | undefined)
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

const honoPeer = ({ env, req }: MountedContext): string | undefined => {
  if (typeof env !== "object" || env === null) return undefined
  const server: Environment = env
  const found =
    server.incoming?.socket?.remoteAddress ?? server.requestIP?.(req.raw)?.address ?? server.remoteAddr?.hostname
  return typeof found === "string" ? found : undefined
}

/**
 * Hono puts what middleware before has set in the place of an answer's own headers, and its cookies in that of all others:
 * a policy of the app's on the consent page, or leave to keep tokens. Ours stand, as in every framework.
 */
const keepOurs = (context: Answering, ours: Response): Response => {
  const theirs = context.res.headers
  for (const [name, value] of theirs) {
    if (name === "set-cookie") ours.headers.append(name, value)
    else if (!ours.headers.has(name)) ours.headers.set(name, value)
  }
  // Of an answer that takes the place of none it puts nothing together.
  context.res = undefined
  context.res = ours
  return ours
}

export interface MountOptions<C> {
  /** The caller's address, from a source that the caller can't write. Default: the socket's, on Node, Bun and Deno. */
  readonly peer?: (context: C) => string | null | undefined
}

export type Mounted<C> = (context: C, next: () => Promise<void>) => Promise<Response | undefined>

/** Middleware: `app.use(mount(auth))`, at the app's root, whatever the issuer's path is. */
export const mount =
  <C extends MountedContext>(auth: Mount, options: MountOptions<C> = {}): Mounted<C> =>
  async (context, next) => {
    const answered = answerOurs(auth, context.req.raw, {
      native: context,
      peer: () => (options.peer === undefined ? honoPeer(context) : options.peer(context)),
      body: () => honoBody(context.req)
    })
    if (answered !== undefined) return keepOurs(context, await answered)
    await next()
    return undefined
  }

/**
 * For `new Hono<{ Variables: GuardVariables<"User"> }>()`, so that `c.get("principal")` has its type. A guard that admits
 * other callers does not compile there.
 */
export interface GuardVariables<Kind extends CallerKind = CallerKind> {
  principal: CallerOf<Kind>
}

export interface GuardedContext<Kind extends CallerKind = CallerKind> extends Answering {
  readonly req: { readonly raw: Request }
  readonly set: (key: "principal", value: CallerOf<Kind>) => void
  readonly header: (name: string, value: string) => void
}

/** `never` where an app has another type for its principal. What Hono's `set` takes, it leaves open. */
export type Holding<Variables, Kind extends CallerKind> = Variables extends { readonly principal: infer Principal }
  ? [CallerOf<Kind>] extends [Principal]
    ? unknown
    : never
  : unknown

/** Middleware: `app.get("/orders", guard(auth, { scopes: ["api"] }), (c) => c.json(c.get("principal")))`. */
export const guard = <const Kind extends CallerKind = CallerKind>(auth: Guard, needs: Needs<Kind>) => {
  refuseBad(needs)
  return async <Variables>(
    context: GuardedContext<NoInfer<Kind>> & { readonly var: Variables } & Holding<Variables, NoInfer<Kind>>,
    next: () => Promise<void>
  ): Promise<Response | undefined> => {
    const checked = await auth.guard(context.req.raw, needs)
    if (checked._tag === "Refused") return keepOurs(context, checked.response)
    context.set("principal", checked.principal)
    await next()
    // What was set before, an answer that the handler made itself would not have.
    for (const [name, value] of checked.headers ?? []) context.header(name, value)
    return undefined
  }
}
