import { Effect, Option, Result } from "effect"
import type { AuthenticatedClient } from "../client/authenticate.ts"
import { type GrantType, mayUse } from "../client/Client.ts"
import type { EndpointOf, Named, NameOf } from "../openapi/contract/Contract.ts"
import type { TokenAnswer, tokenContract } from "../openapi/contract/token.ts"
import { grantMark } from "../ports/Audit.ts"
import { readVerifier } from "../rules/Pkce.ts"
import { InvalidRequest, type InvalidTarget, UnauthorizedClient, UnsupportedGrantType } from "../rules/Refusal.ts"
import { type Resource, readResource } from "../rules/Resource.ts"
import { formatScopes } from "../rules/Scope.ts"
import type { Issued } from "../server/Grants.ts"
import { secretJson } from "./answer.ts"
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
    ...(issued.refresh === undefined ? {} : { refresh_token: issued.refresh }),
    scope: formatScopes(issued.scope)
  } satisfies TokenAnswer)

const resourceOf = (call: Call, parameters: Parameters): Result.Result<Resource | null, InvalidTarget> => {
  const text = parameters.get("resource")
  return text === undefined ? Result.succeed(null) : readResource(call.workspace.issuer, text)
}

/** RFC 6749 §4.1.3 and RFC 7636 §4.5. */
const readRedeem = (call: Call, parameters: Parameters) =>
  Result.gen(function* () {
    const code = yield* need(parameters, "code")
    const redirectUri = yield* need(parameters, "redirect_uri")
    const resource = yield* resourceOf(call, parameters)
    const text = parameters.get("code_verifier")
    if (text === undefined) return { code, redirectUri, resource, verifier: undefined }
    const verifier = readVerifier(text)
    if (Option.isNone(verifier)) {
      const message = "The code_verifier has to be 43 to 128 unreserved characters."
      return yield* Result.fail(new InvalidRequest({ reason: "verifier_malformed", message }))
    }
    return { code, redirectUri, resource, verifier: verifier.value }
  })

/** RFC 6749 §6. */
const readRefresh = (call: Call, parameters: Parameters) =>
  Result.gen(function* () {
    const token = yield* need(parameters, "refresh_token")
    return { token, scope: parameters.get("scope"), resource: yield* resourceOf(call, parameters) }
  })

const issue = Effect.fnUntracedEager(function* (
  parts: Parts,
  call: Call,
  by: AuthenticatedClient,
  grantType: GrantType,
  parameters: Parameters
) {
  const workspace = call.workspace.id
  switch (grantType) {
    case "authorization_code": {
      const { code, ...command } = yield* Effect.fromResult(readRedeem(call, parameters))
      return yield* parts.grants.redeem(workspace, by, code, command)
    }
    case "refresh_token": {
      const { token, ...command } = yield* Effect.fromResult(readRefresh(call, parameters))
      return yield* parts.grants.refresh(workspace, by, token, command)
    }
    case "client_credentials": {
      const resource = yield* Effect.fromResult(resourceOf(call, parameters))
      return yield* parts.grants.clientCredentials(workspace, by, { scope: parameters.get("scope"), resource })
    }
  }
})

const isGrantType = (text: string): text is GrantType =>
  text === "authorization_code" || text === "refresh_token" || text === "client_credentials"

/** RFC 6749 §3.2. */
export const tokenEndpoint = (parts: Parts): EndpointOf<typeof tokenContract> =>
  Effect.fnUntracedEager(function* (call) {
    const parameters: Parameters = yield* Effect.fromResult(readForm(call.request))
    const grantType = yield* Effect.fromResult(need(parameters, "grant_type"))
    const by = yield* authenticateClient(parts, call, parameters)
    if (!isGrantType(grantType)) return yield* new UnsupportedGrantType()
    if (!mayUse(by.client, grantType)) return yield* new UnauthorizedClient({ reason: "grant_type_not_registered" })
    const issued = yield* issue(parts, call, by, grantType, parameters)
    yield* parts.audit.record({
      at: call.now,
      workspace: call.workspace.id,
      requestId: call.requestId,
      event: {
        _tag: "TokensIssued",
        grantType,
        client: by.client.id,
        scope: formatScopes(issued.scope),
        grant: grantMark(issued.grant)
      }
    })
    return tokenAnswer(issued)
  })
