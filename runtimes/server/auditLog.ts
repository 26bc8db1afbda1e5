import { Effect, Layer } from "effect"
import { Audit } from "../../core/ports/Audit.ts"

/** Audit events as lines of the log, each with its request's id. Refusals are there already: the core logs them itself. */
export const auditLog: Layer.Layer<Audit> = Layer.succeed(Audit, {
  record: ({ event: { _tag, ...details }, requestId, workspace }) =>
    _tag === "Refused" ? Effect.void : Effect.logInfo(_tag, { requestId, workspace, ...details })
})
