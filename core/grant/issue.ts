import { Result } from "effect"
import { isPublic } from "../client/Client.ts"
import type { ClientIdentifier } from "../client/ClientIdentifier.ts"
import { profileOf } from "../client/Profile.ts"
import { earlier, type Instant, later } from "../rules/Instant.ts"
import { InvalidGrant, InvalidTarget } from "../rules/Refusal.ts"
import { narrowResources, type Resources, sameResources } from "../rules/Resource.ts"
import { commonScopes, formatScopes, type Scopes, signsIn, withSignIn } from "../rules/Scope.ts"
import type { AccessToken, RefreshToken } from "../token/Token.ts"
import type { Authentication } from "./Authentication.ts"
import { type Binding, isBoundTo } from "./Binding.ts"
import { answerAndKeep, type Decision, refuse } from "./Decision.ts"
import { type AccessTokens, type Active, consentOf, type Pending, placeOf, type Standing } from "./Grant.ts"
import type { Identity } from "./idToken.ts"
import type { Retry } from "./Sender.ts"
import type { Issuing, Step } from "./Step.ts"

/** What a decision hands out; sealing it into text is the caller's. */
export interface Tokens {
  readonly access: AccessToken
  readonly refresh: { readonly token: RefreshToken; readonly key: string } | null
  /** What the client is told it was granted this time. */
  readonly scope: Scopes
  /** Only where the same was handed out before. */
  readonly retry?: Retry
  /** Whom the ID token beside these names. */
  readonly identity?: Identity
  /** What those go by who exchanged for it, where some did, the last of them first. */
  readonly actors?: ReadonlyArray<ClientIdentifier>
}

const areSame = (a: Scopes, b: Scopes): boolean => a === b || formatScopes(a) === formatScopes(b)

export const noAccessTokensYet: AccessTokens = { epoch: 0, revoked: [] }

/** RFC 8707 §2.2: a token for some of a grant's resources has no scopes but those that they take. */
export const scopeFor = (granted: Scopes, { policy, taken }: Taking): Result.Result<Scopes, InvalidTarget> => {
  if (taken === null) return Result.succeed(granted)
  const scope = commonScopes(policy.scopes, granted, taken)
  return scope.length === 0 ? Result.fail(new InvalidTarget({ reason: "takes_none" })) : Result.succeed(scope)
}

/** The same of what a person allowed, who may be told to the client too. */
export const allowedFor = (granted: Scopes, taking: Taking): Result.Result<Scopes, InvalidTarget> =>
  taking.taken === null
    ? Result.succeed(granted)
    : Result.map(scopeFor(granted, taking), (scope) => withSignIn(taking.policy.scopes, granted, scope))

type Taking = Pick<Step<unknown>, "policy" | "taken">

/** An access token of a grant, for all of it or for a part. */
export const accessToken = (
  grant: Active | Standing,
  scope: Scopes,
  resources: Resources | null,
  { binding, fresh, now, policy }: Issuing
): AccessToken => ({
  actors: null,
  kind: "access",
  grant: grant.id,
  expiresAt: later(now, policy.accessTtl),
  epoch: grant.access.epoch,
  serial: fresh.serial,
  // A client's own grant grows when the client registers for more; what was issued before does not grow with it.
  scope: grant._tag === "Active" && areSame(scope, grant.scope) ? null : scope,
  resources: sameResources(resources, grant.resources) ? null : resources,
  binding
})

/** The refresh token of a generation: nothing in it is drawn, so it can be made again at will. */
export const refreshToken = (grant: Active, expiresAt: Instant = grant.refresh.expiresAt): RefreshToken => ({
  kind: "refresh",
  grant: grant.id,
  expiresAt,
  generation: grant.refresh.generation
})

/** RFC 9449 §5, RFC 8705 §4: a confidential client proves itself by its own method, so only a public one's line is bound. */
export const lineBinding = ({ binding, by }: Issuing): Binding | null => (isPublic(by.client) ? binding : null)

