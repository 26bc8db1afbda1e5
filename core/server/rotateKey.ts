import { Effect } from "effect"
import type { NewKey } from "../grant/apiKey.ts"
import type { Key } from "../grant/Grant.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { later } from "../rules/Instant.ts"
import type { Contended } from "../rules/Refusal.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import { currentInstant, type Grants } from "./Grants.ts"

/**
 * A key with the same name that lasts as long from now, instead of the old one. Of two that rotate one key at once, one
 * gets a new key. Made before the old one ends: what goes wrong between leaves the old one at work, and beside it at
 * most one that nobody has seen.
 */
export const rotateKey = Effect.fnUntraced(function* (
  grants: Grants,
  workspace: WorkspaceId,
  old: Key
): Effect.fn.Return<NewKey | undefined, StorageUnavailable | Contended> {
  const now = yield* currentInstant
  const expiresAt = old.expiresAt === null ? null : later(now, old.expiresAt - old.createdAt)
  const made = yield* grants.createKey(workspace, { name: old.name, expiresAt })
  const ended = yield* grants.revokeGrant(workspace, old.id, "by_owner")
  if (ended === "revoked") return made
  yield* grants.revokeGrant(workspace, made.grant.id, "by_owner")
  return undefined
})
