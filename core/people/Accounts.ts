import { Context, Effect, Layer, Option } from "effect"
import { makeOnce, type Once } from "../engine/Once.ts"
import { cleanUpOrWarn } from "../engine/transact.ts"
import type { HttpRequest } from "../http/Http.ts"
import { Entropy } from "../ports/Entropy.ts"
import { PasswordHasher } from "../ports/PasswordHasher.ts"
import { Storage, type StorageUnavailable } from "../ports/Storage.ts"
import type { UserId } from "../rules/Id.ts"
import { currentInstant, type Instant } from "../rules/Instant.ts"
import type { Contended, Overloaded, TooManyRequests } from "../rules/Refusal.ts"
import type { Workspace, WorkspaceId } from "../workspace/Workspace.ts"
import {
  type AccountPolicy,
  AccountRefusal,
  type Active,
  type Email,
  loginIdOf,
  normaliseEmail,
  personNameLength,
  type Role,
  standardAccountPolicy
} from "./Account.ts"
import { type AccountBook, makeAccountBook } from "./AccountBook.ts"
import { readSessionCookie } from "./Cookie.ts"
import { type Links, makeLinks } from "./Links.ts"
import { fitPassword, makePasswords, type Password, type Passwords } from "./Passwords.ts"
import { makeSessions, type Session, type Sessions } from "./Sessions.ts"
import { SignInThrottle } from "./SignInThrottle.ts"
import { makeSignIn, type SignIn, throttled } from "./signIn.ts"

type Storing = StorageUnavailable | Contended

/** An account as somebody typed it. */
export interface Draft {
  readonly email: string
  readonly name: string
  readonly role: Role
  readonly password: Password
  /** Whoever types it here and now is signed in by it; an account that is made for somebody else is not. */
  readonly signsIn?: boolean
}

/** Somebody at a browser: the session that its cookie opened, and whose it is. */
export interface Here {
  readonly session: Session
  readonly account: Active
}

export interface AccountsOptions {
  readonly policy?: Partial<AccountPolicy>
  /** `false` only where load is tested. */
  readonly throttled?: boolean
}

/** The built-in accounts: who may sign in to a workspace, and who is signed in. */
export class Accounts extends Context.Service<
  Accounts,
  {
    readonly policy: AccountPolicy
    readonly book: AccountBook
    readonly sessions: Sessions
    readonly links: Links
    readonly once: Once
    readonly passwords: Passwords
    readonly signIn: SignIn
    readonly here: (
      workspace: Workspace,
      request: HttpRequest
    ) => Effect.Effect<Option.Option<Here>, StorageUnavailable>
    /** `id`: the account that a link may open, where one led here. `claim`: what a draft that is fit needs besides. */
    readonly open: (
      workspace: WorkspaceId,
      draft: Draft,
      id?: UserId,
      claim?: Effect.Effect<void, AccountRefusal | StorageUnavailable>
    ) => Effect.Effect<Active, AccountRefusal | Overloaded | Storing>
    /** Whether somebody who is signed in knows their password; `device` is what is slowed down if not. */
    readonly confirm: (
      workspace: WorkspaceId,
      account: Active,
      password: Password,
      device: string,
      now: Instant
    ) => Effect.Effect<boolean, TooManyRequests | Overloaded>
    /**
     * Ends every session of the account; whoever goes on needs a new one. `confirmed`: the epoch of the password that was
     * shown for it, where one was; that of another is a wrong one by now.
     */
    readonly changePassword: (
      workspace: WorkspaceId,
      id: UserId,
      password: Password,
      confirmed?: Active["epoch"]
    ) => Effect.Effect<Active, AccountRefusal | Overloaded | Storing>
    readonly rename: (
      workspace: WorkspaceId,
      id: UserId,
      name: string
    ) => Effect.Effect<Active, AccountRefusal | Storing>
  }
>()("tessera/core/accounts/Accounts") {
  static readonly layer = (options: AccountsOptions = {}) => Layer.effect(Accounts, makeAccounts(options))
}

const readEmail = (text: string): Effect.Effect<Email, AccountRefusal> =>
  Option.match(normaliseEmail(text), {
    onNone: () => Effect.fail(new AccountRefusal({ reason: "email_malformed" })),
    onSome: Effect.succeed
  })

