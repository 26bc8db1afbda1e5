import { Context, Effect, Layer } from "effect"
import { makeOnce, type Once } from "../engine/Once.ts"
import { cleanUpOrWarn, type WriteFault } from "../engine/transact.ts"
import type { HttpRequest } from "../http/Http.ts"
import { Entropy } from "../ports/Entropy.ts"
import { PasswordHasher } from "../ports/PasswordHasher.ts"
import { Storage, type StorageUnavailable } from "../ports/Storage.ts"
import type { UserId } from "../rules/Id.ts"
import { currentInstant, type Instant } from "../rules/Instant.ts"
import type { Overloaded, TooManyRequests } from "../rules/Refusal.ts"
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
import { endSessions, type Farewell } from "./endSessions.ts"
import { type Links, makeLinks } from "./Links.ts"
import { fitPassword, makePasswords, type Password, type Passwords } from "./Passwords.ts"
import { makeSessions, type Session, type Sessions } from "./Sessions.ts"
import { type Sharing, SignInThrottle } from "./SignInThrottle.ts"
import { makeSignIn, type SignIn, throttled } from "./signIn.ts"

/** A new account as its form was filled in. */
export interface Draft {
  readonly email: string
  readonly name: string
  readonly role: Role
  readonly password: Password
  /** Where the form came from; a command has none. */
  readonly network?: string
  /** True if the person opens the account in the browser, and is signed in by that. */
  readonly signsIn?: boolean
}

/** The session that a browser's cookie opens, and its account. */
export interface Here {
  readonly session: Session
  readonly account: Active
}

export interface AccountsOptions {
  readonly policy?: Partial<AccountPolicy>
  /** `false` only in load tests. */
  readonly throttled?: boolean
}

/** The built-in accounts of a workspace, their sessions and their links. */
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
    /** Tells the other processes over the store of failed sign-ins, and hears of theirs. */
    readonly shareFailures: Sharing
    /** The session of a request; `undefined` if its account was removed or changed its password. */
    readonly here: (workspace: Workspace, request: HttpRequest) => Effect.Effect<Here | undefined, StorageUnavailable>
    /** `id`: the account that the link may open, if a link led here. `claim` runs once the draft is accepted. */
    readonly open: (
      workspace: WorkspaceId,
      draft: Draft,
      id?: UserId,
      claim?: Effect.Effect<void, AccountRefusal | StorageUnavailable>
    ) => Effect.Effect<Active, AccountRefusal | Overloaded | WriteFault>
    /** Whether the signed-in person knows the password; wrong attempts slow down `device`. */
    readonly confirm: (
      workspace: WorkspaceId,
      account: Active,
      password: Password,
      device: string,
      now: Instant
    ) => Effect.Effect<boolean, TooManyRequests | Overloaded>
    /**
     * Ends every session of the account. `confirmed`: the epoch of the current password, if it was asked for;
     * `wrong_password` if another request has changed it since.
     */
    readonly changePassword: (
      workspace: Workspace,
      id: UserId,
      password: Password,
      farewell: Farewell,
      confirmed?: Active["epoch"]
    ) => Effect.Effect<Active, AccountRefusal | Overloaded | WriteFault>
    /** Ends the sessions that a new password of this account ended, where that has not come about yet. */
    readonly finishSessions: (
      workspace: Workspace,
      account: Active,
      farewell: Farewell
    ) => Effect.Effect<void, WriteFault>
    readonly rename: (
      workspace: WorkspaceId,
      id: UserId,
      name: string
    ) => Effect.Effect<Active, AccountRefusal | WriteFault>
  }
>()("tessera/core/people/Accounts") {
  static readonly layer = (options: AccountsOptions = {}) => Layer.effect(Accounts, makeAccounts(options))
}

const readEmail = (text: string): Effect.Effect<Email, AccountRefusal> => {
  const email = normaliseEmail(text)
  return email === undefined ? new AccountRefusal({ reason: "email_malformed" }) : Effect.succeed(email)
}

const readName = (text: string): Effect.Effect<string | null, AccountRefusal> => {
  // Control characters, lone surrogates and line ends cannot be stored or shown.
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

  const here = Effect.fn("people.findSession")(function* (workspace: Workspace, request: HttpRequest) {
    const secret = readSessionCookie(workspace, request)
    if (secret === undefined) return undefined
    const now = yield* currentInstant
    const session = yield* sessions.find(workspace.id, secret, now)
    if (session === undefined) return undefined
    const account = yield* book.findActive(workspace.id, session.account)
    if (account === undefined || account.epoch !== session.epoch) return undefined
    yield* cleanUpOrWarn(
      workspace.id,
      sessions.use(workspace.id, session, now),
      "the last use of a session could not be noted",
      { account: account.id }
    )
    return { session, account } satisfies Here
  })

  const finishSessions = Effect.fn("people.finishSessions")(function* (
    workspace: Workspace,
    account: Active,
    farewell: Farewell
  ): Effect.fn.Return<void, WriteFault> {
    yield* endSessions(sessions, workspace, account.id, ({ epoch }) => epoch < account.epoch, farewell)
    yield* book.change(workspace.id, account.id, ({ endsSessions, ...found }) =>
      endsSessions === true && found.epoch === account.epoch ? found : undefined
    )
  })

  return Accounts.of({
    policy,
    book,
    sessions,
    links: makeLinks(storage, entropy),
    once: makeOnce(storage),
    passwords,
    signIn: makeSignIn(book, passwords, sessions, throttle),
    shareFailures: throttle === undefined ? Effect.succeed(0) : throttle.sharing(storage, entropy),
    here,
    open: Effect.fn("people.open")(function* (workspace, draft, id = book.newId(), claim = Effect.void) {
      const email = yield* readEmail(draft.email)
      const name = yield* readName(draft.name)
      const fit = yield* Effect.fromResult(fitPassword(draft.password, email, policy.passwordLength))
      const password = yield* passwords.hash(fit, draft.network === undefined ? "known" : { network: draft.network })
      yield* claim
      const now = yield* currentInstant
      const signedInAt = draft.signsIn === true ? now : null
      return yield* book.open(workspace, { id, email, name, role: draft.role, password, signedInAt }, now)
    }),
    confirm: (workspace, account, password, device, now) => {
      const attempt = {
        workspace,
        login: loginIdOf(account.email),
        network: undefined,
        device
      }
      return throttled(throttle, attempt, now, passwords.verify(password, account.password, "known"), (fits) => fits)
    },
    changePassword: Effect.fn("people.changePassword")(function* (workspace, id, typed, farewell, confirmed) {
      const account = yield* book.findActive(workspace.id, id)
      if (account === undefined) return yield* new AccountRefusal({ reason: "unknown" })
      const fit = yield* Effect.fromResult(fitPassword(typed, account.email, policy.passwordLength))
      const password = yield* passwords.hash(fit, "known")
      const next = yield* changed(
        workspace.id,
        id,
        (found) =>
          found.epoch === (confirmed ?? found.epoch)
            ? { ...found, password, epoch: found.epoch + 1, endsSessions: true }
            : undefined,
        confirmed === undefined ? "unknown" : "wrong_password"
      )
      // The sessions have already ended, by their epoch.
      yield* cleanUpOrWarn(
        workspace.id,
        finishSessions(workspace, next, farewell),
        "the sessions that a new password ended could not be deleted yet; they are no longer accepted",
        { account: id }
      )
      return next
    }),
    finishSessions,
    rename: Effect.fn("people.rename")(function* (workspace, id, typed) {
      const name = yield* readName(typed)
      return yield* changed(workspace, id, (found) => ({ ...found, name }))
    })
  })
})
