import { Effect, Layer } from "effect"
import { Audit } from "../../core/ports/Audit.ts"
import type { OnHangUp } from "../observe/audit.ts"
import type { AuditTarget } from "../observe/ObserveSettings.ts"
import type { WrongSettings } from "./Variable.ts"

/** Audit events as lines of the log, each with its request's id. Refusals are there already: the core logs them itself. */
export const auditLog: Layer.Layer<Audit> = Layer.succeed(Audit, {
  record: ({ event: { _tag, ...details }, requestId, workspace }) =>
    _tag === "Refused" ? Effect.void : Effect.logInfo(_tag, { requestId, workspace, ...details })
})

/** Where audit events go. The stream is loaded only where it is wanted. */
export const auditOf = (target: AuditTarget, onHangUp?: OnHangUp): Layer.Layer<Audit, WrongSettings> => {
  switch (target._tag) {
    case "Log":
      return auditLog
    case "Off":
      return Audit.layerNone
    case "Stream":
    case "File":
      return Layer.unwrap(
        Effect.map(
          Effect.promise(() => import("../observe/audit.ts")),
          ({ auditStream }) => auditStream(target, onHangUp)
        )
      )
  }
}
