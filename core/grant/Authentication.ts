import { Schema } from "effect"
import type { ClientId } from "../rules/Id.ts"
import { Instant } from "../rules/Instant.ts"
import { type Scopes, signsIn } from "../rules/Scope.ts"
import { Digest, digestOf } from "../rules/Secret.ts"
import type { Issuer } from "../workspace/Workspace.ts"

/** What an authorization request asks about the sign-in (OpenID Connect Core §3.1.2.1, RFC 9470 §4). */
export const AuthenticationAsked = Schema.Struct({
  nonce: Schema.optionalKey(Schema.String),
  /** In seconds: an older sign-in does not do. */
  maxAge: Schema.optionalKey(Schema.Int),
  /** Strengths, any of which does; the first is the dearest. */
  acr: Schema.optionalKey(Schema.Array(Schema.String)),
  /** Whether the request is to fail without one of them. */
  acrRequired: Schema.optionalKey(Schema.Boolean),
  /** Claims of the ID token. */
  claims: Schema.optionalKey(Schema.Array(Schema.String)),
  /** Who it has to be; of several, any of them. */
  sub: Schema.optionalKey(Schema.Union([Schema.String, Schema.Array(Schema.String)])),
  /** Who it may be, as the client knows them: an email, say. */
  loginHint: Schema.optionalKey(Schema.String),
  /** OpenID Connect Core §11: the client wants to act while its person is away. */
  offline: Schema.optionalKey(Schema.Literal(true))
})
export type AuthenticationAsked = typeof AuthenticationAsked.Type

/**
 * What an application is to be told of how its person signed in: a grant keeps what its request asked for, and nothing
 * else of the session.
 */
export const Authentication = Schema.Struct({
  /** When the person proved who they are. */
  at: Schema.optionalKey(Instant),
  /** How strongly, in the words of the host. */
  acr: Schema.optionalKey(Schema.String),
  /** By which means (RFC 8176). */
  amr: Schema.optionalKey(Schema.Array(Schema.String)),
  /** Binds an ID token to the request that asked for it. */
  nonce: Schema.optionalKey(Schema.String),
  /** The session, as this client alone knows it. */
  sid: Schema.optionalKey(Digest),
  /** The client asked to act while its person is away, so the grant outlives the session. */
  offline: Schema.optionalKey(Schema.Literal(true)),
  /** The claims about the person that the ID token has beside those of every one. */
  claims: Schema.optionalKey(Schema.Array(Schema.String))
})
export type Authentication = typeof Authentication.Type

/** No two clients can compare their persons' sessions by it, and it tells nothing of the session's own name. */
export const sidOf = (issuer: Issuer, client: ClientId, session: string): Digest =>
  digestOf(JSON.stringify(["sid", issuer, client, session]))

/** OpenID Connect Core §5.5.1: whether a person is one whom a request may be about. */
export const mayBe = ({ sub }: AuthenticationAsked, user: string): boolean =>
  sub === undefined || (typeof sub === "string" ? sub === user : sub.includes(user))

/** OpenID Connect Core §3.1.2.1: whether a session is too old for what is asked. A host that tells no time has one that is. */
export const isTooOld = ({ maxAge }: AuthenticationAsked, { authenticatedAt }: Session, now: Instant): boolean =>
  maxAge !== undefined && (authenticatedAt === undefined || maxAge === 0 || now > authenticatedAt + maxAge * 1000)

/** RFC 9470 §5: whether a session is weaker than what is asked. */
export const isTooWeak = ({ acr }: AuthenticationAsked, session: Session): boolean =>
  acr !== undefined && !acr.some((one) => one === session.acr)

/** A session, as far as an application may be told of it. */
interface Session {
  readonly session: string
  readonly name?: string
  readonly authenticatedAt?: Instant
  readonly acr?: string
  readonly amr?: ReadonlyArray<string>
}

const isAsked = ({ claims = [] }: AuthenticationAsked, name: string): boolean => claims.includes(name)

/** Claims that tell of the sign-in and not of the person. */
export const aboutSignIn = ["auth_time", "acr", "amr"]

const nothingAsked: AuthenticationAsked = {}

/**
 * What of a session its grant tells the client; `undefined` where nothing was asked. `covers`: whether its scopes do a
 * claim, as a place of the person may take less of them than the request that named it.
 */
export const authenticationOf = (
  issuer: Issuer,
  {
    client,
    scope,
    signIn
  }: { readonly client: ClientId; readonly scope: Scopes; readonly signIn?: AuthenticationAsked },
  { acr, amr, authenticatedAt, session, name = session }: Session,
  covers: (claim: string) => boolean
): Authentication | undefined => {
  const identifies = signsIn(scope)
  if (!identifies && signIn?.maxAge === undefined && signIn?.acr === undefined) return undefined
  const asked = signIn ?? nothingAsked
  const claims = (asked.claims ?? []).filter((name) => !aboutSignIn.includes(name) && covers(name))
  const tellsTime = asked.maxAge !== undefined || isAsked(asked, "auth_time")
  const tellsStrength = asked.acr !== undefined || isAsked(asked, "acr")
  return {
    ...(tellsTime && authenticatedAt !== undefined ? { at: authenticatedAt } : {}),
    ...(tellsStrength && acr !== undefined ? { acr } : {}),
    ...(isAsked(asked, "amr") && amr !== undefined ? { amr } : {}),
    ...(asked.nonce === undefined ? {} : { nonce: asked.nonce }),
    ...(identifies ? { sid: sidOf(issuer, client, name) } : {}),
    ...(identifies && asked.offline === true ? { offline: true } : {}),
    ...(claims.length === 0 ? {} : { claims })
  }
}