/** What a grant goes on with. */
interface Continued {
  readonly access: AccessTokens
  readonly generation: number
  /** What the whole line of refresh tokens is bound to. */
  readonly binding: Binding | null
  /** Its first generation that is; left out where all are, or none. */
  readonly boundFrom?: Active["refresh"]["boundFrom"]
  readonly endsAt: Instant
  /** Left out where it begins without a code, or its code without a challenge. */
  readonly challenge?: Active["challenge"]
  /** Both left out where it begins. */
  readonly rotatedBy?: Active["refresh"]["rotatedBy"]
  readonly retriedElsewhereAt?: Active["retriedElsewhereAt"]
}

/** OpenID Connect Core §12.2: a nonce belongs to the request that the code answered, and to no refresh after it. */
const withoutNonce = ({ nonce: _, ...authentication }: Authentication): Authentication => authentication

/** The grant from now on, with its refresh token of this generation. */
export const activeFrom = (
  grant: Pick<
    Active,
    "id" | "client" | "subject" | "scope" | "resources" | "createdAt" | "place" | "consent" | "authentication"
  >,
  {
    access,
    binding,
    boundFrom,
    challenge = null,
    endsAt,
    generation,
    retriedElsewhereAt = null,
    rotatedBy = null
  }: Continued,
  { fresh, now, policy }: Issuing
): Active => ({
  _tag: "Active",
  id: grant.id,
  client: grant.client,
  subject: grant.subject,
  scope: grant.scope,
  resources: grant.resources,
  ...placeOf(grant),
  ...consentOf(grant),
  createdAt: grant.createdAt,
  challenge,
  access,
  refresh: {
    generation,
    issuedAt: now,
    expiresAt: earlier(later(now, policy.refreshIdleTtl), endsAt),
    key: fresh.key,
    rotatedBy,
    ...(binding === null ? {} : { binding }),
    ...(boundFrom === undefined ? {} : { boundFrom })
  },
  retriedElsewhereAt,
  endsAt,
  ...(grant.authentication === undefined ? {} : { authentication: withoutNonce(grant.authentication) })
})

/** Where refreshing spends no token, it stays the same to the end: the grant alone says how long it may be idle. */
const refreshTokenFor = (grant: Active, { by, policy }: Issuing): RefreshToken =>
  profileOf(by.client, policy).rotation ? refreshToken(grant) : refreshToken(grant, grant.endsAt)

export const tokensOf = (grant: Active, scope: Scopes, resources: Resources | null, step: Issuing): Tokens => {
  const tokens = {
    access: accessToken(grant, scope, resources, step),
    refresh: { token: refreshTokenFor(grant, step), key: grant.refresh.key },
    scope
  }
  const { authentication, client, subject } = grant
  return authentication === undefined || subject._tag !== "User" || !signsIn(scope)
    ? tokens
    : { ...tokens, identity: { user: subject.id, client, authentication } }
}

/** The first tokens of what a person allowed, whichever way its client came for them. */
export const firstTokens = (
  grant: Pending,
  step: Step<unknown>
): Decision<Tokens, InvalidGrant | InvalidTarget, Active> => {
  // RFC 9449 §10: a stolen code is worth nothing without the key that its request named.
  if (grant.binding !== undefined && !isBoundTo(grant.binding, step.binding))
    return refuse(new InvalidGrant({ reason: "binding_differs" }))
  const narrowed = narrowResources(grant.resources, step.resources)
  if (Result.isFailure(narrowed)) return refuse(narrowed.failure)
  const scope = allowedFor(grant.scope, step)
  if (Result.isFailure(scope)) return refuse(scope.failure)

  const endsAt = later(grant.createdAt, step.policy.refreshMaxTtl)
  const { authentication, challenge } = grant
  const line = { access: noAccessTokensYet, binding: lineBinding(step), challenge, endsAt, generation: 1 }
  const next = activeFrom(grant, line, step)
  // The nonce of the request is told this once.
  const told = authentication === undefined ? next : { ...next, authentication }
  return answerAndKeep(next, tokensOf(told, scope.success, narrowed.success, step))
}
