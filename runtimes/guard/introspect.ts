import { Effect, Redacted, Schema } from "effect"
import { parseJson } from "../../core/codec/Json.ts"
import { Binding } from "../../core/grant/Binding.ts"
import { actorsIn } from "../../core/grant/jwtAccessToken.ts"
import { apiKey } from "../../core/oauth/presented/apiKey.ts"
import { presentations } from "../../core/oauth/presented/table.ts"
import { namesIn } from "../../core/rules/Scope.ts"
import type { Caller } from "./Check.ts"
import { signInIn } from "./jwtClaims.ts"
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
  implied_scope: Schema.optionalKey(Schema.String),
  act: Schema.optionalKey(Schema.Unknown),
  /** RFC 9449 §6.2. What is bound to anything else is not taken. */
  cnf: Schema.optionalKey(Schema.Struct({ jkt: Binding.fields.thumbprint })),
  principal: Schema.Literals(["User", "Workspace", "ApiKey"]),
  place: Schema.optionalKey(Schema.String),
  auth_time: Schema.optionalKey(Schema.Finite),
  acr: Schema.optionalKey(Schema.String),
  grant: Schema.String
})
type Active = typeof Active.Type

const Inactive = Schema.Struct({ active: Schema.Literal(false) })

const decode = Schema.decodeUnknownOption(Schema.Union([Inactive, Active]))

/** How a token of this type is shown, and whether it is bound; of a key, that it is bound to nothing. */
const isShownSo = (type: string | undefined, binding: Binding | null): boolean =>
  type !== undefined &&
  presentations.some(
    ({ carries, scheme, shows }) =>
      scheme.toLowerCase() === type.toLowerCase() && (shows === "token" ? carries(binding) : binding === null)
  )

const bindingOf = ({ cnf }: Active): Binding | null => (cnf === undefined ? null : { thumbprint: cnf.jkt })

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
  const { client_id: client, exp, place, sub } = active
  if (active.principal === "ApiKey")
    return { _tag: "ApiKey", expiresAt: exp === undefined ? null : exp * 1000, ...common }
  if (client === undefined || exp === undefined) return undefined
  const expiresAt = exp * 1000
  return active.principal === "User"
    ? {
        _tag: "User",
        user: sub,
        ...(place === undefined ? {} : { place }),
        ...signInIn(active),
        client,
        expiresAt,
        ...actorsIn(active.act),
        ...common
      }
    : { _tag: "Workspace", client, expiresAt, ...common }
}

/** RFC 9111 §5.2.2.1. `no-store` speaks to caches on the way, and Tessera always says it. */
const maxAgeOf = (response: Response): number | undefined => {
  const seconds = /(?:^|[\s,])max-age=(\d{1,9})(?:$|[\s,])/i.exec(response.headers.get("cache-control") ?? "")?.[1]
  return seconds === undefined ? undefined : Number(seconds) * 1000
}

const unreachable = (cause: unknown): IntrospectionFailure => ({ _tag: "Unreachable", cause })

/** RFC 7662 §2.1: one question. */
export const introspect = (
  options: Pick<Read, "apiKey" | "endpoint" | "issuer" | "timeout">,
  ask: (url: string, init: RequestInit) => Promise<Response>,
  token: string
): Effect.Effect<Answer, IntrospectionFailure> =>
  Effect.tryPromise({
    try: async (signal) => {
      const response = await ask(options.endpoint, {
        method: "POST",
        headers: {
          accept: "application/json",
          authorization: `${apiKey.scheme} ${Redacted.value(options.apiKey)}`,
          "content-type": "application/x-www-form-urlencoded"
        },
        body: new URLSearchParams({ token, token_type_hint: "access_token" }).toString(),
        // Wherever it led, the token and the key have no business there.
        redirect: "manual",
        signal
      })
      return { response, text: await response.text() }
    },
    catch: unreachable
  }).pipe(
    Effect.timeoutOrElse({
      duration: options.timeout,
      orElse: () => Effect.fail<IntrospectionFailure>({ _tag: "TimedOut" })
    }),
    Effect.flatMap(({ response, text }): Effect.Effect<Answer, IntrospectionFailure> => {
      if (response.status !== 200) return Effect.fail({ _tag: "Status", status: response.status })
      const decoded = decode(parseJson(text))
      if (decoded._tag === "None") return Effect.fail({ _tag: "Unreadable" })
      const answer = decoded.value
      const caller = answer.active ? callerOf(options.issuer, answer) : undefined
      const implied = answer.active ? namesIn(answer.implied_scope ?? "") : []
      const binding = answer.active ? bindingOf(answer) : null
      return Effect.succeed({ caller, implied, binding, maxAge: maxAgeOf(response) })
    })
  )
