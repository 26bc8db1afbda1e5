import { Effect } from "effect"
import type { HttpResponse } from "../../core/http/Http.ts"
import type { Needs } from "../../core/oauth/presented/guard.ts"
import { answerThrown } from "../serve/defect.ts"
import { isWinding, nodeHeaders, readTarget } from "../serve/request.ts"
import { attachCaller, type Caller, type Guard, type GuardedCall, refuseBad } from "./Check.ts"

/** What Node's requests have, and those of the frameworks that stand on it. */
export interface NodeCall {
  readonly method?: string | undefined
  readonly url?: string | undefined
  /** What the address was before a router took a prefix off it. */
  readonly originalUrl?: string | undefined
  readonly headers: { readonly [name: string]: string | ReadonlyArray<string> | undefined }
  readonly headersDistinct?: { readonly [name: string]: ReadonlyArray<string> | undefined }
}

/** For a token that is bound to one place, a path that may be two is at neither. */
const pathOf = (target: string): string => (isWinding(target) ? "/" : (readTarget(target)?.path ?? "/"))

const headerOf = (request: NodeCall, name: string): string | undefined => {
  // Node's `headers` drops the second of two; the other platforms join them.
  const sent = request.headersDistinct?.[name] ?? request.headers[name]
  return typeof sent === "string" ? sent : sent?.join(", ")
}

const guardedCall = (request: NodeCall): GuardedCall => ({
  method: request.method ?? "GET",
  path: pathOf(request.originalUrl ?? request.url ?? ""),
  headers: nodeHeaders((name) => headerOf(request, name))
})

declare global {
  // Where Express's types look for what middleware adds to a request.
  namespace Express {
    interface Request {
      /** Set behind `expressGuard`. */
      principal?: Caller
    }
  }
}

export interface NodeAnswer {
  readonly setHeader: (name: string, value: string) => unknown
  readonly end: (body: string) => unknown
  statusCode: number
  readonly headersSent?: boolean | undefined
  readonly writableEnded?: boolean | undefined
}

const send = (request: NodeCall, response: NodeAnswer, { body, headers, status }: HttpResponse): void => {
  // The app has begun to answer: whoever sets a header now is thrown at.
  if (response.headersSent === true) return
  response.statusCode = status
  for (const [name, value] of headers) response.setHeader(name, value)
  response.end(request.method === "HEAD" ? "" : body)
}

/** Middleware for Express, Connect and plain Node: `req.principal` behind it, and `principalOf(req)`. */
export const expressGuard = (guard: Guard, needs: Needs) => {
  refuseBad(needs)
  return (request: NodeCall, response: NodeAnswer, next: () => void): void => {
    const act = async (): Promise<void> => {
      const checked = await guard.check(guardedCall(request), needs)
      // The app has answered meanwhile, as one with a time limit does: nobody is left to let in.
      if (response.writableEnded === true) return
      if (checked._tag === "Refused") return send(request, response, checked.response)
      attachCaller(request, checked.principal)
      next()
    }
    // Unhandled, it ends the process. And `next` is no place for it: on plain Node that takes no error, and lets in.
    act().catch((defect: unknown) => send(request, response, answerThrown(defect, Effect.runFork)))
  }
}

export interface FastifyRequest {
  readonly raw: NodeCall
  readonly originalUrl: string
}

export interface FastifyReply {
  readonly code: (status: number) => unknown
  readonly header: (name: string, value: string) => unknown
  readonly send: (body: string) => unknown
}

/** A hook, `onRequest` or `preHandler`: `app.get("/orders", { onRequest: fastifyGuard(guard, needs) }, handler)`. */
export const fastifyGuard = (guard: Guard, needs: Needs) => {
  refuseBad(needs)
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const { headers, headersDistinct = {}, method } = request.raw
    const call = guardedCall({ method, headers, headersDistinct, originalUrl: request.originalUrl })
    const checked = await guard.check(call, needs)
    if (checked._tag === "Admitted") {
      attachCaller(request, checked.principal)
      return undefined
    }
    reply.code(checked.response.status)
    for (const [name, value] of checked.response.headers) reply.header(name, value)
    reply.send(checked.response.body)
    return reply
  }
}

export interface KoaContext {
  readonly req: NodeCall
  readonly originalUrl: string
  readonly state: object
  status: number
  body: unknown
  readonly set: (name: string, value: string) => unknown
}

/** Middleware: `ctx.state.principal` behind it. */
export const koaGuard = (guard: Guard, needs: Needs) => {
  refuseBad(needs)
  return async (context: KoaContext, next: () => Promise<unknown>): Promise<void> => {
    const { headers, headersDistinct = {}, method } = context.req
    const call = guardedCall({ method, headers, headersDistinct, originalUrl: context.originalUrl })
    const checked = await guard.check(call, needs)
    if (checked._tag === "Admitted") {
      Object.assign(context.state, { principal: checked.principal })
      await next()
      return
    }
    context.status = checked.response.status
    context.body = checked.response.body
    for (const [name, value] of checked.response.headers) context.set(name, value)
  }
}
