import { shuttingDown } from "../../core/http/answer.ts"
import type { Needs } from "../../core/http/guard.ts"
import type { HttpRequest } from "../../core/http/Http.ts"
import type { Guarded } from "../../core/http/Tessera.ts"
import { callerOf } from "./Caller.ts"
import { type Guard, guardOf } from "./Check.ts"

/** A guard over the authorization server of this very process: `Tessera`'s own, as a promise. */
export const localGuard = (guard: (request: HttpRequest, needs: Needs) => Promise<Guarded>): Guard =>
  guardOf(async (call, needs) => {
    const { headers, method, path } = call
    try {
      const guarded = await guard({ method, path, query: "", headers, body: "" }, needs)
      return guarded._tag === "Admitted"
        ? { _tag: "Admitted", principal: callerOf(guarded.workspace.issuer, guarded.principal) }
        : guarded
    } catch {
      // It fails in one way only: the runtime that it ran on is gone. Whoever closed it knows.
      return { _tag: "Refused", response: shuttingDown }
    }
  })
