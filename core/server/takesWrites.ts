import { Effect } from "effect"
import type { Storage, StorageUnavailable } from "../ports/Storage.ts"
import { currentInstant } from "../rules/Instant.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import { recordsOf } from "./Records.ts"
import { usageKind } from "./Usage.ts"

const id = "readiness"

/** Whoever asks may be anybody, so many questions cost one write: this long its answer counts, for all processes. */
const countsFor = 5000

/**
 * Fails unless the store answers and was seen to take a write lately. A full disk, or a database that became a replica,
 * still answers reads.
 */
export const takesWrites = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  workspace: WorkspaceId
): Effect.fn.Return<void, StorageUnavailable> {
  const records = recordsOf(storage, usageKind)
  const now = yield* currentInstant
  const use = { id, usedAt: now }
  const kept = yield* records.get(workspace, id)
  if (kept !== undefined && Math.abs(now - kept.value.usedAt) < countsFor) return
  const write =
    kept === undefined ? records.insert(workspace, use, id) : records.replace(workspace, kept.version, use, id)
  // Somebody else's write was taken.
  yield* Effect.catchTag(write, "Conflict", () => Effect.void)
})
