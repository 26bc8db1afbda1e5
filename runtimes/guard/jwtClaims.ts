import { Result, Schema } from "effect"
import type { UnverifiedJws } from "../../core/codec/Jws.ts"
import { Binding } from "../../core/grant/Binding.ts"
import { actorsIn, jwtType } from "../../core/grant/jwtAccessToken.ts"
import { type Algorithm, isAlgorithm } from "../../core/rules/Jwk.ts"
import { InvalidToken } from "../../core/rules/Refusal.ts"
import { covers } from "../../core/rules/Resource.ts"
import { namesIn } from "../../core/rules/Scope.ts"
import type { UserCaller, WorkspaceCaller } from "./Check.ts"

/** What tokens say of who bears them, in a JWT and in an answer of introspection alike. */
export const toldOfCaller = {
  implied_scope: Schema.optionalKey(Schema.String),
  act: Schema.optionalKey(Schema.Unknown),
  /** RFC 9449 §6. What is bound to anything else is not taken. */
  cnf: Schema.optionalKey(Schema.Struct({ jkt: Binding.fields.thumbprint })),
  place: Schema.optionalKey(Schema.String),
  /** RFC 9470 §6: of the person's sign-in. */
  auth_time: Schema.optionalKey(Schema.Finite),
  acr: Schema.optionalKey(Schema.String)
}

type ToldOfCaller = Schema.Schema.Type<Schema.Struct<typeof toldOfCaller>>

export const bindingOf = ({ cnf }: ToldOfCaller): Binding | null => (cnf === undefined ? null : { thumbprint: cnf.jkt })

/** An application, for a person or for itself. */
export const applicationOf = (
  told: ToldOfCaller & { readonly principal: "User" | "Workspace"; readonly sub: string },
  common: Omit<WorkspaceCaller, "_tag">
): UserCaller | WorkspaceCaller => {
  const { acr, act, auth_time: at, place, principal, sub } = told
  return principal === "User"
    ? {
        _tag: "User",
        user: sub,
        ...(place === undefined ? {} : { place }),
        ...(at === undefined ? {} : { authenticatedAt: at * 1000 }),
        ...(acr === undefined ? {} : { acr }),
        ...actorsIn(act),
        ...common
      }
    : { _tag: "Workspace", ...common }
}

/** RFC 9068 §2.2, and the words of introspection by which Tessera tells who calls. */
const Claims = Schema.Struct({
  iss: Schema.String,
  sub: Schema.NonEmptyString,
  aud: Schema.Union([Schema.String, Schema.NonEmptyArray(Schema.String)]),
  client_id: Schema.NonEmptyString,
  exp: Schema.Finite,
  iat: Schema.Finite,
  nbf: Schema.optionalKey(Schema.Finite),
  jti: Schema.NonEmptyString,
  scope: Schema.String,
  principal: Schema.Literals(["User", "Workspace"]),
  ...toldOfCaller,
  grant: Schema.NonEmptyString
})

const read = Schema.decodeUnknownResult(Claims)

/** RFC 9068 §4. */
const types: ReadonlyArray<unknown> = [jwtType, `application/${jwtType}`]

export interface Expected {
  readonly issuer: string
  /** Without a slash at the end. */
  readonly resource: string
  readonly algorithms: ReadonlyArray<Algorithm>
  readonly leeway: number
  readonly now: number
}

/** What a token says, which nothing but its signature is left to make true. */
export interface Said {
  readonly kid: string
  readonly caller: UserCaller | WorkspaceCaller
  /** What the caller's scopes imply beyond themselves. */
  readonly implied: ReadonlyArray<string>
  /** The key that it is bound to; `null`: it is a bearer token. */
  readonly binding: Binding | null
}

const refuse = (reason: InvalidToken["reason"]) => Result.fail(new InvalidToken({ reason }))

/** Whether an audience has anything to do with this resource server: all of the API, a part of it, or more than it. */
const isForHere = (audience: string, { resource }: Expected): boolean =>
  covers([audience], resource) || covers([resource], audience)

/** Where no resource is listed, a token has to be for something, and is for the issuer: that is all that is the issuer's. */
const isForAll = (audiences: ReadonlyArray<string>, issuer: string): boolean =>
  audiences.length === 1 && audiences[0] === issuer

/** RFC 9068 §4: all that can be said of a token without its signature. Whatever fails here leads to no fetch. */
export const readSaid = ({ claims, header }: UnverifiedJws, expected: Expected): Result.Result<Said, InvalidToken> => {
  const { alg, kid, typ } = header
  if (!types.includes(typ)) return refuse("wrong_kind")
  if (!isAlgorithm(alg) || !expected.algorithms.includes(alg) || typeof kid !== "string") return refuse("malformed")
  const decoded = read(claims)
  if (Result.isFailure(decoded)) return refuse("malformed")
  const { aud, client_id: client, exp, grant, iat, iss, nbf = iat, scope } = decoded.success
  const { issuer, leeway, now } = expected
  if (iss !== issuer) return refuse("unknown")
  const audiences = typeof aud === "string" ? [aud] : aud
  const isAll = isForAll(audiences, issuer)
  if (!isAll && !audiences.some((audience) => isForHere(audience, expected))) return refuse("other_resource")
  const expiresAt = exp * 1000
  if (expiresAt + leeway <= now) return refuse("expired")
  if (iat * 1000 > now + leeway || nbf * 1000 > now + leeway) return refuse("malformed")
  const common = {
    client,
    issuer,
    grant,
    expiresAt,
    scope: namesIn(scope),
    resources: isAll ? null : [...audiences]
  }
  return Result.succeed({
    kid,
    implied: namesIn(decoded.success.implied_scope ?? ""),
    binding: bindingOf(decoded.success),
    caller: applicationOf(decoded.success, common)
  })
}
