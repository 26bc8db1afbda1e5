import { Effect, Redacted, Result, Semaphore } from "effect"
import { regionOf } from "../ports/Limiter.ts"
import type { PasswordHasher } from "../ports/PasswordHasher.ts"
import { Overloaded } from "../rules/Refusal.ts"
import { AccountRefusal, type Email, passwordBytes } from "./Account.ts"

export type Password = Redacted.Redacted<string>

/** Each hash holds 19 MiB while it runs. */
const atOnce = 4
/** Of them, strangers have at most this many, and so have known people: one is always left for the others. */
const atOnceOfOnes = 3
/** Waiting in either queue: a few seconds of work; more are refused. */
const waitingMost = 128
/** Running and waiting for strangers of one network, or of one IPv6 /48. */
const strangersOfOne = 8

/**
 * Who waits for a hash: a person who has been here, by a device that signed in before, a session or a command; or a
 * stranger, of a network if the runtime knows the peer.
 */
export type Waiting = "known" | { readonly network: string | undefined }

const utf8 = new TextEncoder()

/** NIST SP 800-63B §3.1.1.2: the same letters from any keyboard are the same password. */
const normal = (password: Password): Password =>
  Redacted.make(Redacted.value(password).normalize("NFKC"), { label: "password" })

const isTooLong = (password: Password): boolean => utf8.encode(Redacted.value(password)).length > passwordBytes

/** Hashed in place of a password that cannot be right, so that the time taken tells nothing. */
const nothing: Password = Redacted.make("nothing", { label: "password" })

/** What fingers run along: the alphabet, the digits, and the rows and columns of keyboards. */
const runs = [
  "abcdefghijklmnopqrstuvwxyz",
  "0123456789012345678901234567890",
  "qwertyuiopasdfghjklzxcvbnm",
  "qwertzuiopasdfghjklyxcvbnm",
  "azertyuiopqsdfghjklmwxcvbn",
  "qazwsxedcrfvtgbyhnujmikolp"
].flatMap((run) => [run, [...run].toReversed().join("")])

const isRun = (text: string): boolean => runs.some((run) => run.includes(text))

const commonWord =
  /^(?:admin|administrator|changeme|dragon|football|iloveyou|letmein|master|monkey|pa?sswo?r[dt]|princess|qwerty|qwertz|secret|shadow|sunshine|superman|test|welcome)+$/

/** Whether up to three characters come again and again, but for two at the end. */
const isRepeated = (text: string): boolean => {
  const all = [...text]
  return [1, 2, 3].some((length) => {
    const parted = all.findIndex((one, at) => at >= length && one !== all[at - length])
    const times = Math.floor((parted === -1 ? all.length : parted) / length)
    return times > 1 && all.length - times * length <= 2
  })
}

/**
 * NIST SP 800-63B §3.1.1.2: none of those that are guessed first, within the few guesses that a throttle leaves. Without a
 * list of them: runs and common words, with some digits and signs around or in between.
 */
const isPlain = (text: string): boolean => {
  const plain = text.trim().toLowerCase()
  if (plain === "" || isRepeated(plain)) return true
  const letters = plain.replace(/\P{L}/gu, "")
  const digits = plain.replace(/\D/g, "")
  if (plain.length - letters.length - digits.length > 4) return false
  return (isRun(letters) || commonWord.test(letters)) && (digits.length <= 4 || isRun(digits))
}

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
  readonly hash: (password: Password, who: Waiting) => Effect.Effect<string, Overloaded>
  /** Takes as long without a hash, so that the time does not tell whether there is an account. */
  readonly verify: (password: Password, hash: string | undefined, who: Waiting) => Effect.Effect<boolean, Overloaded>
  readonly isOutdated: (hash: string) => boolean
}

/** Those who wait, and those who are served: at most so many in all. */
interface Queue {
  readonly permits: Semaphore.Semaphore
  inside: number
}

const emptyQueue = (): Queue => ({ permits: Semaphore.makeUnsafe(atOnceOfOnes), inside: 0 })

export const makePasswords = (hasher: PasswordHasher["Service"]): Passwords => {
  const permits = Semaphore.makeUnsafe(atOnce)
  const known = emptyQueue()
  const strangers = emptyQueue()
  /** By network. No more rows than there is room for in the queue of strangers, and none without a network. */
  const ofOne = new Map<string | undefined, number>()

  const bounded = <A>(work: Effect.Effect<A>, who: Waiting): Effect.Effect<A, Overloaded> =>
    Effect.suspend(() => {
      const [queue, network] = who === "known" ? [known] : [strangers, who.network]
      if (queue.inside >= atOnceOfOnes + waitingMost) return new Overloaded()
      const one = network === undefined ? undefined : (regionOf(network) ?? network)
      const inside = ofOne.get(one) ?? 0
      if (inside >= strangersOfOne) return new Overloaded()
      queue.inside++
      if (one !== undefined) ofOne.set(one, inside + 1)
      return Effect.ensuring(
        // The queue's own first, so that no caller holds what others could use.
        queue.permits.withPermits(1)(permits.withPermits(1)(work)),
        Effect.sync(() => {
          queue.inside--
          const left = (ofOne.get(one) ?? 1) - 1
          if (left === 0) ofOne.delete(one)
          else ofOne.set(one, left)
        })
      )
    })

  return {
    hash: (password, who) => bounded(hasher.hash(normal(password)), who),
    verify: (password, hash, who) => {
      const typed = normal(password)
      return hash === undefined || isTooLong(typed)
        ? Effect.as(bounded(hasher.verify(nothing, hasher.decoy), who), false)
        : bounded(hasher.verify(typed, hash), who)
    },
    isOutdated: hasher.isOutdated
  }
}
