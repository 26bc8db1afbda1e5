import { Effect } from "effect"
import type { Audit } from "../ports/Audit.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import type { Refusal } from "../rules/Refusal.ts"
import type { Call } from "./Call.ts"

const reasonOf = (fault: Refusal | StorageUnavailable): string | null => {
  if (fault._tag === "StorageUnavailable") return `${fault.outcome}: ${fault.message}`
  if (fault._tag === "TooManyRequests") return fault.limit
  return "reason" in fault ? fault.reason : null
}

/** The exact reason of a refusal, for the operator: in the log and the audit stream, under the request's id. */
export const refused = (
  audit: Audit["Service"],
  call: Call,
  fault: Refusal | StorageUnavailable
): Effect.Effect<void> => {
  const reason = reasonOf(fault)
  const noted = { requestId: call.requestId, endpoint: call.endpoint, refusal: fault._tag, reason }
  const log =
    fault._tag === "StorageUnavailable"
      ? Effect.logError("the storage did not answer", noted)
      : Effect.logInfo("refused", noted)
  if (fault._tag === "StorageUnavailable") return log
  const event = { _tag: "Refused", endpoint: call.endpoint, refusal: fault._tag, reason } as const
  return Effect.andThen(
    log,
    audit.record({ at: call.now, workspace: call.workspace.id, requestId: call.requestId, event })
  )
}
