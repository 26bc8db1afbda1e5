import { Result, Schema } from "effect"
import type { UnverifiedJws } from "../../core/codec/Jws.ts"
import { Binding } from "../../core/grant/Binding.ts"
import { actorsIn, jwtType } from "../../core/grant/jwtAccessToken.ts"
import { type Algorithm, isAlgorithm } from "../../core/rules/Jwk.ts"
import { InvalidToken } from "../../core/rules/Refusal.ts"
import { covers } from "../../core/rules/Resource.ts"
import { namesIn } from "../../core/rules/Scope.ts"
import type { Caller } from "./Check.ts"

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
  implied_scope: Schema.optionalKey(Schema.String),
  act: Schema.optionalKey(Schema.Unknown),
  /** RFC 9449 §6.1. What is bound to anything else is not taken. */
  cnf: Schema.optionalKey(Schema.Struct({ jkt: Binding.fields.thumbprint })),
  principal: Schema.Literals(["User", "Workspace"]),
  place: Schema.optionalKey(Schema.String),
  auth_time: Schema.optionalKey(Schema.Finite),
  acr: Schema.optionalKey(Schema.String),
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
  readonly caller: Exclude<Caller, { readonly _tag: "ApiKey" }>
  /** What the caller's scopes imply beyond themselves. */
  readonly implied: ReadonlyArray<string>
  /** The key that it is bound to; `null`: it is a bearer token. */
  readonly binding: Binding | null
}

/** RFC 9470 §6: what a token tells of its person's sign-in. */
export const signInIn = ({ acr, auth_time: at }: { readonly acr?: string; readonly auth_time?: number }) => ({
  ...(at === undefined ? {} : { authenticatedAt: at * 1000 }),
  ...(acr === undefined ? {} : { acr })
})

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
  const {
    act,
    aud,
    client_id: client,
    cnf,
    exp,
    grant,
    iat,
    iss,
    nbf = iat,
    place,
    principal,
    scope,
    sub
  } = decoded.success
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
    binding: cnf === undefined ? null : { thumbprint: cnf.jkt },
    caller:
      principal === "User"
        ? {
            _tag: "User",
            user: sub,
            ...(place === undefined ? {} : { place }),
            ...signInIn(decoded.success),
            ...actorsIn(act),
            ...common
          }
        : { _tag: "Workspace", ...common }
  })
}
