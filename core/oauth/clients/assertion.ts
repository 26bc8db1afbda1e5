import { Result } from "effect"
import type { ClientIdentifier } from "../../client/ClientIdentifier.ts"
import type { Members } from "../../codec/Json.ts"
import { mediaTypeIn, millisIn } from "../../codec/Jws.ts"
import { type Instant, later, leeway, minute } from "../../rules/Instant.ts"

/** RFC 7523 §2.2. */
export const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

/** From here to its end. The server remembers each for as long. */
const longestLife = 5 * minute

const longestJti = 256

export interface Expected {
  readonly client: ClientIdentifier
  /** Those that may stand as the audience, each alone. */
  readonly audiences: ReadonlyArray<string>
  readonly now: Instant
}

/** An assertion that is good, once. */
interface GoodAssertion {
  readonly jti: string
  /** From then on it is refused for its age, so that it need not be remembered. */
  readonly until: Instant
}

type AssertionFault =
  | "assertion_type"
  | "assertion_subject"
  | "assertion_audience"
  | "assertion_expired"
  | "assertion_too_long_lived"
  | "assertion_from_the_future"
  | "assertion_without_id"

const isThere = (claims: Members, name: string): boolean => claims[name] !== undefined

/** draft-ietf-oauth-rfc7523bis §4: it may have a type of its own. A JWT of any other type is made for something else. */
const types: ReadonlyArray<unknown> = [undefined, "jwt", "client-authentication+jwt"]

/** RFC 7523 §3, with the audience of its 2025 revision: what an assertion has to say whose signature holds. */
export const checkAssertion = (
  header: Members,
  claims: Members,
  { audiences, client, now }: Expected
): Result.Result<GoodAssertion, AssertionFault> => {
  if (!types.includes(mediaTypeIn(header))) return Result.fail("assertion_type")
  if (claims.iss !== client || claims.sub !== client) return Result.fail("assertion_subject")
  // An array would let another server that stands in it use the assertion here.
  if (typeof claims.aud !== "string" || !audiences.includes(claims.aud)) return Result.fail("assertion_audience")
  const expiresAt = millisIn(claims, "exp")
  if (expiresAt === undefined || expiresAt + leeway <= now) return Result.fail("assertion_expired")
  if (expiresAt > now + longestLife + leeway) return Result.fail("assertion_too_long_lived")
  for (const name of ["iat", "nbf"]) {
    const at = millisIn(claims, name)
    if (isThere(claims, name) && (at === undefined || at > now + leeway))
      return Result.fail("assertion_from_the_future")
  }
  const { jti } = claims
  if (typeof jti !== "string" || jti === "" || jti.length > longestJti) return Result.fail("assertion_without_id")
  return Result.succeed({ jti, until: later(now, Math.ceil(expiresAt - now) + leeway) })
}
