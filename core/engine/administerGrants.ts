import { Effect } from "effect"
import { type BadKeyTerms, type KeyTerms, type NewKey, readKeyTerms } from "../grant/apiKey.ts"
import { type Grant, type Key, keyGrants, ownerOf } from "../grant/Grant.ts"
import type { Audit } from "../ports/Audit.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { type GrantId, grantMark } from "../rules/Id.ts"
import { currentInstant, later } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import type { Contended } from "../rules/Refusal.ts"
import { note, type OwnerAuditContext } from "./AuditContext.ts"
import type { Grants } from "./Grants.ts"

/** Revokes the grant of a person, for that person or on their behalf. Recorded once, however often it is called. */
export const endGrant = Effect.fn("engine.endGrant")(function* (
  services: { readonly audit: Audit["Service"]; readonly grants: Grants },
  auditContext: OwnerAuditContext,
  id: GrantId
): Effect.fn.Return<"revoked" | "was_revoked" | "unknown", StorageUnavailable | Contended> {
  const { by, workspace } = auditContext
  const why = "by_user"
  const outcome = yield* services.grants.revokeGrant(workspace, id, why)
  if (outcome === "revoked")
    yield* note(services.audit, auditContext, { _tag: "GrantRevoked", grant: grantMark(id), why, by })
  return outcome
})

/** Creates a key. Only the result has its text. */
export const createKey = Effect.fn("engine.createKey")(function* (
  services: { readonly audit: Audit["Service"]; readonly grants: Grants; readonly policy: Policy },
  auditContext: OwnerAuditContext,
  asked: KeyTerms
): Effect.fn.Return<NewKey, BadKeyTerms | StorageUnavailable | Contended> {
  const { lasts, name, reach } = yield* Effect.fromResult(readKeyTerms(asked, services.policy.scopes))
  const expiresAt = lasts === undefined ? null : later(yield* currentInstant, lasts)
  const made = yield* services.grants.createKey(auditContext.workspace, { name, expiresAt, reach })
  yield* note(services.audit, auditContext, {
    _tag: "KeyCreated",
    grant: grantMark(made.grant.id),
    by: auditContext.by
  })
  return made
})

/**
 * Replaces a key by one with the same name, lifetime and reach. Of two simultaneous rotations one gets a new key. The
 * new key is made first, so that a failure leaves the old one working beside at most one that was never shown.
 */
export const rotateKey = Effect.fn("engine.rotateKey")(function* (
  services: { readonly audit: Audit["Service"]; readonly grants: Grants },
  auditContext: OwnerAuditContext,
  old: Key
): Effect.fn.Return<NewKey | undefined, StorageUnavailable | Contended> {
  const { by, workspace } = auditContext
  const now = yield* currentInstant
  const expiresAt = old.expiresAt === null ? null : later(now, old.expiresAt - old.createdAt)
  const made = yield* services.grants.createKey(workspace, {
    name: old.name,
    expiresAt,
    // One that opens everything opens what there is now.
    ...(old.use === "everything" ? {} : { reach: { use: old.use, scope: old.scope } })
  })
  yield* note(services.audit, auditContext, { _tag: "KeyCreated", grant: grantMark(made.grant.id), by })
  if ((yield* revokeKey(services, auditContext, old.id)) === "revoked") return made
  yield* revokeKey(services, auditContext, made.grant.id)
  return undefined
})

/** Revokes a key, from its next check on. Recorded once, however often it is called. */
export const revokeKey = Effect.fn("engine.revokeKey")(function* (
  services: { readonly audit: Audit["Service"]; readonly grants: Grants },
  auditContext: OwnerAuditContext,
  id: GrantId
): Effect.fn.Return<"revoked" | "was_revoked" | "unknown", StorageUnavailable | Contended> {
  const { by, workspace } = auditContext
  const isKeys = (grant: Grant) => ownerOf(grant) === keyGrants
  const outcome = yield* services.grants.revokeGrant(workspace, id, "by_owner", isKeys)
  if (outcome === "revoked") yield* note(services.audit, auditContext, { _tag: "KeyRevoked", grant: grantMark(id), by })
  return outcome
})
