import { Effect, Option, Result } from "effect"
import type { AuthenticatedClient } from "../client/authenticate.ts"
import { type GrantType, mayUse } from "../client/Client.ts"
import type { EndpointOf, FaultOf, Named, NameOf } from "../openapi/contract/Contract.ts"
import type { TokenAnswer, tokenContract } from "../openapi/contract/token.ts"
import { grantMark } from "../ports/Audit.ts"
import { readVerifier } from "../rules/Pkce.ts"
import { InvalidRequest, type InvalidTarget, UnauthorizedClient, UnsupportedGrantType } from "../rules/Refusal.ts"
import { type Resource, readResource } from "../rules/Resource.ts"
import { formatScopes } from "../rules/Scope.ts"
import type { Issued } from "../server/Grants.ts"
import { secretJson, type Written } from "./answer.ts"
import type { Call } from "./Call.ts"
import { authenticateClient } from "./clientAuth.ts"
import { need, readForm } from "./form.ts"
import type { HttpResponse } from "./Http.ts"
import type { Parts } from "./Parts.ts"

type Parameters = Named<NameOf<typeof tokenContract>>

/** RFC 6749 §5.1: the scope is always told, whether or not it is what was asked for. */
const tokenAnswer = (issued: Issued): HttpResponse =>
  secretJson(200, {
    access_token: issued.access,
    token_type: "Bearer",
    expires_in: issued.expiresInSeconds,
    refresh_token: issued.refresh,
    scope: formatScopes(issued.scope)
  } satisfies Written<TokenAnswer>)

const resourceOf = (call: Call, parameters: Parameters): Result.Result<Resource | null, InvalidTarget> => {
  const text = parameters.get("resource")
  return text === undefined ? Result.succeed(null) : readResource(call.workspace.issuer, text)
}

/** RFC 6749 §4.1.3 and RFC 7636 §4.5. */
const redeem = (parts: Parts, call: Call, by: AuthenticatedClient, parameters: Parameters) => {
  const code = need(parameters, "code")
  if (Result.isFailure(code)) return Effect.fail(code.failure)
  const redirectUri = need(parameters, "redirect_uri")
  if (Result.isFailure(redirectUri)) return Effect.fail(redirectUri.failure)
  const resource = resourceOf(call, parameters)
  if (Result.isFailure(resource)) return Effect.fail(resource.failure)
  const text = parameters.get("code_verifier")
  const verifier = text === undefined ? undefined : Option.getOrNull(readVerifier(text))
  if (verifier === null) {
    const message = "The code_verifier has to be 43 to 128 unreserved characters."
    return Effect.fail(new InvalidRequest({ reason: "verifier_malformed", message }))
  }
  const command = { redirectUri: redirectUri.success, resource: resource.success, verifier }
  return parts.grants.redeem(call.workspace.id, by, code.success, command)
}

/** RFC 6749 §6. */
const refresh = (parts: Parts, call: Call, by: AuthenticatedClient, parameters: Parameters) => {
  const token = need(parameters, "refresh_token")
  if (Result.isFailure(token)) return Effect.fail(token.failure)
  const resource = resourceOf(call, parameters)
  if (Result.isFailure(resource)) return Effect.fail(resource.failure)
  const command = { scope: parameters.get("scope"), resource: resource.success }
  return parts.grants.refresh(call.workspace.id, by, token.success, command)
}

/** RFC 6749 §4.4.2. */
const clientCredentials = (parts: Parts, call: Call, by: AuthenticatedClient, parameters: Parameters) => {
  const resource = resourceOf(call, parameters)
  if (Result.isFailure(resource)) return Effect.fail(resource.failure)
  const command = { scope: parameters.get("scope"), resource: resource.success }
  return parts.grants.clientCredentials(call.workspace.id, by, command)
}

const issuing = { authorization_code: redeem, refresh_token: refresh, client_credentials: clientCredentials } as const

const isGrantType = (text: string): text is GrantType => Object.hasOwn(issuing, text)

const issue = (parts: Parts, call: Call, by: AuthenticatedClient, grantType: string, parameters: Parameters) => {
  if (!isGrantType(grantType)) return Effect.fail(new UnsupportedGrantType())
  if (!mayUse(by.client, grantType)) return Effect.fail(new UnauthorizedClient({ reason: "grant_type_not_registered" }))
  const issued: Effect.Effect<Issued, FaultOf<typeof tokenContract>> = issuing[grantType](parts, call, by, parameters)
  return Effect.flatMapEager(issued, (tokens) => {
    const event = {
      _tag: "TokensIssued",
      grantType,
      client: by.client.id,
      scope: formatScopes(tokens.scope),
      grant: grantMark(tokens.grant)
    } as const
    const entry = { at: call.now, workspace: call.workspace.id, requestId: call.requestId, event }
    return Effect.mapEager(parts.audit.record(entry), () => tokenAnswer(tokens))
  })
}

/** RFC 6749 §3.2. */
export const tokenEndpoint =
  (parts: Parts): EndpointOf<typeof tokenContract> =>
  (call) => {
    const form = readForm(call.request)
    if (Result.isFailure(form)) return Effect.fail(form.failure)
    const parameters = form.success
    const grantType = need(parameters, "grant_type")
    if (Result.isFailure(grantType)) return Effect.fail(grantType.failure)
    return Effect.flatMapEager(authenticateClient(parts, call, parameters), (by) =>
      issue(parts, call, by, grantType.success, parameters)
    )
  }
