import { Effect } from "effect"
import type { Grants } from "../engine/Grants.ts"
import type { Logouts } from "../engine/Logouts.ts"
import { collectAll, forEachItem } from "../engine/lists.ts"
import { cleanUpOrWarn, type WriteFault } from "../engine/transact.ts"
import type { Grant } from "../grant/Grant.ts"
import { grantMark, type PlaceId, type UserId } from "../rules/Id.ts"
import { currentInstant, hasPassed, later, minute } from "../rules/Instant.ts"
import type { Workspace, WorkspaceId } from "../workspace/Workspace.ts"
import { type Account, AccountRefusal, type Active, type Email, type Leaving } from "./Account.ts"
import type { Accounts } from "./Accounts.ts"
import { endSessions, type Farewell } from "./endSessions.ts"

/** The part of the protocol that a removal needs. */
export interface GrantsOfUser extends Pick<Grants, "ofUser" | "revokeGrant"> {
  readonly farewell: Farewell
}

/** `tell` gets the mark of each grant that ends with its person, and the reason. */
export const tellRevoked = (
  { grants: { ofUser, revokeGrant }, logouts }: { readonly grants: Grants; readonly logouts: Logouts },
  tell: (grant: string, why: string) => Effect.Effect<void>
): GrantsOfUser => ({
  ofUser,
  farewell: { logouts, why: "by_owner", ended: (id) => tell(grantMark(id), "by_owner") },
  revokeGrant: (workspace, id, why, among) =>
    Effect.tap(revokeGrant(workspace, id, why, among), (outcome) =>
      outcome === "revoked" ? tell(grantMark(id), why) : Effect.void
    )
})

/**
 * A request that began before the removal, of a person or of a place of theirs, may still write a session or a consent,
 * so sessions and grants are ended again until no such request can be under way.
 */
const leavingFor = 15 * minute

const allAccounts = (accounts: Accounts["Service"], workspace: WorkspaceId) =>
  collectAll((slice) => accounts.book.list(workspace, slice))

const hasOtherOwner = (all: ReadonlyArray<Account>, id: UserId): boolean =>
  all.some((account) => account._tag === "Active" && account.role === "owner" && account.id !== id)

const revokeAll = (
  grants: GrantsOfUser,
  workspace: WorkspaceId,
  user: UserId,
  isMeant: (grant: Grant) => boolean = () => true
) =>
  forEachItem(
    (slice) => grants.ofUser(workspace, user, slice),
    (grant) =>
      grant._tag === "Revoked" || !isMeant(grant)
        ? Effect.void
        : Effect.asVoid(grants.revokeGrant(workspace, grant.id, "by_owner"))
  )

/** Ends what applications were allowed at these places of a person. */
export const endPlaces = (
  grants: GrantsOfUser,
  workspace: WorkspaceId,
  user: UserId,
  places: ReadonlyArray<PlaceId>
): Effect.Effect<void, WriteFault> =>
  revokeAll(
    grants,
    workspace,
    user,
    (grant) => "place" in grant && grant.place !== undefined && places.includes(grant.place)
  )

/** The account without these among the places that it left, where they are what it left since. */
export const withoutLeft = (
  { leftPlaces = [], ...account }: Active,
  done: NonNullable<Active["leftPlaces"]>
): Active => {
  const left = leftPlaces.filter(({ id, since }) => !done.some((one) => one.id === id && one.since === since))
  return left.length === 0 ? account : { ...account, leftPlaces: left }
}

/** Ends once more what applications were allowed at places that were taken from a person; forgets those of long ago. */
const finishPlaces = Effect.fn("people.finishPlaces")(function* (
  accounts: Accounts["Service"],
  grants: GrantsOfUser,
  workspace: WorkspaceId,
  id: UserId
): Effect.fn.Return<void, WriteFault> {
  const now = yield* currentInstant
  // As it is now: since the accounts were listed, an owner may have given a place back.
  const account = yield* accounts.book.findActive(workspace, id)
  if (account === undefined) return
  const { leftPlaces = [] } = account
  const left = leftPlaces.map((place) => place.id)
  yield* endPlaces(grants, workspace, id, left)
  const done = leftPlaces.filter(({ since }) => hasPassed(later(since, leavingFor), now))
  if (done.length > 0) yield* accounts.book.change(workspace, id, (found) => withoutLeft(found, done))
})

