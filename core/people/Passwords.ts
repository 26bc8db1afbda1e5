import { Effect, Redacted, Result, Semaphore } from "effect"
import type { PasswordHasher } from "../ports/PasswordHasher.ts"
import { Overloaded } from "../rules/Refusal.ts"
import { AccountRefusal, type Email, passwordBytes } from "./Account.ts"

export type Password = Redacted.Redacted<string>

/** Each hash holds 19 MiB while it runs, so few run at once; more than a few seconds' worth of them is turned away. */
const atOnce = 4
const waitingMost = 128

const utf8 = new TextEncoder()

/** NIST SP 800-63B §3.1.1.2: the same letters by whatever keyboard. */
const normal = (password: Password): Password =>
  Redacted.make(Redacted.value(password).normalize("NFKC"), { label: "password" })

const isTooLong = (password: Password): boolean => utf8.encode(Redacted.value(password)).length > passwordBytes

/** Hashing takes as long whatever is hashed, and a flood of long passwords gains nothing. */
const nothing: Password = Redacted.make("nothing", { label: "password" })

const isPlain = (text: string): boolean => text.trim() === "" || new Set(text).size === 1

/** Whether it may become somebody's password. No rules of composition, and nothing that is as good as no secret. */
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
  const said = text.trim().toLowerCase()
  if (said === email || said === email.split("@")[0]) {
    return Result.fail(new AccountRefusal({ reason: "password_is_email" }))
  }
  return Result.succeed(fit)
}

/** The slow hash, as many at once as the memory bears. */
export interface Passwords {
  readonly hash: (password: Password) => Effect.Effect<string, Overloaded>
  /** Takes its time also where there is no hash to verify, so that nobody learns who has an account. */
  readonly verify: (password: Password, hash: string | undefined) => Effect.Effect<boolean, Overloaded>
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
      const hopeless = hash === undefined || isTooLong(typed)
      const fits = bounded(hasher.verify(hopeless ? nothing : typed, hopeless ? hasher.decoy : hash))
      return hopeless ? Effect.as(fits, false) : fits
    },
    isOutdated: hasher.isOutdated
  }
}
