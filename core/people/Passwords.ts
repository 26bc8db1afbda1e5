import { Effect, Option, Redacted, Result, Semaphore } from "effect"
import type { PasswordHasher } from "../ports/PasswordHasher.ts"
import { Overloaded } from "../rules/Refusal.ts"
import { AccountRefusal, type Email, passwordBytes } from "./Account.ts"

export type Password = Redacted.Redacted<string>

/** 4: each hash holds 19 MiB while it runs. 128 waiting: a few seconds of work; more are refused. */
const atOnce = 4
const waitingMost = 128

const utf8 = new TextEncoder()

/** NIST SP 800-63B §3.1.1.2: the same letters from any keyboard are the same password. */
const normal = (password: Password): Password =>
  Redacted.make(Redacted.value(password).normalize("NFKC"), { label: "password" })

const isTooLong = (password: Password): boolean => utf8.encode(Redacted.value(password)).length > passwordBytes

/** Hashed in place of a password that cannot be right, so that the time taken tells nothing. */
const nothing: Password = Redacted.make("nothing", { label: "password" })

const isPlain = (text: string): boolean => text.trim() === "" || new Set(text).size === 1

/** The password in normal form if it is acceptable. NIST SP 800-63B §3.1.1.2: no composition rules. */
export const fitPassword = (
  password: Password,
  email: Email,
  shortest: number
): Result.Result<Password, AccountRefusal> => {
  const fit = normal(password)
  const text = Redacted.value(fit)
  if ([...text].length < shortest) return Result.fail(new AccountRefusal({ reason: "password_too_short" }))
  if (isTooLong(fit)) return Result.fail(new AccountRefusal({ reason: "password_too_long" }))
  if (isPlain(text)) return Result.fail(new AccountRefusal({ reason: "password_too_plain" }))
  const plain = text.trim().toLowerCase()
  if (plain === email || plain === email.split("@")[0]) {
    return Result.fail(new AccountRefusal({ reason: "password_is_email" }))
  }
  return Result.succeed(fit)
}

/** The slow hash, with a limit on concurrency that fits into memory. */
export interface Passwords {
  readonly hash: (password: Password) => Effect.Effect<string, Overloaded>
  /** Takes as long without a hash, so that the time does not tell whether there is an account. */
  readonly verify: (password: Password, hash: Option.Option<string>) => Effect.Effect<boolean, Overloaded>
  readonly isOutdated: (hash: string) => boolean
}

export const makePasswords = (hasher: PasswordHasher["Service"]): Passwords => {
  const permits = Semaphore.makeUnsafe(atOnce)
  let inside = 0

  const bounded = <A>(work: Effect.Effect<A>): Effect.Effect<A, Overloaded> =>
    Effect.suspend(() => {
      if (inside >= atOnce + waitingMost) return new Overloaded()
      inside++
      return Effect.ensuring(
        permits.withPermits(1)(work),
        Effect.sync(() => {
          inside--
        })
      )
    })

  return {
    hash: (password) => bounded(hasher.hash(normal(password))),
    verify: (password, hash) => {
      const typed = normal(password)
      return Option.isNone(hash) || isTooLong(typed)
        ? Effect.as(bounded(hasher.verify(nothing, hasher.decoy)), false)
        : bounded(hasher.verify(typed, hash.value))
    },
    isOutdated: hasher.isOutdated
  }
}
