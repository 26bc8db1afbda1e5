import { Effect } from "effect"
import { type Grant, keyGrants, ownerOf } from "../grant/Grant.ts"
import type { Audit } from "../ports/Audit.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { type GrantId, grantMark } from "../rules/Id.ts"
import type { Contended } from "../rules/Refusal.ts"
import type { Grants } from "./Grants.ts"
import { note, type OwnersOccasion } from "./Occasion.ts"

/** The end of a key, at its next check. A key ends once, and that is noted once. */
export const revokeKey = Effect.fnUntraced(function* (
  parts: { readonly audit: Audit["Service"]; readonly grants: Grants },
  occasion: OwnersOccasion,
  id: GrantId
): Effect.fn.Return<"revoked" | "was_revoked" | "unknown", StorageUnavailable | Contended> {
  const { by, workspace } = occasion
  const isKeys = (grant: Grant) => ownerOf(grant) === keyGrants
  const outcome = yield* parts.grants.revokeGrant(workspace, id, "by_owner", isKeys)
  if (outcome === "revoked") yield* note(parts.audit, occasion, { _tag: "KeyRevoked", grant: grantMark(id), by })
  return outcome
})
