import type { Needs } from "../../core/oauth/presented/guard.ts"
import { type Caller, type Guard, refuseBad } from "./Check.ts"

/** A handler of requests that only those reach whom the guard admits. Whatever else a platform passes is passed on. */
export const fetchGuard = <Rest extends ReadonlyArray<unknown>>(
  guard: Guard,
  needs: Needs,
  handler: (request: Request, principal: Caller, ...rest: Rest) => Response | Promise<Response>
) => {
  refuseBad(needs)
  return async (request: Request, ...rest: Rest): Promise<Response> => {
    const checked = await guard(request, needs)
    return checked._tag === "Admitted" ? handler(request, checked.principal, ...rest) : checked.response
  }
}

/** For `new Hono<{ Variables: GuardVariables }>()`, so that `c.get("principal")` has its type. */
export interface GuardVariables {
  principal: Caller
}

export interface HonoContext {
  readonly req: { readonly raw: Request }
  readonly set: (key: "principal", value: Caller) => void
}

/** Middleware: `app.get("/orders", honoGuard(guard, { scopes: ["api"] }), (c) => c.json(c.get("principal")))`. */
export const honoGuard = (guard: Guard, needs: Needs) => {
  refuseBad(needs)
  return async (context: HonoContext, next: () => Promise<void>): Promise<Response | undefined> => {
    const checked = await guard(context.req.raw, needs)
    if (checked._tag === "Refused") return checked.response
    context.set("principal", checked.principal)
    await next()
    return undefined
  }
}
