import { Effect, Option, Result } from "effect"
import { type Client, isKnown, mayUse } from "../client/Client.ts"
import type { authorizeContract } from "../openapi/contract/authorize.ts"
import type { Named, NameOf } from "../openapi/contract/Contract.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { readClientId } from "../rules/Id.ts"
import { type CodeChallenge, readChallenge } from "../rules/Pkce.ts"
import { matchRedirectUri, type RedirectTarget, withQuery } from "../rules/RedirectUri.ts"
import {
  InvalidRequest,
  type InvalidScope,
  type InvalidTarget,
  type Refusal,
  UnauthorizedClient,
  UnsupportedResponseType,
  UntrustedRequest
} from "../rules/Refusal.ts"
import { type Resource, readResource } from "../rules/Resource.ts"
import { grantScopes, type Scopes } from "../rules/Scope.ts"
import type { Call } from "./Call.ts"
import { readParameters, repeatedParameter } from "./form.ts"
import type { Parts } from "./Parts.ts"
import { toWire } from "./wire.ts"

type Parameters = Named<NameOf<typeof authorizeContract>>

/** A client at one of its own redirect URIs: from here on errors may be sent to it. */
export interface ReturnPath {
  readonly client: Client
  readonly target: RedirectTarget
  /** As it came, still encoded. */
  readonly state: string | undefined
}

/** RFC 6749 §4.1.1, checked through. */
export interface AuthorizationRequest extends ReturnPath {
  readonly scope: Scopes
  /** The client named no scope, so these are what it gets without asking. */
  readonly scopeByDefault: boolean
  readonly resource: Resource | null
  readonly challenge: CodeChallenge | null
}

/** A request that cannot go on, and whose client may be told so. */
export interface Returned {
  readonly path: ReturnPath
  readonly refusal: Refusal
}

/** RFC 6749 §4.1.2: `state` goes back byte for byte, so it is not decoded on the way where it need not be. */
const rawState = (query: string, parameters: Parameters): string | undefined => {
  const state = parameters.get("state")
  if (state === undefined) return undefined
  const raw = query
    .split("&")
    .find((pair) => pair.startsWith("state="))
    ?.slice("state=".length)
  return raw !== undefined && /^[\x21\x22\x24-\x7e]+$/.test(raw) ? raw : encodeURIComponent(state)
}

/** RFC 6749 §4.1.2 and RFC 9207 §2: what goes back to a client. */
export const returnTo = (
  path: Pick<ReturnPath, "target" | "state">,
  issuer: string,
  parameters: ReadonlyArray<readonly [name: string, value: string]>
): string =>
  withQuery(
    path.target,
    [
      ...parameters.map(([name, value]) => `${name}=${encodeURIComponent(value)}`),
      ...(path.state === undefined ? [] : [`state=${path.state}`]),
      `iss=${encodeURIComponent(issuer)}`
    ].join("&")
  )

export const returnRefusal = (returned: Returned, issuer: string): string => {
  const wire = toWire(returned.refusal)
  return returnTo(returned.path, issuer, [
    ["error", wire.error],
    ["error_description", wire.description]
  ])
}

/** Who asks, and where the answer goes. Until both hold, nobody is sent anywhere (RFC 9700 §4.11.2). */
const readReturnPath = Effect.fnUntraced(function* (
  parts: Parts,
  call: Call,
  query: string,
  parameters: Parameters,
  repeated: ReadonlySet<string>
): Effect.fn.Return<ReturnPath, UntrustedRequest | StorageUnavailable> {
  const clientId = parameters.get("client_id")
  const redirectUri = parameters.get("redirect_uri")
  const refuse = (reason: UntrustedRequest["reason"]) =>
    new UntrustedRequest({
      reason,
      ...(clientId === undefined ? {} : { clientId }),
      ...(redirectUri === undefined ? {} : { redirectUri })
    })
  if (repeated.has("client_id")) return yield* refuse("client_repeated")
  if (clientId === undefined) return yield* refuse("client_missing")
  const id = readClientId(clientId)
  const client = Option.isNone(id) ? undefined : yield* parts.clients.find(call.workspace.id, id.value)
  if (client === undefined || !isKnown(client, call.now)) return yield* refuse("client_unknown")
  if (client.disabled) return yield* refuse("client_disabled")
  if (repeated.has("redirect_uri")) return yield* refuse("redirect_uri_repeated")
  if (redirectUri === undefined) return yield* refuse("redirect_uri_missing")
  const target = matchRedirectUri(client.redirectUris, redirectUri)
  if (target === undefined) return yield* refuse("redirect_uri_not_registered")
  return { client, target, state: repeated.has("state") ? undefined : rawState(query, parameters) }
})

