import type { Effect } from "effect"
import type { Actor, AuditEvent } from "../ports/Audit.ts"
import { note, type Occasion, type OwnersOccasion } from "../server/Occasion.ts"
import type { Call } from "./Call.ts"
import type { Parts } from "./Parts.ts"

/** What a request leads to, by nobody but its client. */
export const occasionOf = ({ requestId, workspace }: Call): Occasion => ({ requestId, workspace: workspace.id })

export const occasionBy = (call: Call, by: Actor): OwnersOccasion => ({ ...occasionOf(call), by })

export const noteOf = (parts: Pick<Parts, "audit">, call: Call, event: AuditEvent): Effect.Effect<void> =>
  note(parts.audit, occasionOf(call), event)
