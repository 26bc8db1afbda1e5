import { Effect, Option } from "effect"
import type { StorageUnavailable } from "../ports/Storage.ts"
import type { UserId } from "../rules/Id.ts"
import type { Instant } from "../rules/Instant.ts"
import type { Contended, Overloaded, TooManyRequests } from "../rules/Refusal.ts"
import { type Digest, digestOf } from "../rules/Secret.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import { type Active, loginIdOf, normaliseEmail } from "./Account.ts"
import type { AccountBook } from "./AccountBook.ts"
import type { Password, Passwords } from "./Passwords.ts"
import type { SessionSecret, Sessions } from "./Sessions.ts"
import type { Attempt, SignInThrottle } from "./SignInThrottle.ts"

/** An attempt that is turned away where it comes too soon, and counts unless it was right or came to no answer. */
export const throttled = <A, E>(
  throttle: SignInThrottle | undefined,
  attempt: Attempt,
  now: Instant,
  trying: Effect.Effect<A, E>,
  wasRight: (outcome: A) => boolean
): Effect.Effect<A, E | TooManyRequests> => {
  if (throttle === undefined) return trying
  return Effect.suspend((): Effect.Effect<A, E | TooManyRequests> => {
    const tooMany = throttle.begin(attempt, now)
    if (Option.isSome(tooMany)) return tooMany.value
    const counted = Effect.onError(trying, () => Effect.sync(() => throttle.abandon(attempt, now)))
    return Effect.map(counted, (outcome) => {
      if (wasRight(outcome)) throttle.succeed(attempt, now)
      return outcome
    })
  })
}

/** What was typed, and where. */
interface Credentials {
  readonly email: string
  readonly password: Password
  readonly network: string | undefined
  /** The name of the browser, if this login is known there. */
  readonly deviceOf: (login: Digest) => Option.Option<string>
}

type SignInOutcome =
  | { readonly _tag: "SignedIn"; readonly account: Active; readonly login: Digest; readonly secret: SessionSecret }
  /** Which of the two it was is for the log alone. */
  | ({ readonly _tag: "Failed" } & Failing)

type Failing =
  | { readonly reason: "unknown_email" }
  | { readonly reason: "wrong_password" | "changed_meanwhile"; readonly account: UserId }

export type SignIn = (
  workspace: WorkspaceId,
  credentials: Credentials,
  now: Instant
) => Effect.Effect<SignInOutcome, TooManyRequests | Overloaded | StorageUnavailable | Contended>

/** What a login is called in the throttle, whether or not it could be anybody's. */
const loginOf = (email: string): Digest =>
  Option.match(normaliseEmail(email), { onNone: () => digestOf(`not an email ${email}`), onSome: loginIdOf })

export const makeSignIn = (
  book: AccountBook,
  passwords: Passwords,
  sessions: Sessions,
  throttle: SignInThrottle | undefined
): SignIn => {
  const lookUp = (workspace: WorkspaceId, text: string) =>
    Option.match(normaliseEmail(text), {
      onNone: () => Effect.succeed(undefined),
      onSome: (email) => book.byEmail(workspace, email)
    })

  const verified = Effect.fnUntraced(function* (workspace: WorkspaceId, credentials: Credentials, now: Instant) {
    const found = yield* lookUp(workspace, credentials.email)
    // Before anything depends on whether there is an account, so that the time taken does not either.
    const fits = yield* passwords.verify(credentials.password, found?.password)
    if (found === undefined) return { reason: "unknown_email" } satisfies Failing
    if (!fits) return { reason: "wrong_password", account: found.id } satisfies Failing
    const rehashed = passwords.isOutdated(found.password) ? yield* passwords.hash(credentials.password) : undefined
    const noted = yield* book.change(workspace, found.id, (account) =>
      account.epoch === found.epoch
        ? { ...account, signedInAt: now, password: rehashed ?? account.password }
        : undefined
    )
    return noted?._tag === "Active" ? noted : ({ reason: "changed_meanwhile", account: found.id } satisfies Failing)
  })

  return Effect.fnUntraced(function* (workspace, credentials, now) {
    const login = loginOf(credentials.email)
    const attempt: Attempt = {
      login: `${workspace} ${login}`,
      network: credentials.network,
      device: Option.getOrUndefined(credentials.deviceOf(login))
    }
    const verifying = verified(workspace, credentials, now)
    const account = yield* throttled(throttle, attempt, now, verifying, (found) => !("reason" in found))
    if ("reason" in account) return { _tag: "Failed", ...account }
    return { _tag: "SignedIn", account, login, secret: yield* sessions.start(workspace, account, now) }
  })
}
