import type { AuditEvent } from "../../core/ports/Audit.ts"
import type { Caller } from "./Caller.ts"

/** Whose tokens an event of the audit stream may have ended; `undefined` where it ends nobody's. */
export const endedBy = (event: AuditEvent): ((caller: Caller) => boolean) | undefined => {
  switch (event._tag) {
    case "GrantRevoked":
    case "TokenRevoked":
    case "KeyRevoked":
      return (caller) => caller.grant === event.grant
    case "ClientDeleted":
    case "ClientChanged":
      return (caller) => caller._tag !== "ApiKey" && caller.client === event.client
    default:
      return undefined
  }
}