/** Invitations of a removed owner end too: the owner may have left one for a friend, or for coming back. */
const withdrawInvitations = Effect.fn("people.withdrawInvitations")(function* (
  accounts: Accounts["Service"],
  workspace: WorkspaceId,
  email: Email
) {
  const now = yield* currentInstant
  yield* forEachItem(
    (slice) => accounts.links.list(workspace, "Invitation", slice),
    Effect.fnUntraced(function* (link) {
      if (link._tag !== "Invitation" || link.invitedBy !== email) return
      yield* accounts.book.block(workspace, link.account, now)
      yield* accounts.links.remove(workspace, link.id)
    })
  )
})

/** Ends the invitations, grants and sessions of an account that is leaving. */
const endEverything = Effect.fn("people.endEverything")(function* (
  accounts: Accounts["Service"],
  grants: GrantsOfUser,
  workspace: Workspace,
  person: Leaving
): Effect.fn.Return<void, WriteFault> {
  // Only an owner invites, and only an owner's email cannot be another account's while it is leaving.
  if (person.role === "owner") yield* withdrawInvitations(accounts, workspace.id, person.email)
  yield* revokeAll(grants, workspace.id, person.id)
  // Sessions last: they are no longer accepted in any case.
  yield* endSessions(accounts.sessions, workspace, person.id, () => true, grants.farewell)
})

/**
 * Decides the removal. From the first write on, the account cannot sign in and its sessions are not accepted.
 * Two owners who remove each other at the same time both stay, because neither finds another owner.
 */
const startLeaving = Effect.fn("people.startLeaving")(function* (
  accounts: Accounts["Service"],
  workspace: Workspace,
  id: UserId
): Effect.fn.Return<Leaving, AccountRefusal | WriteFault> {
  const since = yield* currentInstant
  const left = yield* accounts.book.change(workspace.id, id, (account) => ({ ...account, _tag: "Leaving", since }))
  if (left?._tag !== "Leaving") return yield* new AccountRefusal({ reason: "unknown" })
  if (left.role !== "owner") return left
  const takeBack = accounts.book.restore(workspace.id, left)
  // The failure reaches the caller, so the change is undone.
  const all = yield* Effect.tapError(allAccounts(accounts, workspace.id), () =>
    cleanUpOrWarn(
      workspace.id,
      takeBack,
      "an owner whose removal failed could not be restored yet; the next run of finishRemovals does it",
      {
        account: id
      }
    )
  )
  if (hasOtherOwner(all, id)) return left
  yield* takeBack
  return yield* new AccountRefusal({ reason: "last_owner" })
})

/**
 * Removes an account with its grants and sessions; `noted` runs as soon as that is decided.
 * `removing`: the storage failed in between, and `finishRemovals` does the rest.
 */
export const removeAccount = Effect.fn("people.removeAccount")(function* (
  accounts: Accounts["Service"],
  grants: GrantsOfUser,
  workspace: Workspace,
  id: UserId,
  noted: Effect.Effect<void>
): Effect.fn.Return<"removed" | "removing", AccountRefusal | WriteFault> {
  const person = yield* startLeaving(accounts, workspace, id)
  yield* noted
  const isFinished = yield* cleanUpOrWarn(
    workspace.id,
    endEverything(accounts, grants, workspace, person),
    "grants or sessions of a removed account could not be ended yet; the next run of finishRemovals does it",
    { account: id }
  )
  return isFinished ? "removed" : "removing"
})

/**
 * Finishes what was interrupted: removals, of people and of their places, and the end of sessions. Undoes a removal that
 * leaves no owner. Run at start and every few minutes.
 */
export const finishRemovals = Effect.fn("people.finishRemovals")(function* (
  accounts: Accounts["Service"],
  grants: GrantsOfUser,
  workspace: Workspace
): Effect.fn.Return<number, WriteFault> {
  const all = yield* allAccounts(accounts, workspace.id)
  const leaving = all.filter((account) => account._tag === "Leaving")
  for (const account of all) {
    if (account._tag === "Active" && account.endsSessions === true) {
      yield* accounts.finishSessions(workspace, account, grants.farewell)
    }
    if (account._tag === "Active" && account.leftPlaces !== undefined) {
      yield* finishPlaces(accounts, grants, workspace.id, account.id)
    }
  }
  let finished = 0
  for (const person of leaving) {
    if (person.role === "owner" && !hasOtherOwner(yield* allAccounts(accounts, workspace.id), person.id)) {
      yield* accounts.book.restore(workspace.id, person)
      continue
    }
    yield* endEverything(accounts, grants, workspace, person)
    const now = yield* currentInstant
    if (!hasPassed(later(person.since, leavingFor), now)) continue
    yield* accounts.book.forget(workspace.id, person, now)
    finished++
  }
  return finished
})
