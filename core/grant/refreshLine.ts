import type { Instant } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import type { RefreshToken } from "../token/Token.ts"
import type { Active } from "./Grant.ts"

/** Where a refresh token stands in its grant's line. */
export type PlaceInLine = "current" | "retried" | "reused" | "ahead"

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