const invalid = (reason: InvalidRequest["reason"], message: string) =>
  Result.fail(new InvalidRequest({ reason, message }))

/** RFC 7636 §4.3, S256 only; required where the client cannot prove itself otherwise (RFC 9700 §2.1.1). */
const challengeOf = (
  client: Client,
  parameters: Parameters,
  requirePkce: boolean
): Result.Result<CodeChallenge | null, InvalidRequest> => {
  const text = parameters.get("code_challenge")
  const method = parameters.get("code_challenge_method")
  if (text === undefined) {
    if (method !== undefined)
      return invalid("challenge_required", "A code_challenge_method came without code_challenge.")
    return requirePkce || client.credential._tag === "Public"
      ? invalid("challenge_required", "A code_challenge is needed (PKCE, S256).")
      : Result.succeed(null)
  }
  // Left out it would mean `plain`, which is not to be had.
  if (method !== "S256") return invalid("challenge_method", "The code_challenge_method has to be S256.")
  const challenge = readChallenge(text)
  return Option.isSome(challenge)
    ? Result.succeed(challenge.value)
    : invalid("challenge_malformed", "The code_challenge has to be 43 to 128 unreserved characters.")
}

const checkedTerms = (
  parts: Parts,
  issuer: string,
  path: ReturnPath,
  parameters: Parameters,
  repeated: ReadonlySet<string>
): Result.Result<
  Omit<AuthorizationRequest, keyof ReturnPath>,
  InvalidRequest | UnsupportedResponseType | UnauthorizedClient | InvalidScope | InvalidTarget
> =>
  Result.gen(function* () {
    if (repeated.size > 0) return yield* Result.fail(repeatedParameter(repeated))
    const type = parameters.get("response_type")
    if (type === undefined) return yield* invalid("missing_parameter", "The parameter response_type is missing.")
    if (type !== "code") return yield* Result.fail(new UnsupportedResponseType())
    const mode = parameters.get("response_mode")
    if (mode !== undefined && mode !== "query")
      return yield* invalid("response_mode", "The response_mode has to be query.")
    if (!mayUse(path.client, "authorization_code")) {
      return yield* Result.fail(new UnauthorizedClient({ reason: "grant_type_not_registered" }))
    }
    const challenge = yield* challengeOf(path.client, parameters, parts.policy.requirePkce)
    const asked = parameters.get("scope")
    const scope = yield* grantScopes(parts.policy.scopes, path.client.scope, asked)
    const target = parameters.get("resource")
    const resource = target === undefined ? null : yield* readResource(issuer, target)
    return { scope, scopeByDefault: asked === undefined, resource, challenge }
  })

/** An authorization request, whole; or what its client may be told; or, where there is no client, a failure. */
export const readAuthorizationRequest = Effect.fnUntraced(function* (
  parts: Parts,
  call: Call,
  query: string
): Effect.fn.Return<Result.Result<AuthorizationRequest, Returned>, UntrustedRequest | StorageUnavailable> {
  const { parameters, repeated } = readParameters(query)
  const path = yield* readReturnPath(parts, call, query, parameters, repeated)
  const terms = checkedTerms(parts, call.workspace.issuer, path, parameters, repeated)
  return Result.isSuccess(terms)
    ? Result.succeed({ ...path, ...terms.success })
    : Result.fail({ path, refusal: terms.failure })
})
