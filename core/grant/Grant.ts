import { Schema } from "effect"
import { ClientId, GrantId, PlaceId, UserId } from "../rules/Id.ts"
import { day, hasPassed, Instant, later, type Millis } from "../rules/Instant.ts"
import { CodeChallenge } from "../rules/Pkce.ts"
import type { Policy } from "../rules/Policy.ts"
import { RedirectTarget } from "../rules/RedirectUri.ts"
import { Resources } from "../rules/Resource.ts"
import { Scopes } from "../rules/Scope.ts"
import { Digest } from "../rules/Secret.ts"
import { Asserter } from "../rules/TrustedIssuer.ts"
import type { RefreshToken } from "../token/Token.ts"
import { Authentication } from "./Authentication.ts"
import { Binding } from "./Binding.ts"
import { SenderMarks } from "./Sender.ts"

/** Who a grant speaks for. */
export const Subject = Schema.TaggedUnion({ User: { id: UserId }, Workspace: {} })
export type Subject = typeof Subject.Type

const Serial = Schema.String.check(Schema.isPattern(/^[0-9a-f]{16}$/))
const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff_ffff }))

/** The access tokens of a grant that live: those of its epoch, but for the few that were revoked one by one. */
export const AccessTokens = Schema.Struct({
  epoch: Count,
  revoked: Schema.Array(Schema.Struct({ serial: Serial, expiresAt: Instant }))
})
export type AccessTokens = typeof AccessTokens.Type

/** What a key opens: all of the API and introspection, its scopes alone, or introspection and nothing else. */
export const KeyUse = Schema.Literals(["everything", "scopes", "introspection"])
export type KeyUse = typeof KeyUse.Type

/** The one live refresh token of a grant, from which every earlier one is recognised too. */
const RefreshLine = Schema.Struct({
  generation: Count,
  issuedAt: Instant,
  expiresAt: Instant,
  /** The key that sealed it, so that a retry gets the same text after the ring has turned. */
  key: Schema.String,
  /** Who spent the one before, marked under that key; `null` where there was none, or an older release noted none. */
  rotatedBy: Schema.NullOr(SenderMarks),
  /** Whose line it is, beside a public client's; where it is not there, the line is bound to nothing. */
  binding: Schema.optionalKey(Binding),
  /** The first generation that is bound so; where it is not there, all are. */
  boundFrom: Schema.optionalKey(Count)
})

const born = {
  id: GrantId,
  scope: Scopes,
  /** What it is for; `null` is the whole workspace. */
  resources: Schema.NullOr(Resources),
  createdAt: Instant
}

/** When a person said yes on a page, and a digest of what it said of the client. */
export const Consent = Schema.Struct({ at: Instant, shown: Digest })
export type Consent = typeof Consent.Type

const allowed = {
  /** Where a person allowed it, of the places that they have: for life. Not there where the host knows no places. */
  place: Schema.optionalKey(PlaceId),
  /** Only where the server remembers it. A grant that a remembered one began has the yes of that one. */
  consent: Schema.optionalKey(Consent)
}

/**
 * What a subject allowed a client: one record with a version. A code grant goes `Pending` → `Active` → `Revoked`;
 * a client's workspace grant and what a trusted issuer asserted of a person (`Standing`), and an API key (`Key`) are born
 * live.
 */
export const Grant = Schema.TaggedUnion({
  Pending: {
    ...born,
    ...allowed,
    client: ClientId,
    subject: Subject,
    /** Of its code; not there where no code is out, and a device fetches it (RFC 8628). */
    redirectUri: Schema.optionalKey(RedirectTarget),
    challenge: Schema.NullOr(CodeChallenge),
    /** RFC 9449 §10: of its code, where the authorization request named a key. */
    binding: Schema.optionalKey(Binding),
    codeExpiresAt: Instant,
    /** Only where its request asked about the sign-in. */
    authentication: Schema.optionalKey(Authentication)
  },
  Active: {
    ...born,
    ...allowed,
    client: ClientId,
    subject: Subject,
    /** Of its code, by which a replay is told from a stolen code; `null` where it had none. */
    challenge: Schema.NullOr(CodeChallenge),
    access: AccessTokens,
    refresh: RefreshLine,
    /** When a refresh was last retried from another network than it came from at first. */
    retriedElsewhereAt: Schema.NullOr(Instant),
    /** From here on it cannot be refreshed any more, however busy it is. */
    endsAt: Instant,
    /** As its code had it, without the nonce: a refresh is no sign-in. */
    authentication: Schema.optionalKey(Authentication)
  },
  Standing: {
    ...born,
    place: allowed.place,
    client: ClientId,
    subject: Subject,
    access: AccessTokens,
    /** Of what a trusted issuer asserted: it is worth nothing once that is trusted no more. */
    asserted: Schema.optionalKey(Asserter),
    /** As long as its client is kept without being used, where that is not for good; it is made anew where it went first. */
    expiresAt: Schema.optionalKey(Instant)
  },
  Key: {
    ...born,
    subject: Subject,
    name: Schema.NonEmptyString,
    /** The first characters of the key, by which its owner knows it again. */
    hint: Schema.String,
    digest: Digest,
    use: KeyUse,
    expiresAt: Schema.NullOr(Instant)
  },
  Revoked: {
    ...born,
    place: allowed.place,
    client: Schema.NullOr(ClientId),
    subject: Subject,
    revokedAt: Instant,
    why: Schema.Literals(["code_replayed", "refresh_reused", "by_client", "by_user", "by_owner"]),
    /** By which its client still knows a session that is to end some time. */
    sid: Schema.optionalKey(Digest),
    /** Of one that a later assertion may begin anew: its access tokens of before stay dead. */
    epoch: Schema.optionalKey(Count),
    /** The latest that anything issued from it could have lived. */
    endsAt: Schema.NullOr(Instant)
  }
})
export type Grant = typeof Grant.Type
export type Pending = typeof Grant.cases.Pending.Type
export type Active = typeof Grant.cases.Active.Type
export type Standing = typeof Grant.cases.Standing.Type
export type Key = typeof Grant.cases.Key.Type
export type Revoked = typeof Grant.cases.Revoked.Type

