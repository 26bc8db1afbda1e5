import type { Needs } from "../../core/http/guard.ts"
import { refuseBad } from "./BadGuardOption.ts"
import type { Caller } from "./Caller.ts"
import type { Guard } from "./Check.ts"

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
