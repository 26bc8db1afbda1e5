import { Effect } from "effect"
import type { StorageUnavailable } from "../ports/Storage.ts"
import type { Contended } from "../rules/Refusal.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"

/**
 * What comes after the write that decided. Whoever asked is answered by that one: to tell them that it failed would be
 * untrue, and a second try finds nothing left to do. So a failure goes to the log alone. Answers whether it is tidy.
 */
export const tidyUp = (
  workspace: WorkspaceId,
  tidying: Effect.Effect<void, StorageUnavailable | Contended>,
  left: string,
  about: Readonly<Record<string, string>>
): Effect.Effect<boolean> =>
  Effect.catchEager(
    Effect.mapEager(tidying, () => true),
    (fault) => Effect.as(Effect.logWarning(left, { workspace, ...about, fault: fault._tag }), false)
  )
