import { Effect } from "effect"
import type { Audit, AuditEvent } from "../../core/ports/Audit.ts"
import { currentInstant } from "../../core/rules/Instant.ts"
import type { WorkspaceId } from "../../core/workspace/Workspace.ts"

/** Audit events that no request led to: `from` stands where a request's id would. */
export const noteAs =
  (audit: Audit["Service"], workspace: WorkspaceId, from: string) =>
  (event: AuditEvent): Effect.Effect<void> =>
    Effect.flatMap(currentInstant, (at) => audit.record({ at, workspace, requestId: from, event }))
