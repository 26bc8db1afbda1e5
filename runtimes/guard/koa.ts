import type { Needs } from "../../core/http/guard.ts"
import { refuseBad } from "./BadGuardOption.ts"
import type { Guard } from "./Check.ts"
import { guardedCall, type NodeCall } from "./NodeCall.ts"

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
