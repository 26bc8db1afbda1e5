import { Effect } from "effect"
import type { Grants } from "../engine/Grants.ts"
import { eachOf, wholeList } from "../engine/lists.ts"
import { cleanUpOrWarn } from "../engine/transact.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { grantMark, type UserId } from "../rules/Id.ts"
import { currentInstant, hasPassed, later } from "../rules/Instant.ts"
import type { Contended } from "../rules/Refusal.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import { type Account, AccountRefusal, type Email, type Leaving } from "./Account.ts"
import type { Accounts } from "./Accounts.ts"

/** What removing somebody takes of the protocol. */
export type GrantsOfUser = Pick<Grants, "ofUser" | "revokeGrant">

/** The same grants, with word of each that they revoke: by its mark, and why. */
export const tellRevoked = (
  { ofUser, revokeGrant }: GrantsOfUser,
  tell: (grant: string, why: string) => Effect.Effect<void>
): GrantsOfUser => ({
  ofUser,
  revokeGrant: (workspace, id, why, among) =>
    Effect.tap(revokeGrant(workspace, id, why, among), (outcome) =>
      outcome === "revoked" ? tell(grantMark(id), why) : Effect.void
    )
})

type Storing = StorageUnavailable | Contended

/**
 * A request that found somebody signed in a moment before may still write: a session, a consent. So what they had is
 * ended again until nothing of that kind can be under way.
 */
const leavingFor = 15 * 60 * 1000

const everybody = (accounts: Accounts["Service"], workspace: WorkspaceId) =>
  wholeList((slice) => accounts.book.list(workspace, slice))

const hasOtherOwner = (all: ReadonlyArray<Account>, id: UserId): boolean =>
  all.some((account) => account._tag === "Active" && account.role === "owner" && account.id !== id)

const revokeAll = (grants: GrantsOfUser, workspace: WorkspaceId, user: UserId) =>
  eachOf(
    (slice) => grants.ofUser(workspace, user, slice),
    (grant) =>
      grant._tag === "Revoked" ? Effect.void : Effect.asVoid(grants.revokeGrant(workspace, grant.id, "by_owner"))
  )

/** What somebody left open for themselves or for friends is not to outlast them; they are invited anew, if at all. */
const withdrawInvitations = Effect.fnUntraced(function* (
  accounts: Accounts["Service"],
  workspace: WorkspaceId,
  email: Email
) {
  const now = yield* currentInstant
  yield* eachOf(
    (slice) => accounts.links.list(workspace, "Invitation", slice),
    Effect.fnUntraced(function* (link) {
      if (link._tag !== "Invitation" || link.invitedBy !== email) return
      yield* accounts.book.block(workspace, link.account, now)
      yield* accounts.links.remove(workspace, link.id)
    })
  )
})

/** Ends what is left to somebody who was shut out: the invitations that they made, and all that they ever allowed. */
const clearUp = Effect.fnUntraced(function* (
  accounts: Accounts["Service"],
  grants: GrantsOfUser,
  workspace: WorkspaceId,
  person: Leaving
): Effect.fn.Return<void, Storing> {
  // An owner's email is nobody else's until they are gone. A member, who invites nobody, may be back with it as an owner.
  if (person.role === "owner") yield* withdrawInvitations(accounts, workspace, person.email)
  yield* revokeAll(grants, workspace, person.id)
  // Last, because they count for nothing any more.
  yield* accounts.sessions.endAll(workspace, person.id)
})

/**
 * Decides that somebody is removed: from the first write on they can't sign in and no session of theirs counts.
 *
 * Two owners who remove each other at once both find nobody left to own the workspace, and both stay.
 */
const shutOut = Effect.fnUntraced(function* (
  accounts: Accounts["Service"],
  workspace: WorkspaceId,
  id: UserId
): Effect.fn.Return<Leaving, AccountRefusal | Storing> {
  const since = yield* currentInstant
  const left = yield* accounts.book.change(workspace, id, (account) => ({ ...account, _tag: "Leaving", since }))
  if (left?._tag !== "Leaving") return yield* new AccountRefusal({ reason: "unknown" })
  if (left.role !== "owner") return left
  const takeBack = accounts.book.restore(workspace, left)
  // Whoever asked is told that nothing was done.
  const all = yield* Effect.tapError(everybody(accounts, workspace), () =>
    cleanUpOrWarn(
      workspace,
      takeBack,
      "an owner whose removal could not be decided waits for removals to be finished",
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
 * Takes somebody out of the workspace, with all that they had, and notes it as soon as it is decided. What a crash or the
 * storage leaves undone, as where it says `removing`, `finishRemovals` does.
 */
export const removeAccount = Effect.fnUntraced(function* (
  accounts: Accounts["Service"],
  grants: GrantsOfUser,
  workspace: WorkspaceId,
  id: UserId,
  noted: Effect.Effect<void>
): Effect.fn.Return<"removed" | "removing", AccountRefusal | Storing> {
  const person = yield* shutOut(accounts, workspace, id)
  yield* noted
  const isTidy = yield* cleanUpOrWarn(
    workspace,
    clearUp(accounts, grants, workspace, person),
    "what somebody who was removed had left could not all be ended, and waits for removals to be finished",
    { account: id }
  )
  return isTidy ? "removed" : "removing"
})

/** To be run at start and every few minutes: sees every removal through, and none that would leave no owner. */
export const finishRemovals = Effect.fnUntraced(function* (
  accounts: Accounts["Service"],
  grants: GrantsOfUser,
  workspace: WorkspaceId
): Effect.fn.Return<number, Storing> {
  const all = yield* everybody(accounts, workspace)
  const leaving = all.filter((account) => account._tag === "Leaving")
  let finished = 0
  for (const person of leaving) {
    if (person.role === "owner" && !hasOtherOwner(yield* everybody(accounts, workspace), person.id)) {
      yield* accounts.book.restore(workspace, person)
      continue
    }
    yield* clearUp(accounts, grants, workspace, person)
    const now = yield* currentInstant
    if (!hasPassed(later(person.since, leavingFor), now)) continue
    yield* accounts.book.forget(workspace, person, now)
    finished++
  }
  return finished
})
