import { Effect, Result } from "effect"
import { type BadKeyTerms, type KeyTerms, type NewKey, readKeyTerms } from "../grant/apiKey.ts"
import { type Grant, isConnected, type Key, keyGrants, ownerOf } from "../grant/Grant.ts"
import type { Audit } from "../ports/Audit.ts"
import { type StorageScan, StorageUnavailable } from "../ports/Storage.ts"
import { type ClientId, type GrantId, grantMark, type PlaceId, type UserId } from "../rules/Id.ts"
import { currentInstant, later } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import { apiScopes } from "../rules/Scope.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import { note, type OwnerAuditContext } from "./AuditContext.ts"
import type { Grants } from "./Grants.ts"
import { forEachItem, type GrantList, writeAll } from "./lists.ts"
import { decodeBody, grantKind, isOfLaterRelease } from "./Records.ts"
import type { WriteFault } from "./transact.ts"

/** Revokes the grant of a person, for that person or on their behalf. Recorded once, however often it is called. */
export const endGrant = Effect.fn("engine.endGrant")(function* (
  services: { readonly audit: Audit["Service"]; readonly grants: Grants },
  auditContext: OwnerAuditContext,
  id: GrantId
): Effect.fn.Return<"revoked" | "was_revoked" | "unknown", WriteFault> {
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
): Effect.fn.Return<NewKey, BadKeyTerms | WriteFault> {
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
  services: { readonly audit: Audit["Service"]; readonly grants: Grants; readonly policy: Policy },
  auditContext: OwnerAuditContext,
  old: Key
): Effect.fn.Return<NewKey | undefined, WriteFault> {
  const { by, workspace } = auditContext
  const now = yield* currentInstant
  const expiresAt = old.expiresAt === null ? null : later(now, old.expiresAt - old.createdAt)
  const made = yield* services.grants.createKey(workspace, {
    name: old.name,
    expiresAt,
    // One that opens everything opens what there is now.
    reach: { use: old.use, scope: old.use === "everything" ? apiScopes(services.policy.scopes) : old.scope }
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
): Effect.fn.Return<"revoked" | "was_revoked" | "unknown", WriteFault> {
  const { by, workspace } = auditContext
  const isKeys = (grant: Grant) => ownerOf(grant) === keyGrants
  const outcome = yield* services.grants.revokeGrant(workspace, id, "by_owner", isKeys)
  if (outcome === "revoked") yield* note(services.audit, auditContext, { _tag: "KeyRevoked", grant: grantMark(id), by })
  return outcome
})

/** Whose connections end: of one person, at one place, with one client, or what all that is named have in common. */
export interface Ending {
  readonly user?: UserId | undefined
  readonly place?: PlaceId | undefined
  readonly client?: ClientId | undefined
}

interface Parts {
  readonly audit: Audit["Service"]
  readonly grants: Grants
  readonly policy: Policy
}

const ownedBy =
  (grants: Grants, workspace: WorkspaceId, user: UserId): GrantList =>
  (slice) =>
    grants.ofUser(workspace, user, slice)

/**
 * The grants of all people, where no person is named. It reads the whole store: never for a stranger's request. `onLater`
 * is told of each that only a later release can read.
 */
const ofAllPeople = (
  { scan }: StorageScan["Service"],
  policy: Policy,
  workspace: WorkspaceId,
  onLater: () => void
): GrantList => {
  const kind = grantKind(policy)
  const read = decodeBody(kind)
  return ({ after, limit }) =>
    Effect.map(scan("grant", after, limit), ({ next, records }) => {
      const own = records.filter((record) => record.workspace === workspace)
      for (const { body } of own) if (isOfLaterRelease(kind, body)) onLater()
      return { values: own.flatMap(({ body }) => Result.match(read(body), matched)), next }
    })
}

const laterRelease = new StorageUnavailable({
  outcome: "not_done",
  message: "some grants are of a later release, which alone can end them; what this one can read has ended"
})

/** What no release can read opens nothing either. */
const matched = { onFailure: (): ReadonlyArray<Grant> => [], onSuccess: ({ value }: { value: Grant }) => [value] }

/**
 * Ends what people let clients have, with everything that came of it: one list, and one write for each grant. What has
 * ended is passed over, so it can be called again wherever it broke off, and answers how many it ended itself. The host
 * takes a person who left a place out of it first: a grant that is approved after that has another place, or none.
 */
export const endAll = Effect.fn("engine.endAll")(function* (
  services: Parts,
  auditContext: OwnerAuditContext,
  { client, place, user }: Ending,
  scan: StorageScan["Service"] | undefined
): Effect.fn.Return<number | "needs_user", WriteFault> {
  const { workspace } = auditContext
  const { grants, policy } = services
  let isOfLater = false
  const all =
    scan &&
    ofAllPeople(scan, policy, workspace, () => {
      isOfLater = true
    })
  const list = user === undefined ? all : ownedBy(grants, workspace, user)
  if (list === undefined) return "needs_user"
  const now = yield* currentInstant
  const isMeant = (grant: Grant): boolean =>
    isConnected(grant, policy, now) &&
    (client === undefined || grant.client === client) &&
    (place === undefined || grant.place === place)
  let ended = 0
  let page: Array<Grant> = []
  const endPage = Effect.suspend(() => {
    const due = page
    page = []
    return writeAll(
      due,
      ({ id }) =>
        Effect.map(endGrant(services, auditContext, id), (outcome) => {
          if (outcome === "revoked") ended++
        }),
      () => undefined
    )
  })
  yield* forEachItem(list, (grant) => {
    if (isMeant(grant)) page.push(grant)
    return page.length < mostAtOnce ? Effect.void : Effect.asVoid(endPage)
  })
  yield* endPage
  return isOfLater ? yield* laterRelease : ended
})

const mostAtOnce = 100
