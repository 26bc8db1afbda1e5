import { Effect } from "effect"
import type { NewKey } from "../grant/apiKey.ts"
import type { Key } from "../grant/Grant.ts"
import type { Audit } from "../ports/Audit.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { grantMark } from "../rules/Id.ts"
import { currentInstant, later } from "../rules/Instant.ts"
import type { Contended } from "../rules/Refusal.ts"
import type { Grants } from "./Grants.ts"
import { note, type OwnersOccasion } from "./Occasion.ts"
import { revokeKey } from "./revokeKey.ts"

/**
 * A key with the same name that lasts as long from now, instead of the old one. Of two that rotate one key at once, one
 * gets a new key. Made before the old one ends: what goes wrong between leaves the old one at work, and beside it at
 * most one that nobody has seen.
 */
export const rotateKey = Effect.fnUntraced(function* (
  parts: { readonly audit: Audit["Service"]; readonly grants: Grants },
  occasion: OwnersOccasion,
  old: Key
): Effect.fn.Return<NewKey | undefined, StorageUnavailable | Contended> {
  const { by, workspace } = occasion
  const now = yield* currentInstant
  const expiresAt = old.expiresAt === null ? null : later(now, old.expiresAt - old.createdAt)
  const made = yield* parts.grants.createKey(workspace, { name: old.name, expiresAt })
  yield* note(parts.audit, occasion, { _tag: "KeyCreated", grant: grantMark(made.grant.id), by })
  if ((yield* revokeKey(parts, occasion, old.id)) === "revoked") return made
  yield* revokeKey(parts, occasion, made.grant.id)
  return undefined
})