/** Whose list a grant stands in: a person's connected apps, a client's own, or the workspace's keys. */
export const ownerOf = (grant: Grant): string => {
  if (grant.subject._tag === "User") return userGrants(grant.subject.id)
  const client = grant._tag === "Key" ? null : grant.client
  return client === null ? keyGrants : `client:${client}`
}
export const userGrants = (user: UserId): string => `user:${user}`
export const keyGrants = "keys"

/** From when on nothing that the grant has issued is good for anything, if it is not refreshed; `null`: never. */
export const endOf = (grant: Grant, accessTtl: Millis): Instant | null => {
  switch (grant._tag) {
    case "Pending":
      return grant.codeExpiresAt
    case "Active":
      return later(grant.refresh.expiresAt, accessTtl)
    case "Standing":
      return grant.expiresAt === undefined ? null : later(grant.expiresAt, accessTtl)
    case "Key":
      return grant.expiresAt
    case "Revoked":
      return grant.endsAt
  }
}

/** Whether no other grant ever has its id: a client's own, and what an issuer asserted, come again under theirs. */
export const isDrawn = ({ _tag }: Grant): boolean => _tag !== "Standing" && _tag !== "Revoked"

/** How much longer than it counts a record is kept, so that what comes late is still told apart. */
export const margin: Millis = day

/** The session that a client knows its person by, until that ends, whatever became of the tokens. */
export const sidIn = (grant: Grant): Digest | undefined => {
  if (grant._tag === "Revoked") return grant.sid
  return grant._tag === "Pending" || grant._tag === "Active" ? grant.authentication?.sid : undefined
}

/** So long a session of the built-in accounts lasts. */
export const sessionLife: Millis = 14 * day

/**
 * Kept by a margin longer than anything that it issued. One whose code was redeemed is also kept while the session lasts
 * that its ID token named: its client is told of the end (OpenID Connect Back-Channel Logout).
 */
export const recordExpiry = (grant: Grant, accessTtl: Millis): Instant | null => {
  const end = endOf(grant, accessTtl)
  if (end === null) return null
  const named = grant._tag === "Pending" || sidIn(grant) === undefined ? end : later(grant.createdAt, sessionLife)
  return later(named > end ? named : end, margin)
}

/** What connects an application with a person. */
export type Connected = Pending | Active | Standing

/** The place of a grant, as what is kept of it has it: a member, or none. */
export const placeOf = (of: { readonly place?: PlaceId }): { readonly place?: PlaceId } =>
  of.place === undefined ? {} : { place: of.place }

export const consentOf = (of: { readonly consent?: Consent }): { readonly consent?: Consent } =>
  of.consent === undefined ? {} : { consent: of.consent }

/** Whether anything that it issued, or may yet, could open a door. */
export const isConnected = (grant: Grant, policy: Policy, now: Instant): grant is Connected => {
  if (grant._tag === "Key" || grant._tag === "Revoked" || grant.subject._tag !== "User") return false
  const end = endOf(grant, policy.accessTtl)
  return end === null || !hasPassed(end, now)
}

/** Where a refresh token stands in its grant's line. */
type PlaceInLine = "current" | "retried" | "reused" | "ahead"

/**
 * RFC 9700 §4.14.2: a spent token that comes back is theft; but a client that lost an answer, or that has two tabs,
 * sends the token that it just spent once more, for a moment.
 */
export const placeInLine = (token: RefreshToken, grant: Active, policy: Policy, now: Instant): PlaceInLine => {
  const behind = grant.refresh.generation - token.generation
  if (behind === 0) return "current"
  if (behind < 0) return "ahead"
  // A clock that is behind makes no request early: without a grace there is none for it either.
  const since = Math.max(0, now - grant.refresh.issuedAt)
  return behind === 1 && since < policy.refreshGrace ? "retried" : "reused"
}
