import { Effect, Layer } from "effect"
import { Audit } from "../../core/ports/Audit.ts"

/** Audit events as lines of the log, each with its request's id. */
export const auditLog: Layer.Layer<Audit> = Layer.succeed(Audit, {
  record: ({ event: { _tag, ...details }, requestId, workspace }) =>
    Effect.logInfo(_tag, { requestId, workspace, ...details })
})
