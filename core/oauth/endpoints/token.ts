import { Effect, Result, Schema, Struct } from "effect"
import type { AuthenticatedClient } from "../../client/authenticate.ts"
import { mayUse } from "../../client/Client.ts"
import type { Issued } from "../../engine/Grants.ts"
import { secretJson, type Written } from "../../http/answer.ts"
import { readerOf, refusedAs, type Sent, sentForm, variantsOf } from "../../http/form.ts"
import type { HttpResponse } from "../../http/Http.ts"
import {
  bound,
  type Call,
  type Contract,
  type Endpoint,
  type FaultOf,
  type HandlerOf,
  names,
  type Parts
} from "../../http/Route.ts"
import { StorageUnavailable } from "../../ports/Storage.ts"
import { grantMark } from "../../rules/Id.ts"
import { CodeVerifier } from "../../rules/Pkce.ts"
import {
  Contended,
  InvalidClient,
  InvalidGrant,
  InvalidRequest,
  InvalidScope,
  InvalidTarget,
  PortUnavailable,
  TooManyRequests,
  UnauthorizedClient,
  UnsupportedGrantType
} from "../../rules/Refusal.ts"
import { type Resource, readResource } from "../../rules/Resource.ts"
import { formatScopes } from "../../rules/Scope.ts"
import { authenticateClient, authMetadata, withClientFields } from "../clients/authenticateClient.ts"
import { tokenTypeOf } from "../presented/Presentation.ts"

const common = {
  resource: Schema.optionalKey(
    Schema.String.annotate({ description: "RFC 8707: the issuer, or a place below it, that the token is to be for." })
  )
}

const narrower = Schema.optionalKey(
  Schema.String.annotate({ description: "Scopes, with a space between them; fewer than were granted, never more." })
)

const verifierMalformed = new InvalidRequest({
  reason: "verifier_malformed",
  message: "The code_verifier has to be 43 to 128 unreserved characters."
})

/** RFC 6749 §4.1.3 and RFC 7636 §4.5. */
const RedeemCode = Schema.Struct({
  grant_type: Schema.Literal("authorization_code"),
  code: Schema.String.annotate({ description: "As it came to the redirect URI. Good once, and not for long." }),
  redirect_uri: Schema.String.annotate({ description: "The same as in the authorization request." }),
  code_verifier: Schema.optionalKey(
    CodeVerifier.annotate({
      description: "RFC 7636: needed exactly where the authorization request had a challenge.",
      ...refusedAs(verifierMalformed)
    })
  ),
  ...common
}).annotate({ identifier: "RedeemCode", description: "A code that a person's approval brought (RFC 6749 §4.1.3)." })

/** RFC 6749 §6. */
const RefreshGrant = Schema.Struct({
  grant_type: Schema.Literal("refresh_token"),
  refresh_token: Schema.String.annotate({ description: "The one that came last." }),
  scope: narrower,
  ...common
}).annotate({ identifier: "RefreshGrant", description: "A new access token for a refresh token (RFC 6749 §6)." })

/** RFC 6749 §4.4. */
const OwnAccess = Schema.Struct({
  grant_type: Schema.Literal("client_credentials"),
  scope: Schema.optionalKey(Schema.String.annotate({ description: "Scopes, with a space between them." })),
  ...common
}).annotate({ identifier: "OwnAccess", description: "A token for the client itself (RFC 6749 §4.4)." })

/** RFC 6749 §5.1. */
const TokenAnswer = Schema.Struct({
  access_token: Schema.String,
  token_type: Schema.String.annotate({ description: "How it is shown (RFC 6749 §7.1)." }),
  expires_in: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)).annotate({ description: "Seconds from now." }),
  refresh_token: Schema.optionalKey(Schema.String),
  scope: Schema.String.annotate({ description: "What was granted, which may be less than was asked for." })
}).annotate({ identifier: "Tokens" })
type TokenAnswer = typeof TokenAnswer.Type

export const tokenContract = {
  id: "token",
  heading: "OAuth",
  summary: "Get an access token",
  description: "RFC 6749 §3.2: for a code, for a refresh token, or for the client itself.",
  form: Schema.Union([RedeemCode, RefreshGrant, OwnAccess]),
  callers: [{ shows: "clientSecret" }, { shows: "nothing" }],
  answers: [{ description: "Tokens.", like: () => secretJson(200, {}), body: TokenAnswer }],
  faults: [
    InvalidRequest,
    InvalidClient,
    InvalidGrant,
    InvalidScope,
    InvalidTarget,
    UnauthorizedClient,
    UnsupportedGrantType,
    TooManyRequests,
    PortUnavailable,
    Contended,
    StorageUnavailable
  ]
} as const satisfies Contract

const forms = variantsOf(tokenContract.form, "grant_type")

type GrantType = keyof typeof forms

/** RFC 6749 §5.1: the scope is always told, whether or not it is what was asked for. */
const tokenAnswer = (parts: Parts, issued: Issued): HttpResponse =>
  secretJson(200, {
    access_token: issued.access,
    token_type: tokenTypeOf(parts.presentations, null),
    expires_in: issued.expiresInSeconds,
    refresh_token: issued.refresh,
    scope: formatScopes(issued.scope)
  } satisfies Written<TokenAnswer>)

