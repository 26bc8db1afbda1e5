import { Effect } from "effect"
import type { Audit } from "../ports/Audit.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { type GrantId, grantMark } from "../rules/Id.ts"
import type { Contended } from "../rules/Refusal.ts"
import type { Grants } from "./Grants.ts"
import { note, type OwnersOccasion } from "./Occasion.ts"

/** What a person allowed is taken back, by them or on their behalf. It ends once, and that is noted once. */
export const endGrant = Effect.fnUntraced(function* (
  parts: { readonly audit: Audit["Service"]; readonly grants: Grants },
  occasion: OwnersOccasion,
  id: GrantId
): Effect.fn.Return<"revoked" | "was_revoked" | "unknown", StorageUnavailable | Contended> {
  const { by, workspace } = occasion
  const why = "by_user"
  const outcome = yield* parts.grants.revokeGrant(workspace, id, why)
  if (outcome === "revoked") yield* note(parts.audit, occasion, { _tag: "GrantRevoked", grant: grantMark(id), why, by })
  return outcome
})
