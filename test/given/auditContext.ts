import type { AuditContext, OwnerAuditContext } from "../../core/engine/AuditContext.ts"
import type { World } from "./World.ts"

/** An event without a person, such as a client acting for itself. */
export const passing = ({ workspace }: World): AuditContext => ({ workspace: workspace.id, requestId: "test" })

export const byOwner = (world: World): OwnerAuditContext => ({ ...passing(world), by: "command line" })
