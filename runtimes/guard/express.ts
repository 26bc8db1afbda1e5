import type { Needs } from "../../core/http/guard.ts"
import type { HeaderPairs } from "../../core/http/Http.ts"
import { refuseBad } from "./BadGuardOption.ts"
import type { Caller } from "./Caller.ts"
import type { Guard } from "./Check.ts"
import { guardedCall, type NodeCall } from "./NodeCall.ts"
import { admit } from "./principalOf.ts"

declare global {
  // Where Express's types look for what middleware adds to a request.
  namespace Express {
    interface Request {
      /** Set behind `expressGuard`. */
      principal?: Caller
    }
  }
}

interface NodeAnswer {
  readonly setHeader: (name: string, value: string) => unknown
  readonly end: (body: string) => unknown
  statusCode: number
  readonly headersSent?: boolean | undefined
  readonly writableEnded?: boolean | undefined
}

const setAll = (response: NodeAnswer, headers: HeaderPairs) => {
  for (const [name, value] of headers) response.setHeader(name, value)
}

/** Middleware for Express, Connect and plain Node: `req.principal` behind it, and `principalOf(req)`. */
export const expressGuard = (guard: Guard, needs: Needs) => {
  refuseBad(needs)
  return (request: NodeCall, response: NodeAnswer, next: () => void): void => {
    void guard.check(guardedCall(request), needs).then((checked) => {
      // The app has answered meanwhile, as one with a time limit does: nobody is left to let in.
      if (response.writableEnded === true) return
      if (checked._tag === "Admitted") {
        admit(request, checked.principal)
        next()
        return
      }
      // Or it has begun to. Whoever sets a header now is thrown at, and from here that ends the process.
      if (response.headersSent === true) return
      const { body, headers, status } = checked.response
      response.statusCode = status
      setAll(response, headers)
      response.end(request.method === "HEAD" ? "" : body)
    })
  }
}
