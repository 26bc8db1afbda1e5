import type { ClientId, GrantId, PlaceId, UserId } from "../rules/Id.ts"
import { type Instant, later, type Millis } from "../rules/Instant.ts"
import type { CodeChallenge } from "../rules/Pkce.ts"
import type { Policy } from "../rules/Policy.ts"
import type { RedirectTarget } from "../rules/RedirectUri.ts"
import type { Resources } from "../rules/Resource.ts"
import type { Scopes } from "../rules/Scope.ts"
import type { CodeToken } from "../token/Token.ts"
import type { Authentication } from "./Authentication.ts"
import type { Binding } from "./Binding.ts"
import { answer, answerAndKeep, type Decision } from "./Decision.ts"
import { type Consent, consentOf, type Grant, type Pending, placeOf } from "./Grant.ts"
import { revoked } from "./revoke.ts"

/** An authorization request that a person said yes to. */
export interface Approved {
  readonly client: ClientId
  readonly user: UserId
  /** Left out where a device fetches what was approved (RFC 8628), until `fetchedBy`. */
  readonly redirectUri?: RedirectTarget
  readonly fetchedBy?: Instant
  readonly challenge: CodeChallenge | null
  /** RFC 9449 §10: what the code is bound to; left out where the request named no key. */
  readonly binding?: Binding
  readonly scope: Scopes
  readonly resources: Resources | null
  readonly place?: PlaceId
  /** The longest life of its code, where the client's profile says one. */
  readonly codeTtl?: Millis | null
  /** What its request asked about the sign-in, and is to be told. */
  readonly authentication?: Authentication
  readonly consent?: Consent
}

/** RFC 6749 §4.1.2: an approved request becomes a grant with a code out. */
export const begin = (approved: Approved, id: GrantId, policy: Policy, now: Instant): Pending => ({
  _tag: "Pending",
  id,
  client: approved.client,
  subject: { _tag: "User", id: approved.user },
  scope: approved.scope,
  resources: approved.resources,
  ...placeOf(approved),
  ...consentOf(approved),
  ...(approved.redirectUri === undefined ? {} : { redirectUri: approved.redirectUri }),
  challenge: approved.challenge,
  ...(approved.binding === undefined ? {} : { binding: approved.binding }),
  createdAt: now,
  codeExpiresAt: approved.fetchedBy ?? later(now, Math.min(policy.codeTtl, approved.codeTtl ?? policy.codeTtl)),
  ...(approved.authentication === undefined ? {} : { authentication: approved.authentication })
})

export const codeOf = (grant: Pending): CodeToken => ({
  kind: "code",
  grant: grant.id,
  expiresAt: grant.codeExpiresAt
})

/**
 * The person takes an approval back: its grant ends, if no client has its tokens yet. A grant that is not there is about
 * to begin at best, and is kept as one that ended, so that it does not.
 */
export const withdraw = (
  found: Grant | undefined,
  approved: Approved,
  id: GrantId,
  policy: Policy,
  now: Instant
): Decision<"withdrawn" | "was_over" | "used", never> => {
  if (found === undefined) {
    return answerAndKeep(revoked(begin(approved, id, policy, now), "by_user", policy, now), "was_over")
  }
  if (found._tag === "Revoked") return answer("was_over")
  return found._tag === "Pending" ? answerAndKeep(revoked(found, "by_user", policy, now), "withdrawn") : answer("used")
}
