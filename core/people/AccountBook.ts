import { Effect, Result } from "effect"
import { base64Url } from "../codec/Base64Url.ts"
import { type Listed, makeRecords } from "../engine/Records.ts"
import { transactOrFail, type WriteFault } from "../engine/transact.ts"
import { answer, answerAndKeep, type Decision, refuse } from "../grant/Decision.ts"
import type { Entropy } from "../ports/Entropy.ts"
import type { Slice, Storage, StorageUnavailable } from "../ports/Storage.ts"
import { idLength, type UserId } from "../rules/Id.ts"
import { type Instant, later } from "../rules/Instant.ts"
import { Contended } from "../rules/Refusal.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import {
  type Account,
  AccountRefusal,
  type Active,
  accountKind,
  accountsOwner,
  activeOf,
  type Email,
  type Leaving,
  loginIdOf,
  loginKind,
  type Role,
  reservedFor,
  userIdOf
} from "./Account.ts"

export interface Opening {
  /** Drawn beforehand where a link may open only this account. */
  readonly id: UserId
  readonly email: Email
  readonly name: string | null
  readonly role: Role
  /** Its hash. */
  readonly password: string
  readonly signedInAt: Instant | null
}

/** The accounts of a workspace, and the logins that lead to them. */
export interface AccountBook {
  readonly newId: () => UserId
  readonly find: (workspace: WorkspaceId, id: UserId) => Effect.Effect<Account | undefined, StorageUnavailable>
  /** One who may sign in. */
  readonly findActive: (workspace: WorkspaceId, id: UserId) => Effect.Effect<Active | undefined, StorageUnavailable>
  readonly byEmail: (workspace: WorkspaceId, email: Email) => Effect.Effect<Active | undefined, StorageUnavailable>
  /** `link_spent` if the id is in use, `email_taken` if the email signs in to another account. */
  readonly open: (
    workspace: WorkspaceId,
    opening: Opening,
    now: Instant
  ) => Effect.Effect<Active, AccountRefusal | WriteFault>
  /** Changes an active account; `undefined` if there is no such account or the change declines. */
  readonly change: (
    workspace: WorkspaceId,
    id: UserId,
    change: (account: Active) => Account | undefined
  ) => Effect.Effect<Account | undefined, WriteFault>
  /** The same, for a change that says why it declines; `unknown` if there is no such account. */
  readonly decide: <E>(
    workspace: WorkspaceId,
    id: UserId,
    decide: (account: Active) => Result.Result<Active, E>
  ) => Effect.Effect<Active, E | AccountRefusal | WriteFault>
  readonly list: (workspace: WorkspaceId, slice: Slice) => Effect.Effect<Listed<Account>, StorageUnavailable>
  /** Keeps the id from opening an account; `false` if it already did. */
  readonly block: (workspace: WorkspaceId, id: UserId, now: Instant) => Effect.Effect<boolean, WriteFault>
  /** `Leaving` → `Active`: the person can sign in again. */
  readonly restore: (workspace: WorkspaceId, person: Leaving) => Effect.Effect<void, WriteFault>
  /** `Leaving` → `Gone`: only the id is kept, and stays taken. */
  readonly forget: (workspace: WorkspaceId, person: Leaving, now: Instant) => Effect.Effect<void, WriteFault>
}

const attemptLength = 9
const claims = 8

