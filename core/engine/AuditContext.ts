import { Effect } from "effect"
import type { Actor, Audit, AuditEvent } from "../ports/Audit.ts"
import { currentInstant } from "../rules/Instant.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"

/** The workspace, actor and request of an action, as the audit stream records them. */
export interface AuditContext {
  readonly workspace: WorkspaceId
  /** Absent if a client acts on itself. */
  readonly by?: Actor
  /** The request's id, or a name for actions without a request. */
  readonly requestId: string
}

/** The context of an action by an owner, who is always named. */
export interface OwnerAuditContext extends AuditContext {
  readonly by: Actor
}

export const note = (
  audit: Audit["Service"],
  { requestId, workspace }: Omit<AuditContext, "by">,
  event: AuditEvent
): Effect.Effect<void> => Effect.flatMap(currentInstant, (at) => audit.record({ at, workspace, requestId, event }))

export const byOf = ({ by }: AuditContext): { readonly by?: Actor } => (by === undefined ? {} : { by })
