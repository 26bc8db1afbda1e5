import { Option, Schema } from "effect"
import { base64Url } from "../codec/Base64Url.ts"
import type { RecordKind } from "../engine/Records.ts"
import { UserId } from "../rules/Id.ts"
import { Instant, later, type Millis } from "../rules/Instant.ts"
import { Digest, digestOf } from "../rules/Secret.ts"

/** What a form lets people type, and what is accepted of it, wherever it comes from. */

/** RFC 5321 §4.5.3.1.3: a path of 256 octets, less the brackets. */
export const emailLength = 254

export const personNameLength = 100

/** In bytes. Longer than any passphrase, and short enough that hashing it costs what hashing a short one does. */
export const passwordBytes = 1024

/** An address in the one form in which it is compared. */
export const Email = Schema.String.pipe(Schema.brand("Email"))
export type Email = typeof Email.Type

/** Nothing that is not seen: it would tell addresses apart that look the same. */
const form = /^[^\s@\p{C}\p{DI}]+@[^\s@\p{C}\p{DI}]+$/u

/**
 * Trimmed, in Unicode's NFKC, in lower case: the same letters typed on another keyboard are the same address. Whether
 * mail arrives there is never asked. NFKC comes again because lower case can leave it.
 */
export const normaliseEmail = (text: string): Option.Option<Email> => {
  const normal = text.normalize("NFKC").toLowerCase().normalize("NFKC").trim()
  // This is where the brand is given.
  return normal.length <= emailLength && form.test(normal) ? Option.some(normal as Email) : Option.none()
}

/** What a login is found by, so that the store's keys name nobody. */
export const loginIdOf = (email: Email): Digest => digestOf(email)

/** What an installation decides about its accounts. */
export interface AccountPolicy {
  /** From sign-in to sign-in, however busy the session is. */
  readonly sessionTtl: Millis
  readonly invitationTtl: Millis
  readonly setUpTtl: Millis
  /** The shortest password, in characters; NIST SP 800-63B §3.1.1.2 asks for eight or more and no rules of composition. */
  readonly passwordLength: number
}

const hour = 60 * 60 * 1000
const aDay = 24 * hour

export const standardAccountPolicy: AccountPolicy = {
  sessionTtl: 14 * aDay,
  invitationTtl: 7 * aDay,
  setUpTtl: aDay,
  passwordLength: 10
}

/** Why something about an account was not done: for the page or the command line that asked. */
export class AccountRefusal extends Schema.TaggedError<AccountRefusal>()("AccountRefusal", {
  reason: Schema.Literals([
    "email_malformed",
    "email_taken",
    "email_not_invited",
    "name_too_long",
    "password_too_short",
    "password_too_long",
    "password_too_plain",
    "password_is_email",
    "wrong_password",
    "link_spent",
    "last_owner",
    "oneself",
    "unknown"
  ])
}) {}

export const Role = Schema.Literals(["owner", "member"])
export type Role = typeof Role.Type

const person = {
  id: UserId,
  email: Email,
  name: Schema.NullOr(Schema.NonEmptyString),
  role: Role,
  /** A PHC string. */
  password: Schema.String,
  /** One more with every change of the password: sessions of an earlier epoch are over. */
  epoch: Schema.Int,
  createdAt: Instant,
  signedInAt: Schema.NullOr(Instant)
}

/**
 * Somebody who can sign in. `Reserved` → `Active` → `Leaving` → `Gone`: an id is reserved before its login is claimed,
 * so that of everybody who opens an account at once one wins; it stays taken after the person has left, so that it
 * never names somebody else.
 */
export const Account = Schema.TaggedUnion({
  Reserved: { id: UserId, attempt: Schema.String, until: Instant },
  Active: person,
  Leaving: { ...person, since: Instant },
  Gone: { id: UserId, at: Instant }
})
export type Account = typeof Account.Type
export type Active = typeof Account.cases.Active.Type
export type Leaving = typeof Account.cases.Leaving.Type

const day = 24 * 60 * 60 * 1000
/** Longer than any request to open an account could still be under way. */
export const reservedFor = day
/** Longer than anything that was ever issued to somebody who left could live. */
const goneKept = 400 * day

/** All accounts stand in one list, the workspace's. */
export const accountsOwner = "workspace"

const expiryOf = (account: Account): Instant | null => {
  switch (account._tag) {
    case "Reserved":
      return account.until
    case "Gone":
      return later(account.at, goneKept)
    default:
      return null
  }
}

export const accountKind: RecordKind<Account> = {
  kind: "account",
  schema: Account,
  version: 1,
  upcast: [],
  id: (account) => account.id,
  owner: () => accountsOwner,
  expiresAt: expiryOf
}

/** Which account an email signs in to. It counts only while that account says the same of it. */
const Login = Schema.Struct({ id: Digest, account: Schema.NullOr(UserId), vacatedAt: Schema.NullOr(Instant) })
type Login = typeof Login.Type

export const loginKind: RecordKind<Login> = {
  kind: "login",
  schema: Login,
  version: 1,
  upcast: [],
  id: (login) => login.id,
  owner: () => "logins",
  expiresAt: (login) => (login.vacatedAt === null ? null : later(login.vacatedAt, day))
}

// Sixteen bytes are 22 characters of base64url: a UserId.
export const userIdOf = (bytes: Uint8Array): UserId => base64Url(bytes) as UserId
