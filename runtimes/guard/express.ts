import { Effect } from "effect"
import type { Needs } from "../../core/http/guard.ts"
import type { HttpResponse } from "../../core/http/Http.ts"
import { answerThrown } from "../defect.ts"
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
      admit(request, checked.principal)
      next()
    }
    // Unhandled, it ends the process. And `next` is no place for it: on plain Node that takes no error, and lets in.
    act().catch((defect: unknown) => send(request, response, answerThrown(defect, Effect.runFork)))
  }
}
