import { Effect, Layer } from "effect"
import { Audit } from "../../core/ports/Audit.ts"
import type { OnHangUp } from "../observe/audit/auditStream.ts"
import type { AuditTarget } from "../observe/ObserveSettings.ts"
import { auditLog } from "./auditLog.ts"
import type { WrongSettings } from "./WrongSettings.ts"

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
          Effect.promise(() => import("../observe/audit/auditStream.ts")),
          ({ auditStream }) => auditStream(target, onHangUp)
        )
      )
  }
}
