import { Schema } from "effect"
import { base64Url } from "../rules/Base64Url.ts"
import { UserId } from "../rules/Id.ts"
import { Instant, later } from "../rules/Instant.ts"
import { Digest } from "../rules/Secret.ts"
import type { RecordKind } from "../server/Records.ts"
import { Email } from "./Email.ts"

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
export const Login = Schema.Struct({ id: Digest, account: Schema.NullOr(UserId), vacatedAt: Schema.NullOr(Instant) })
export type Login = typeof Login.Type

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
