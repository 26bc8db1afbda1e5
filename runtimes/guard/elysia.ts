import type { Needs } from "../../core/oauth/presented/guard.ts"
import { type Caller, type Guard, refuseBad, webCall } from "./Check.ts"

/** What Elysia hands to a resolver, as far as a guard needs it. */
export interface ElysiaContext {
  readonly request: Request
  readonly set: { headers: { [name: string]: unknown } }
  readonly status: (code: number, body: string) => unknown
}

/** A resolver: `app.resolve(elysiaGuard(guard, { scopes: ["api"] })).get("/orders", ({ principal }) => …)`. */
export const elysiaGuard = (guard: Guard, needs: Needs) => {
  refuseBad(needs)
  return async (context: ElysiaContext): Promise<{ readonly principal: Caller }> => {
    const checked = await guard.check(webCall(context.request), needs)
    if (checked._tag === "Admitted") return { principal: checked.principal }
    for (const [name, value] of checked.response.headers) context.set.headers[name] = value
    // Elysia answers with it and calls no handler, so no handler sees anything but a principal.
    return context.status(checked.response.status, checked.response.body) as never
  }
}
