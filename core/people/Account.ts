import { Schema } from "effect"
import { base64Url } from "../codec/Base64Url.ts"
import type { RecordKind } from "../engine/Records.ts"
import { sessionLife } from "../grant/Grant.ts"
import { PlaceId, UserId } from "../rules/Id.ts"
import { day, Instant, later, type Millis } from "../rules/Instant.ts"
import { ScopeName } from "../rules/Scope.ts"
import { Digest, digestOf } from "../rules/Secret.ts"

/** RFC 5321 §4.5.3.1.3: a path of 256 octets, less the brackets. */
export const emailLength = 254

export const personNameLength = 100

/** In bytes: longer than any passphrase, and short enough that its length does not slow the hash. */
export const passwordBytes = 1024

/** An email address in the normal form in which it is stored and compared. */
export const Email = Schema.String.pipe(Schema.brand("Email"))
export type Email = typeof Email.Type

/** No invisible character: two addresses that look the same must be the same. */
const form = /^[^\s@\p{C}\p{DI}]+@[^\s@\p{C}\p{DI}]+$/u

/**
 * NFKC, lower case, NFKC again because lower case can undo it, and trimmed: the same letters from
 * another keyboard are the same address. Whether mail arrives there is not checked.
 */
export const normaliseEmail = (text: string): Email | undefined => {
  const normal = text.normalize("NFKC").toLowerCase().normalize("NFKC").trim()
  // The check above is what the brand `Email` stands for.
  return normal.length <= emailLength && form.test(normal) ? (normal as Email) : undefined
}

/** The key of a login: a digest, so that keys in the store contain no email address. */
export const loginIdOf = (email: Email): Digest => digestOf(email)

/** The settings of an installation about its accounts. */
export interface AccountPolicy {
  /** A session ends this long after sign-in, even if it is in use. */
  readonly sessionTtl: Millis
  readonly invitationTtl: Millis
  readonly setUpTtl: Millis
  /** Least characters of a password. NIST SP 800-63B §3.1.1.2: at least eight, no composition rules. */
  readonly passwordLength: number
}

export const standardAccountPolicy: AccountPolicy = {
  sessionTtl: sessionLife,
  invitationTtl: 7 * day,
  setUpTtl: day,
  passwordLength: 10
}

/** The reason why a change of an account was refused. `accountProblems.ts` has the words for people. */
export class AccountRefusal extends Schema.TaggedError<AccountRefusal>()("AccountRefusal", {
  reason: Schema.Literals([
    "email_malformed",
    "email_taken",
    "email_not_invited",
    "email_spoken_for",
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

/** Where a person may let applications act, as owners say: `UserPlace` of the port. */
export const Membership = Schema.Struct({
  id: PlaceId,
  label: Schema.NonEmptyString,
  detail: Schema.optionalKey(Schema.NonEmptyString),
  scopes: Schema.optionalKey(Schema.Array(ScopeName))
})
export type Membership = typeof Membership.Type

const person = {
  id: UserId,
  email: Email,
  name: Schema.NullOr(Schema.NonEmptyString),
  role: Role,
  /** A PHC string. */
  password: Schema.String,
  /** Grows by one with each change of the password: sessions of an earlier epoch have ended. */
  epoch: Schema.Int,
  /** The password changed, and sessions of earlier epochs may still be there, with applications to be told of their end. */
  endsSessions: Schema.optionalKey(Schema.Literal(true)),
  /** Without any, the person is asked for none, and grants have none. */
  places: Schema.optionalKey(Schema.Array(Membership)),
  /** Places that were taken away a short while ago: what applications had there is ended again until none can be new. */
  leftPlaces: Schema.optionalKey(Schema.Array(Schema.Struct({ id: PlaceId, since: Instant }))),
  createdAt: Instant,
  signedInAt: Schema.NullOr(Instant)
}

/**
 * An account: `Reserved` → `Active` → `Leaving` → `Gone`. The id is reserved before the login is claimed, so that one
 * of several simultaneous requests wins, and stays taken after `Gone`, so that it never names another person.
 */
export const Account = Schema.TaggedUnion({
  Reserved: { id: UserId, attempt: Schema.String, until: Instant },
  Active: person,
  Leaving: { ...person, since: Instant },
  Gone: { id: UserId, at: Instant }
})
export type Account = typeof Account.Type
export type Active = typeof Account.cases.Active.Type

/** The account, if its person may sign in. */
export const activeOf = (account: Account | undefined): Active | undefined =>
  account?._tag === "Active" ? account : undefined

export type Leaving = typeof Account.cases.Leaving.Type

/** Longer than any request that opens an account can take. */
export const reservedFor = day
/** Longer than the life of any token that was issued to the account. */
const goneKept = 400 * day

/** The owner of the one list in which all accounts of a workspace stand. */
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

/** The account that an email signs in to. Valid only while that account has this email. */
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

// Holds: sixteen bytes are 22 characters of base64url, which is what `UserId` checks.
export const userIdOf = (bytes: Uint8Array): UserId => base64Url(bytes) as UserId
