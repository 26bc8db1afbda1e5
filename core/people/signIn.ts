import { Cause, Effect, Schema } from "effect"
import type { WriteFault } from "../engine/transact.ts"
import type { UserId } from "../rules/Id.ts"
import type { Instant } from "../rules/Instant.ts"
import { Overloaded, type TooManyRequests } from "../rules/Refusal.ts"
import { type Digest, digestOf } from "../rules/Secret.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import { type Active, loginIdOf, normaliseEmail } from "./Account.ts"
import type { AccountBook } from "./AccountBook.ts"
import type { Password, Passwords, Waiting } from "./Passwords.ts"
import type { SessionSecret, Sessions } from "./Sessions.ts"
import type { Attempt, SignInThrottle } from "./SignInThrottle.ts"

const isOverloaded = Schema.is(Overloaded)

/**
 * Refuses an attempt that comes too soon. One that succeeds or that the server fails does not count, but one that is
 * turned away for want of time counts against its network.
 */
export const throttled = <A, E>(
  throttle: SignInThrottle | undefined,
  attempt: Attempt,
  now: Instant,
  trying: Effect.Effect<A, E>,
  wasRight: (outcome: A) => boolean
): Effect.Effect<A, E | TooManyRequests> => {
  if (throttle === undefined) return trying
  return Effect.gen(function* () {
    const tooMany = throttle.begin(attempt, now)
    if (tooMany !== undefined) return yield* tooMany
    const outcome = yield* Effect.onError(trying, (cause) =>
      Effect.sync(() => {
        const turnedAway = cause.reasons.some((reason) => Cause.isFailReason(reason) && isOverloaded(reason.error))
        if (turnedAway) throttle.turnAway(attempt, now)
        else throttle.abandon(attempt)
      })
    )
    if (wasRight(outcome)) throttle.succeed(attempt, now)
    else throttle.fail(attempt, now)
    return outcome
  })
}

/** The email and password of a form, and where it came from. */
interface Credentials {
  readonly email: string
  readonly password: Password
  readonly network: string | undefined
  /** The browser in plain words. */
  readonly browser?: string | undefined
  /** The name of the browser, if the email's login signed in there before. */
  readonly device: string | undefined
}

type SignInOutcome =
  | { readonly _tag: "SignedIn"; readonly account: Active; readonly login: Digest; readonly secret: SessionSecret }
  /** The reason is for the audit stream only, and must not reach the page. */
  | ({ readonly _tag: "Failed" } & Failing)

type Failing =
  | { readonly reason: "unknown_email" }
  | { readonly reason: "wrong_password" | "changed_meanwhile"; readonly account: UserId }

export type SignIn = (
  workspace: WorkspaceId,
  credentials: Credentials,
  now: Instant
) => Effect.Effect<SignInOutcome, TooManyRequests | Overloaded | WriteFault>

/** The key of a login in the throttle, also for text that is no email. */
export const loginOf = (text: string): Digest => {
  const email = normaliseEmail(text)
  return email === undefined ? digestOf(`not an email ${text}`) : loginIdOf(email)
}

export const makeSignIn = (
  book: AccountBook,
  passwords: Passwords,
  sessions: Sessions,
  throttle: SignInThrottle | undefined
): SignIn => {
  const lookUp = (workspace: WorkspaceId, text: string) => {
    const email = normaliseEmail(text)
    return email === undefined ? Effect.succeed(undefined) : book.byEmail(workspace, email)
  }

  const verified = Effect.fn("people.verify")(function* (
    workspace: WorkspaceId,
    credentials: Credentials,
    who: Waiting,
    now: Instant
  ) {
    const found = yield* lookUp(workspace, credentials.email)
    // Hashed before the first branch, so that the time does not tell whether there is an account.
    const fits = yield* passwords.verify(credentials.password, found?.password, who)
    if (found === undefined) return { reason: "unknown_email" } satisfies Failing
    if (!fits) return { reason: "wrong_password", account: found.id } satisfies Failing
    const rehashed = passwords.isOutdated(found.password)
      ? yield* passwords.hash(credentials.password, "known")
      : undefined
    const noted = yield* book.change(workspace, found.id, (account) =>
      account.epoch === found.epoch
        ? { ...account, signedInAt: now, password: rehashed ?? account.password }
        : undefined
    )
    return noted?._tag === "Active" ? noted : ({ reason: "changed_meanwhile", account: found.id } satisfies Failing)
  })

  return Effect.fn("people.signIn")(function* (workspace, credentials, now) {
    const login = loginOf(credentials.email)
    const attempt: Attempt = {
      workspace,
      login,
      network: credentials.network,
      device: credentials.device
    }
    const who = attempt.device === undefined ? { network: attempt.network } : "known"
    const verifying = verified(workspace, credentials, who, now)
    const account = yield* throttled(throttle, attempt, now, verifying, (found) => !("reason" in found))
    if ("reason" in account) return { _tag: "Failed", ...account }
    return {
      _tag: "SignedIn",
      account,
      login,
      secret: yield* sessions.start(workspace, account, now, credentials.browser)
    }
  })
}
