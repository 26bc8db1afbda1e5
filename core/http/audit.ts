import { Effect } from "effect"
import { type AuditContext, note, type OwnerAuditContext } from "../engine/AuditContext.ts"
import type { Actor, Audit, AuditEvent } from "../ports/Audit.ts"
import type { Fault } from "./Fault.ts"
import type { Call, Services } from "./Route.ts"

/** The context of what a client does to itself. */
export const auditContextOf = ({ requestId, workspace }: Call): AuditContext => ({ requestId, workspace: workspace.id })

export const auditContextBy = (call: Call, by: Actor): OwnerAuditContext => ({ ...auditContextOf(call), by })

export const noteOf = (services: Pick<Services, "audit">, call: Call, event: AuditEvent): Effect.Effect<void> =>
  note(services.audit, auditContextOf(call), event)

export const reasonOf = (fault: Fault): string | null => {
  if (fault._tag === "StorageUnavailable") return `${fault.outcome}: ${fault.message}`
  if (fault._tag === "TooManyRequests") return fault.limit
  return "reason" in fault ? fault.reason : null
}

/** Records the exact reason of a refusal for the operator: in the log and the audit stream, by the request's id. */
export const refused = (audit: Audit["Service"], call: Call, fault: Fault): Effect.Effect<void> => {
  const reason = reasonOf(fault)
  const noted = { requestId: call.requestId, endpoint: call.endpoint, refusal: fault._tag, reason }
  if (fault._tag === "StorageUnavailable") return Effect.logError(`the ${fault.of ?? "storage"} did not answer`, noted)
  const record = (event: AuditEvent) =>
    audit.record({ at: call.now, workspace: call.workspace.id, requestId: call.requestId, event })
  const told = () =>
    Effect.andThen(
      Effect.logInfo("refused", noted),
      record({ _tag: "Refused", endpoint: call.endpoint, refusal: fault._tag, reason })
    )
  if (fault._tag !== "InvalidGrant" || fault.ended === undefined) return told()
  // The grant first: a sink may take an event at once.
  return Effect.andThen(record({ _tag: "GrantRevoked", grant: fault.ended, why: fault.reason }), told())
}
