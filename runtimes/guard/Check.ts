import type { Needs } from "../../core/http/guard.ts"
import type { HttpRequest, HttpResponse } from "../../core/http/Http.ts"
import { toResponse } from "../fetch/handler.ts"
import { webHeaders } from "../requestHeaders.ts"
import { pathOf } from "../requestTarget.ts"
import { refuseBad } from "./BadGuardOption.ts"
import type { Caller } from "./Caller.ts"

/** All that a guard looks at. */
export interface GuardedCall {
  readonly method: string
  /** Whole, as `URL` writes it, with what a router has stripped; without the query. */
  readonly path: string
  readonly headers: HttpRequest["headers"]
}

/** A caller, or the answer to give instead: 401 or 403 with its challenge, or 503 where nobody could say. */
export type Checked<Answer> =
  | { readonly _tag: "Admitted"; readonly principal: Caller }
  | { readonly _tag: "Refused"; readonly response: Answer }

/** Never rejects, but for needs that cannot be: with `BadGuardOption`. */
export type Check = (call: GuardedCall, needs: Needs) => Promise<Checked<HttpResponse>>

/** What stands before a resource. In this process or over introspection: whoever uses one need not know. */
export interface Guard {
  (request: Request, needs: Needs): Promise<Checked<Response>>
  /** The same, for frameworks with requests and answers of their own. */
  readonly check: Check
}

/** A call as the web's platforms have it. */
export const webCall = (request: Request): GuardedCall => ({
  method: request.method,
  path: pathOf(request.url) ?? "/",
  headers: webHeaders(request)
})

export const guardOf = (given: Check): Guard => {
  const check: Check = async (call, needs) => {
    refuseBad(needs)
    return given(call, needs)
  }
  const guard = async (request: Request, needs: Needs): Promise<Checked<Response>> => {
    const checked = await check(webCall(request), needs)
    return checked._tag === "Admitted" ? checked : { _tag: "Refused", response: toResponse(checked.response) }
  }
  return Object.assign(guard, { check })
}