const readName = (text: string): Effect.Effect<string | null, AccountRefusal> => {
  // What no store keeps and no page shows: control characters, halves of characters, line ends.
  const name = text
    .normalize("NFC")
    .replace(/[\s\p{Cc}\p{Cs}]+/gu, " ")
    .trim()
  return [...name].length > personNameLength
    ? Effect.fail(new AccountRefusal({ reason: "name_too_long" }))
    : Effect.succeed(name === "" ? null : name)
}

const makeAccounts = Effect.fnUntraced(function* (options: AccountsOptions) {
  const storage = yield* Storage
  const entropy = yield* Entropy
  const policy = { ...standardAccountPolicy, ...options.policy }
  const book = makeAccountBook(storage, entropy)
  const sessions = makeSessions(storage, entropy, policy.sessionTtl)
  const passwords = makePasswords(yield* PasswordHasher)
  const throttle = options.throttled === false ? undefined : new SignInThrottle()

  const changed = (
    workspace: WorkspaceId,
    id: UserId,
    change: (account: Active) => Active | undefined,
    otherwise: AccountRefusal["reason"] = "unknown"
  ) =>
    Effect.flatMap(book.change(workspace, id, change), (account) =>
      account?._tag === "Active" ? Effect.succeed(account) : new AccountRefusal({ reason: otherwise })
    )

  const here = Effect.fnUntraced(function* (workspace: Workspace, request: HttpRequest) {
    const secret = Option.getOrUndefined(readSessionCookie(workspace, request))
    if (secret === undefined) return Option.none<Here>()
    const session = Option.getOrUndefined(yield* sessions.find(workspace.id, secret, yield* currentInstant))
    if (session === undefined) return Option.none<Here>()
    const account = yield* book.find(workspace.id, session.account)
    return account?._tag === "Active" && account.epoch === session.epoch
      ? Option.some<Here>({ session, account })
      : Option.none<Here>()
  })

  return Accounts.of({
    policy,
    book,
    sessions,
    links: makeLinks(storage, entropy),
    once: makeOnce(storage),
    passwords,
    signIn: makeSignIn(book, passwords, sessions, throttle),
    here,
    open: Effect.fnUntraced(function* (workspace, draft, id = book.newId(), claim = Effect.void) {
      const email = yield* readEmail(draft.email)
      const name = yield* readName(draft.name)
      const fit = yield* Effect.fromResult(fitPassword(draft.password, email, policy.passwordLength))
      const password = yield* passwords.hash(fit)
      yield* claim
      const now = yield* currentInstant
      const signedInAt = draft.signsIn === true ? now : null
      return yield* book.open(workspace, { id, email, name, role: draft.role, password, signedInAt }, now)
    }),
    confirm: (workspace, account, password, device, now) => {
      const attempt = { login: `${workspace} ${loginIdOf(account.email)}`, network: undefined, device }
      return throttled(throttle, attempt, now, passwords.verify(password, account.password), (fits) => fits)
    },
    changePassword: Effect.fnUntraced(function* (workspace, id, typed, confirmed) {
      const account = yield* book.find(workspace, id)
      if (account?._tag !== "Active") return yield* new AccountRefusal({ reason: "unknown" })
      const fit = yield* Effect.fromResult(fitPassword(typed, account.email, policy.passwordLength))
      const password = yield* passwords.hash(fit)
      const next = yield* changed(
        workspace,
        id,
        (found) =>
          found.epoch === (confirmed ?? found.epoch) ? { ...found, password, epoch: found.epoch + 1 } : undefined,
        confirmed === undefined ? "unknown" : "wrong_password"
      )
      // They are over already, by their epoch.
      yield* cleanUpOrWarn(
        workspace,
        sessions.endAll(workspace, id, next.epoch),
        "sessions that a new password ended could not be removed, and count for nothing",
        { account: id }
      )
      return next
    }),
    rename: Effect.fnUntraced(function* (workspace, id, typed) {
      const name = yield* readName(typed)
      return yield* changed(workspace, id, (found) => ({ ...found, name }))
    })
  })
})