const resourceOf = (call: Call, text: string | undefined): Result.Result<Resource | null, InvalidTarget> =>
  text === undefined ? Result.succeed(null) : readResource(call.workspace.issuer, text)

const readCode = readerOf(Struct.omit(forms.authorization_code, ["code_verifier"]))
const readVerifier = readerOf(Struct.pick(forms.authorization_code, ["code_verifier"]))

/** RFC 6749 §4.1.3 and RFC 7636 §4.5. */
const redeem = (parts: Parts, call: Call, by: AuthenticatedClient, sent: Sent) => {
  const form = readCode(sent)
  if (Result.isFailure(form)) return Effect.fail(form.failure)
  const resource = resourceOf(call, form.success.resource)
  if (Result.isFailure(resource)) return Effect.fail(resource.failure)
  const proof = readVerifier(sent)
  if (Result.isFailure(proof)) return Effect.fail(proof.failure)
  const verifier = proof.success.code_verifier
  const command = { redirectUri: form.success.redirect_uri, resource: resource.success, verifier }
  return parts.grants.redeem(call.workspace.id, by, form.success.code, command)
}

/** What a client may narrow of what was granted. */
const termsOf = (
  call: Call,
  form: { readonly scope?: string; readonly resource?: string }
): Result.Result<{ readonly scope: string | undefined; readonly resource: Resource | null }, InvalidTarget> =>
  Result.map(resourceOf(call, form.resource), (resource) => ({ scope: form.scope, resource }))

const readRefresh = readerOf(forms.refresh_token)

/** RFC 6749 §6. */
const refresh = (parts: Parts, call: Call, by: AuthenticatedClient, sent: Sent) => {
  const form = readRefresh(sent)
  if (Result.isFailure(form)) return Effect.fail(form.failure)
  const terms = termsOf(call, form.success)
  if (Result.isFailure(terms)) return Effect.fail(terms.failure)
  return parts.grants.refresh(call.workspace.id, by, form.success.refresh_token, terms.success)
}

const readOwnAccess = readerOf(forms.client_credentials)

/** RFC 6749 §4.4.2. */
const clientCredentials = (parts: Parts, call: Call, by: AuthenticatedClient, sent: Sent) => {
  const form = readOwnAccess(sent)
  if (Result.isFailure(form)) return Effect.fail(form.failure)
  const terms = termsOf(call, form.success)
  if (Result.isFailure(terms)) return Effect.fail(terms.failure)
  return parts.grants.clientCredentials(call.workspace.id, by, terms.success)
}

type Issuing = (
  parts: Parts,
  call: Call,
  by: AuthenticatedClient,
  sent: Sent
) => Effect.Effect<Issued, FaultOf<typeof tokenContract>>

const issuing: { readonly [G in GrantType]: Issuing } = {
  authorization_code: redeem,
  refresh_token: refresh,
  client_credentials: clientCredentials
}

const grantTypes: ReadonlySet<string> = new Set(Object.keys(forms))

const isGrantType = (text: string): text is GrantType => grantTypes.has(text)

const issue = (parts: Parts, call: Call, by: AuthenticatedClient, grantType: string, sent: Sent) => {
  if (!isGrantType(grantType)) return Effect.fail(new UnsupportedGrantType())
  if (!mayUse(by.client, grantType)) return Effect.fail(new UnauthorizedClient({ reason: "grant_type_not_registered" }))
  return Effect.flatMapEager(issuing[grantType](parts, call, by, sent), (tokens) => {
    const event = {
      _tag: "TokensIssued",
      grantType,
      client: by.client.id,
      scope: formatScopes(tokens.scope),
      grant: grantMark(tokens.grant)
    } as const
    const entry = { at: call.now, workspace: call.workspace.id, requestId: call.requestId, event }
    return Effect.mapEager(parts.audit.record(entry), () => tokenAnswer(parts, tokens))
  })
}

/** Whether it is one of the contract's is told only to a client that is known. */
const readGrantType = readerOf({ grant_type: Schema.String })

/** RFC 6749 §3.2. */
const tokenHandler =
  (parts: Parts): HandlerOf<typeof tokenContract> =>
  (call) => {
    const form = sentForm(call.request)
    if (Result.isFailure(form)) return Effect.fail(form.failure)
    const sent = form.success
    const asked = readGrantType(sent)
    if (Result.isFailure(asked)) return Effect.fail(asked.failure)
    return Effect.flatMapEager(authenticateClient(parts, call, sent), (by) =>
      issue(parts, call, by, asked.success.grant_type, sent)
    )
  }

export const tokenEndpoint: Endpoint = {
  path: "/oauth/token",
  match: "exact",
  methods: { POST: bound((parts) => withClientFields(parts, tokenContract), tokenHandler) },
  errors: "oauth",
  cors: true,
  metadata: {
    name: "token_endpoint",
    members: (parts) => ({
      grant_types_supported: names(() => Object.keys(forms)),
      ...authMetadata(parts, tokenContract, "token_endpoint")
    })
  }
}