export const makeAccountBook = (storage: Storage["Service"], entropy: Entropy["Service"]): AccountBook => {
  const accounts = makeRecords(storage, accountKind)
  const logins = makeRecords(storage, loginKind)

  const find = (workspace: WorkspaceId, id: UserId) => Effect.map(accounts.get(workspace, id), (kept) => kept?.value)

  /** A new attempt replaces the reservation of an earlier one, which then cannot become the account. */
  const reserve = (workspace: WorkspaceId, id: UserId, attempt: string, now: Instant) =>
    transactOrFail(accounts, entropy, workspace, id, (account: Account | undefined) =>
      account === undefined || account._tag === "Reserved"
        ? answerAndKeep<undefined, Account>(
            { _tag: "Reserved", id, attempt, until: later(now, reservedFor) },
            undefined
          )
        : refuse(new AccountRefusal({ reason: "link_spent" }))
    )

  /** Whether the login of this account may move to another one; if so, an opening under way is made to fail. */
  const isFree = Effect.fnUntraced(function* (workspace: WorkspaceId, holder: UserId, email: Email) {
    const attempt = base64Url(entropy.bytes(attemptLength))
    return yield* transactOrFail(accounts, entropy, workspace, holder, (account: Account | undefined) => {
      if (account === undefined || account._tag === "Gone") return answer(true)
      if (account._tag === "Reserved") return answerAndKeep<boolean, Account>({ ...account, attempt }, true)
      // A leaving owner may be restored, and needs the login again; a leaving member is never restored.
      const isLeft = account._tag === "Leaving" && account.role === "member"
      return answer(isLeft || account.email !== email)
    })
  })

  const claim = Effect.fnUntraced(function* (workspace: WorkspaceId, email: Email, id: UserId) {
    const login = loginIdOf(email)
    for (let round = 0; round < claims; round++) {
      const kept = yield* logins.get(workspace, login)
      const holder = kept?.value.account ?? null
      if (holder === id) return
      if (holder !== null && !(yield* isFree(workspace, holder, email))) {
        return yield* new AccountRefusal({ reason: "email_taken" })
      }
      const claimed = yield* transactOrFail(logins, entropy, workspace, login, (now) =>
        (now?.account ?? null) === holder
          ? answerAndKeep({ id: login, account: id, vacatedAt: null }, true)
          : answer(now?.account === id)
      )
      if (claimed) return
    }
    return yield* new Contended()
  })

  const activate = (workspace: WorkspaceId, active: Active, attempt: string) =>
    transactOrFail(accounts, entropy, workspace, active.id, (account: Account | undefined) =>
      account?._tag === "Reserved" && account.attempt === attempt
        ? answerAndKeep<Active, Account>(active, active)
        : refuse(new AccountRefusal({ reason: account?._tag === "Reserved" ? "email_taken" : "link_spent" }))
    )

  /** Whether the account was still leaving: another process may have restored or forgotten it. */
  const leave = (workspace: WorkspaceId, id: UserId, next: (person: Leaving) => Account) =>
    transactOrFail(accounts, entropy, workspace, id, (account) =>
      account?._tag === "Leaving" ? answerAndKeep(next(account), true) : answer(false)
    )

  /** Marks a login as unused; a login whose account is gone is free even without this. */
  const vacate = (workspace: WorkspaceId, email: Email, account: UserId, now: Instant) =>
    transactOrFail(logins, entropy, workspace, loginIdOf(email), (login) =>
      login?.account === account
        ? answerAndKeep({ ...login, account: null, vacatedAt: now }, undefined)
        : answer(undefined)
    )

  return {
    newId: () => userIdOf(entropy.bytes(idLength)),
    find,
    findActive: (workspace, id) => Effect.map(find(workspace, id), activeOf),
    byEmail: Effect.fn("people.findByEmail")(function* (workspace, email) {
      const login = (yield* logins.get(workspace, loginIdOf(email)))?.value
      // Two reads in any case: an unknown email must take as long as a known one.
      const account = activeOf(yield* find(workspace, login?.account ?? noAccount))
      return account?.email === email ? account : undefined
    }),
    open: Effect.fn("people.openAccount")(function* (workspace, opening, now) {
      const attempt = base64Url(entropy.bytes(attemptLength))
      yield* reserve(workspace, opening.id, attempt, now)
      yield* claim(workspace, opening.email, opening.id)
      const active: Active = { _tag: "Active", ...opening, epoch: 1, createdAt: now }
      return yield* activate(workspace, active, attempt)
    }),
    change: (workspace, id, change) =>
      transactOrFail(accounts, entropy, workspace, id, (account) => {
        const next = account?._tag === "Active" ? change(account) : undefined
        return next === undefined ? answer(undefined) : answerAndKeep<Account | undefined, Account>(next, next)
      }),
    decide: <E>(workspace: WorkspaceId, id: UserId, decide: (account: Active) => Result.Result<Active, E>) =>
      transactOrFail(accounts, entropy, workspace, id, (account): Decision<Active, AccountRefusal | E, Account> => {
        if (account?._tag !== "Active") return refuse(new AccountRefusal({ reason: "unknown" }))
        const next = decide(account)
        return Result.isSuccess(next)
          ? answerAndKeep<Active, Account>(next.success, next.success)
          : refuse(next.failure)
      }),
    list: (workspace, slice) => accounts.list(workspace, accountsOwner, slice),
    block: (workspace, id, now) =>
      transactOrFail(accounts, entropy, workspace, id, (account: Account | undefined) =>
        account === undefined || account._tag === "Reserved"
          ? answerAndKeep<boolean, Account>({ _tag: "Gone", id, at: now }, true)
          : answer(account._tag === "Gone")
      ),
    restore: (workspace, person) =>
      Effect.asVoid(leave(workspace, person.id, ({ since: _, ...kept }) => ({ ...kept, _tag: "Active" }))),
    forget: Effect.fn("people.forgetAccount")(function* (workspace, { id, email }, now) {
      const gone = yield* leave(workspace, id, () => ({ _tag: "Gone", id, at: now }))
      if (gone) yield* vacate(workspace, email, id, now)
    })
  }
}

/** An id that is never drawn, because it is shorter. */
const noAccount = userIdOf(new Uint8Array(1))
