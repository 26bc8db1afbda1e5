import type { Needs } from "../../core/http/guard.ts"
import { refuseBad } from "./BadGuardOption.ts"
import type { Guard } from "./Check.ts"
import { guardedCall, type NodeCall } from "./NodeCall.ts"
import { admit } from "./principalOf.ts"

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
      admit(request, checked.principal)
      return undefined
    }
    reply.code(checked.response.status)
    for (const [name, value] of checked.response.headers) reply.header(name, value)
    reply.send(checked.response.body)
    return reply
  }
}
