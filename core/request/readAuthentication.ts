import { Effect, Result } from "effect"
import { type Client, identifierOf } from "../client/Client.ts"
import { defaultAcrValues, defaultMaxAge, requireAuthTime } from "../client/openIdMembers.ts"
import { type AuthenticationAsked, aboutSignIn } from "../grant/Authentication.ts"
import type { Call, Services } from "../http/Route.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { type ClaimScope, claimsWithin, readClaims, scopesOfClaims } from "../rules/Claims.ts"
import { InvalidRequest } from "../rules/Refusal.ts"
import { namesIn, offlineAccess, type Scopes, signsIn } from "../rules/Scope.ts"

/** What an authorization request may say about the sign-in. */
interface AuthenticationParameters {
  readonly acr_values?: string
  readonly claims?: string
  readonly login_hint?: string
  readonly max_age?: string
  readonly nonce?: string
  readonly scope?: string
}

const claimsMalformed = new InvalidRequest({
  reason: "malformed_parameter",
  message: "The parameter claims has to be a JSON object of userinfo and id_token."
})

/** What a request comes to, with the claims that it names one by one. */
interface AuthenticationRead {
  readonly scope: Scopes
  readonly signIn: AuthenticationAsked | undefined
}

/**
 * OpenID Connect Core §3.1.2.1 and §5.5. A claim that is asked for by its name brings the scope that covers it, so that a
 * person sees on the consent page, and in the list of what was allowed, all that is told of them.
 */
export const readAuthentication = (
  rows: ReadonlyArray<ClaimScope>,
  client: Client,
  sent: AuthenticationParameters,
  scope: Scopes,
  /** The scopes that the request has with these names beside its own. */
  widened: (names: ReadonlyArray<string>) => Scopes
): Result.Result<AuthenticationRead, InvalidRequest> => {
  const identifies = signsIn(scope)
  const asked = sent.claims === undefined || !identifies ? null : readClaims(sent.claims)
  if (asked === undefined) return Result.fail(claimsMalformed)
  const byName = asked === null ? [] : scopesOfClaims(rows, [...asked.userinfo, ...asked.idToken])
  const wide = byName.length === 0 ? scope : widened(byName)
  const covered = claimsWithin(rows, wide)
  const claims = (asked?.idToken ?? []).filter((name) => covered(name) || aboutSignIn.includes(name))
  if (identifies && requireAuthTime.of(client) === true) claims.push("auth_time")
  const maxAge = sent.max_age === undefined ? (identifies ? defaultMaxAge.of(client) : undefined) : Number(sent.max_age)
  const wished = namesIn(sent.acr_values ?? "")
  const usual = identifies ? (defaultAcrValues.of(client) ?? []) : []
  const strengths = asked?.acr ?? (wished.length > 0 ? wished : usual)
  // RFC 9470 §5: whom an API sent here gets a token that does there, or none. Where a person signs in, OpenID Connect
  // Core §3.1.2.1 makes the same parameter a wish.
  const acrRequired = asked?.acr !== undefined || (wished.length > 0 && !identifies)
  const signIn: AuthenticationAsked = {
    ...(maxAge === undefined ? {} : { maxAge }),
    ...(strengths.length === 0 ? {} : { acr: strengths }),
    ...(acrRequired ? { acrRequired } : {}),
    ...(asked?.sub === undefined ? {} : { sub: asked.sub }),
    ...(sent.login_hint === undefined ? {} : { loginHint: sent.login_hint }),
    ...(sent.nonce === undefined || !identifies ? {} : { nonce: sent.nonce }),
    ...(claims.length === 0 ? {} : { claims }),
    ...(identifies && namesIn(sent.scope ?? "").includes(offlineAccess) ? { offline: true } : {})
  }
  return Result.succeed({ scope: wide, signIn: Object.keys(signIn).length === 0 ? undefined : signIn })
}

const hintMalformed = new InvalidRequest({
  reason: "id_token_hint",
  message: "The id_token_hint has to be an ID token that this server gave to this client."
})

/**
 * OpenID Connect Core §3.1.2.1: the person whom a hint names, expired or not. A hint that was given to another client,
 * or that this server did not sign, is refused.
 */
export const readHint = (
  services: Pick<Services, "idTokens">,
  { now, workspace }: Call,
  client: Client,
  hint: string
): Effect.Effect<Result.Result<string, InvalidRequest>, StorageUnavailable> =>
  Effect.map(services.idTokens.hinted(workspace, hint, now), (hinted) =>
    hinted?.client === identifierOf(client) ? Result.succeed(hinted.user) : Result.fail(hintMalformed)
  )
