import { Schema } from "effect"
import { day, hour, minute, second } from "./Instant.ts"
import { Algorithm } from "./Jwk.ts"
import { ScopeRegistry, standardScopes } from "./Scope.ts"

const Millis = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** What clients can be held to. A row of `client/Profile.ts` says what each asks. */
export const ProfileName = Schema.Literals(["standard", "fapi2"])
export type ProfileName = typeof ProfileName.Type

/** What a server decides for itself where the protocol leaves a choice; times in milliseconds. */
export const Policy = Schema.Struct({
  codeTtl: Millis,
  accessTtl: Millis,
  /** How long a refresh token lives unused … */
  refreshIdleTtl: Millis,
  /** … and how long a grant can be refreshed in all. */
  refreshMaxTtl: Millis,
  /** How long a spent refresh token still gets the same successor; 0 means it never does. */
  refreshGrace: Millis,
  /** RFC 9126 §2.2: how long a browser may take to come with a request that was pushed. */
  pushedTtl: Millis,
  /** RFC 8628: whether programs without a browser may ask; and how long their codes count. */
  devices: Schema.Boolean,
  deviceTtl: Millis,
  /** How long a person may take over the consent page. */
  consentTtl: Millis,
  /** After this long a client that no person ever let in is forgotten, if it is not used. */
  unusedClientTtl: Millis,
  /** How many clients a workspace keeps that registered themselves and that no person ever let in. */
  maxUnprovenClients: Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)),
  /**
   * When a registration becomes a record: at once, or with the first person's consent, an owner's answer, or the first
   * token that the client gets for itself. Until then its id, which is longer, holds all of it.
   */
  registrationRows: Schema.Literals(["at_once", "at_consent"]),
  /**
   * How long another process may go on giving out tokens to a client that was changed or deleted here, or from a client's
   * own grant. They are worth nothing: every check of a token reads what was changed.
   */
  clientStaleness: Millis,
  /** Asked of confidential clients too, where it is only recommended. */
  requirePkce: Schema.Boolean,
  /** What every client is held to at least. */
  profile: ProfileName,
  /** RFC 9126 §5: no client may ask by a browser what it did not push before. */
  requirePush: Schema.Boolean,
  /**
   * Which clients may act for the workspace itself: all that `registered` for it; of those, the ones that an owner
   * `approved`; or none but an `owner`'s own, which always may.
   */
  workspaceAccess: Schema.Literals(["registered", "approved", "owner"]),
  /** Whether a person is asked every time, or a live grant answers for the same again (`request/rememberedConsent.ts`). */
  consent: Schema.Literals(["ask", "remember"]),
  /** Signs access tokens that are JWTs: ES256 makes short signatures quickly, and some APIs read RS256 alone. */
  jwtAlgorithm: Algorithm,
  /** RFC 9449: whether tokens may be bound to a key of their client, or all have to be. */
  dpop: Schema.Literals(["optional", "required"]),
  /** RFC 9449 §8, §9: where proofs have to hold a nonce of the server's: nowhere, at its endpoints, at resources too. */
  dpopNonce: Schema.Literals(["off", "auth", "all"]),
  scopes: ScopeRegistry
})
export type Policy = typeof Policy.Type

export const standardPolicy: Policy = {
  codeTtl: 60 * second,
  accessTtl: hour,
  refreshIdleTtl: 30 * day,
  refreshMaxTtl: 180 * day,
  refreshGrace: 60 * second,
  pushedTtl: 60 * second,
  devices: true,
  deviceTtl: 10 * minute,
  consentTtl: 15 * minute,
  unusedClientTtl: 30 * day,
  maxUnprovenClients: 100_000,
  registrationRows: "at_once",
  clientStaleness: 5 * second,
  requirePkce: false,
  profile: "standard",
  requirePush: false,
  workspaceAccess: "owner",
  consent: "ask",
  jwtAlgorithm: "ES256",
  dpop: "optional",
  dpopNonce: "off",
  scopes: standardScopes
}
