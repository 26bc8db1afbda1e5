import type { AuditContext, OwnerAuditContext } from "../../core/engine/AuditContext.ts"
import type { World } from "./World.ts"

/** Done by nobody in particular, such as a client for itself. */
export const passing = ({ workspace }: World): AuditContext => ({ workspace: workspace.id, requestId: "test" })

export const byOwner = (world: World): OwnerAuditContext => ({ ...passing(world), by: "command line" })
