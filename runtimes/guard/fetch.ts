import type { Needs } from "../../core/http/guard.ts"
import { refuseBad } from "./BadGuardOption.ts"
import type { Caller } from "./Caller.ts"
import type { Guard } from "./Check.ts"

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
