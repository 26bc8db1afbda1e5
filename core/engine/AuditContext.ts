import { Effect } from "effect"
import type { Actor, Audit, AuditEvent } from "../ports/Audit.ts"
import { currentInstant } from "../rules/Instant.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"

/** Where something is done, by whom, and what led to it: what the audit stream tells beside the thing itself. */
export interface AuditContext {
  readonly workspace: WorkspaceId
  /** Nobody, where a client does it to itself. */
  readonly by?: Actor
  /** The request's id, or what stands for one. */
  readonly requestId: string
}

/** The same where somebody is answerable for it. */
export interface OwnerAuditContext extends AuditContext {
  readonly by: Actor
}

export const note = (
  audit: Audit["Service"],
  { requestId, workspace }: Omit<AuditContext, "by">,
  event: AuditEvent
): Effect.Effect<void> => Effect.flatMap(currentInstant, (at) => audit.record({ at, workspace, requestId, event }))

export const byOf = ({ by }: AuditContext): { readonly by?: Actor } => (by === undefined ? {} : { by })
