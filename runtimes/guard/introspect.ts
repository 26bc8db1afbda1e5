import { Effect, Redacted, Schema } from "effect"
import { parseJson } from "../../core/codec/Json.ts"
import type { Binding } from "../../core/grant/Binding.ts"
import { apiKey } from "../../core/oauth/presented/apiKey.ts"
import { presentations } from "../../core/oauth/presented/table.ts"
import { namesIn } from "../../core/rules/Scope.ts"
import { askServer, type Fetch } from "./asking.ts"
import type { Caller } from "./Check.ts"
import { applicationOf, bindingOf, toldOfCaller } from "./jwtClaims.ts"
import type { IntrospectionFailure, Read } from "./RemoteGuardOptions.ts"

/** What the authorization server says of a token. */
export interface Answer {
  /** `undefined`: good for nothing here. */
  readonly caller: Caller | undefined
  /** What the caller's scopes imply beyond themselves. */
  readonly implied: ReadonlyArray<string>
  /** The key that the token is bound to; `null`: it is a bearer token. */
  readonly binding: Binding | null
  /** The longest that the answer may be kept, in milliseconds, where the server says so. */
  readonly maxAge: number | undefined
}

/** RFC 7662 §2.2; `principal`, by which Tessera tells the three kinds of caller apart, and `grant`, what it calls them. */
const Active = Schema.Struct({
  active: Schema.Literal(true),
  iss: Schema.optionalKey(Schema.String),
  sub: Schema.String,
  client_id: Schema.optionalKey(Schema.String),
  scope: Schema.optionalKey(Schema.String),
  token_type: Schema.optionalKey(Schema.String),
  exp: Schema.optionalKey(Schema.Finite),
  aud: Schema.optionalKey(Schema.Union([Schema.String, Schema.Array(Schema.String)])),
  principal: Schema.Literals(["User", "Workspace", "ApiKey"]),
  ...toldOfCaller,
  grant: Schema.String
})
type Active = typeof Active.Type

const Inactive = Schema.Struct({ active: Schema.Literal(false) })

const decode = Schema.decodeUnknownOption(Schema.Union([Inactive, Active]))

/** Whether what is bound so is shown by the scheme that its type names. A key is, as a token that is bound to nothing. */
const isShownSo = (type: string | undefined, binding: Binding | null): boolean =>
  type !== undefined &&
  presentations.some(({ carries, scheme }) => scheme.toLowerCase() === type.toLowerCase() && carries(binding))

const callerOf = (issuer: string, active: Active): Caller | undefined => {
  // A refresh token is live, and not for bearing: it has no type. Tokens of another issuer are not ours to take.
  if (!isShownSo(active.token_type, bindingOf(active))) return undefined
  if (active.iss !== undefined && active.iss !== issuer) return undefined
  const audience = typeof active.aud === "string" ? [active.aud] : active.aud
  // Told so, it is for nothing.
  if (audience?.length === 0) return undefined
  const common = {
    issuer,
    grant: active.grant,
    scope: namesIn(active.scope ?? ""),
    resources: audience ?? null
  }
  const { client_id: client, exp } = active
  const expiresAt = exp === undefined ? null : exp * 1000
  if (active.principal === "ApiKey") return { _tag: "ApiKey", expiresAt, ...common }
  if (client === undefined || expiresAt === null) return undefined
  return applicationOf({ ...active, principal: active.principal }, { client, expiresAt, ...common })
}

/** RFC 9111 §5.2.2.1. `no-store` speaks to caches on the way, and Tessera always says it. */
const maxAgeOf = (response: Response): number | undefined => {
  const seconds = /(?:^|[\s,])max-age=(\d{1,9})(?:$|[\s,])/i.exec(response.headers.get("cache-control") ?? "")?.[1]
  return seconds === undefined ? undefined : Number(seconds) * 1000
}

/** RFC 7662 §2.1: one question. */
export const introspect = (
  options: Pick<Read, "apiKey" | "endpoint" | "issuer" | "timeout">,
  fetch: Fetch,
  token: string
): Effect.Effect<Answer, IntrospectionFailure> => {
  const { apiKey: key, endpoint, issuer, timeout } = options
  const asked = askServer({ fetch, timeout }, endpoint, {
    method: "POST",
    headers: {
      accept: "application/json",
      authorization: `${apiKey.scheme} ${Redacted.value(key)}`,
      "content-type": "application/x-www-form-urlencoded"
    },
    body: new URLSearchParams({ token, token_type_hint: "access_token" }).toString()
  })
  return Effect.flatMap(asked, ({ response, text }): Effect.Effect<Answer, IntrospectionFailure> => {
    const decoded = decode(parseJson(text))
    if (decoded._tag === "None") return Effect.fail({ _tag: "Unreadable" })
    const answer = decoded.value
    const caller = answer.active ? callerOf(issuer, answer) : undefined
    const implied = answer.active ? namesIn(answer.implied_scope ?? "") : []
    const binding = answer.active ? bindingOf(answer) : null
    return Effect.succeed({ caller, implied, binding, maxAge: maxAgeOf(response) })
  })
}
