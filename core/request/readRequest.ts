import { Effect, Result, Schema, Struct } from "effect"
import type { Brought } from "../client/Brought.ts"
import { type Client, identifierOf, isKnown, scopesToAsk } from "../client/Client.ts"
import { ClientIdentifier, isBrought } from "../client/ClientIdentifier.ts"
import { needsChallenge, needsPush, redirectTargetOf } from "../client/Profile.ts"
import { type Met, NoSuchClient } from "../engine/BroughtClients.ts"
import { type AuthenticationAsked, mayBe } from "../grant/Authentication.ts"
import { Binding } from "../grant/Binding.ts"
import { seeOther } from "../http/answer.ts"
import { toWire } from "../http/faults.ts"
import { asItCame, readerOf, refusedAs, repeatedParameter, type Sent, sentQuery, severalOf } from "../http/form.ts"
import type { Call, Contract, Sample, Services } from "../http/Route.ts"
import { askerOf } from "../ports/Limiter.ts"
import { StorageUnavailable } from "../ports/Storage.ts"
import { authorizationRequestIdOf, idLength, PlaceId } from "../rules/Id.ts"
import { Instant } from "../rules/Instant.ts"
import { CodeChallenge } from "../rules/Pkce.ts"
import type { Policy } from "../rules/Policy.ts"
import { type Prompts, readPrompts } from "../rules/Prompt.ts"
import { withQuery } from "../rules/RedirectUri.ts"
import {
  Contended,
  InvalidRequest,
  InvalidRequestUri,
  InvalidScope,
  type InvalidTarget,
  PortUnavailable,
  type Refusal,
  RequestNotSupported,
  TooManyRequests,
  UnauthorizedClient,
  UnsupportedResponseType,
  UntrustedRequest
} from "../rules/Refusal.ts"
import { type Resources, readResources, scopesTaken } from "../rules/Resource.ts"
import { asksNoScope, commonScopes, grantScopes, type Scopes, signsIn, withSignIn } from "../rules/Scope.ts"
import { scopesOf, type Workspace } from "../workspace/Workspace.ts"
import {
  type AnswerPlace,
  challengeRequired,
  mayAsk,
  pushRequired,
  type RedirectPlace,
  type Waiting
} from "./AuthorizationRequest.ts"
import { readAuthentication, readHint } from "./readAuthentication.ts"

const challengeMalformed = new InvalidRequest({
  reason: "challenge_malformed",
  message: "The code_challenge has to be 43 to 128 unreserved characters."
})

/** RFC 7636 §4.3: left out it would mean `plain`, which is not to be had. */
const challengeMethod = new InvalidRequest({
  reason: "challenge_method",
  message: "The code_challenge_method has to be S256."
})

const responseMode = new InvalidRequest({ reason: "response_mode", message: "The response_mode has to be query." })

/** RFC 6749 §4.1.1, RFC 7636 §4.3, RFC 8707 §2. */
const AuthorizationQuery = Schema.Struct({
  response_type: Schema.Literal("code"),
  client_id: ClientIdentifier.annotate({
    description: "The id of a registration, or the https address of the client's metadata document."
  }),
  redirect_uri: Schema.String.annotate({
    description: "One that the client registered, letter for letter; only the port of a loopback address may differ."
  }),
  scope: Schema.optionalKey(
    Schema.String.annotate({ description: "Scopes, with a space between them; without any, the server's default." })
  ),
  state: Schema.optionalKey(Schema.String.annotate({ description: "Comes back as it is." })),
  code_challenge: Schema.optionalKey(
    CodeChallenge.annotate({
      description: "RFC 7636. A public client needs it; the server may ask it of all.",
      ...refusedAs(challengeMalformed)
    })
  ),
  code_challenge_method: Schema.optionalKey(
    Schema.Literal("S256").annotate({ description: "Needed beside a code_challenge.", ...refusedAs(challengeMethod) })
  ),
  dpop_jkt: Schema.optionalKey(
    Binding.fields.thumbprint.annotate({
      description: "RFC 9449 §10: the thumbprint of the key that the code is to be redeemed with."
    })
  ),
  resource: Schema.optionalKey(
    Schema.Array(Schema.String).annotate({
      description:
        "RFC 8707: what the grant is to be for: the issuer, or an API that the server knows. May come more than once."
    })
  ),
  response_mode: Schema.optionalKey(Schema.Literal("query").annotate(refusedAs(responseMode))),
  prompt: Schema.optionalKey(
    Schema.String.annotate({
      description:
        "OpenID Connect Core §3.1.2.1: `login`, `consent` or `select_account`, with a space between them, ask for that page; `none` asks for an error where a page would be needed."
    })
  ),
  request_uri: Schema.optionalKey(
    Schema.String.annotate({
      description:
        "RFC 9126: what pushing the request was answered with. Of all others, only client_id counts beside it."
    })
  ),
  place_hint: Schema.optionalKey(
    PlaceId.annotate({
      description: "Of the places of the person, the one that is chosen on the consent page until they choose another."
    })
  ),
  id_token_hint: Schema.optionalKey(
    Schema.String.annotate({ description: "OpenID Connect: an ID token that the client has of who is expected." })
  ),
  login_hint: Schema.optionalKey(
    Schema.String.check(Schema.isMaxLength(256)).annotate({
      description: "OpenID Connect: the person who is expected, by what they sign in with. Another person may sign in."
    })
  ),
  nonce: Schema.optionalKey(
    Schema.String.check(Schema.isMaxLength(1024)).annotate({
      description: "OpenID Connect: comes back in the ID token, which it binds to this request."
    })
  ),
  max_age: Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/^\d{1,10}$/)).annotate({
      description: "OpenID Connect, RFC 9470: seconds; a person who signed in earlier signs in again."
    })
  ),
  acr_values: Schema.optionalKey(
    Schema.String.annotate({
      description:
        "RFC 9470: strengths of sign-in, with a space between them, one of which it has to be; with the scope openid, a wish (OpenID Connect)."
    })
  ),
  claims: Schema.optionalKey(
    Schema.String.annotate({ description: "OpenID Connect Core §5.5: claims that are asked for one by one, as JSON." })
  )
})

const noClient = { id: "", name: undefined, redirectUri: "https://client.example/", registeredItself: true }

/** A consent page without a client, to see how the host's pages are answered. */
const consentPage: Sample = ({ pages, workspace }) =>
  pages.consent(workspace, {
    client: noClient,
    scopes: [],
    resources: [],
    account: "",
    switchAccount: "/",
    acknowledge: false,
    csrf: "",
    ticket: "",
    now: Instant.make(0)
  })

export const authorizeContract = {
  id: "authorize",
  heading: "OAuth",
  summary: "Ask a person",
  description:
    "RFC 6749 §3.1: for a browser, which brings its person's session. What is wrong with a request of a known client goes back to its redirect URI as `error`, or is told on a page if the client registered itself and no person has let it in yet; every answer there has `iss` (RFC 9207).",
  query: AuthorizationQuery,
  callers: [{ shows: "nothing" }],
  answers: [
    { description: "The consent page.", like: consentPage },
    { description: "To the sign-in, or back to the client with an error.", like: () => seeOther("/") }
  ],
  faults: [
    UntrustedRequest,
    InvalidRequestUri,
    InvalidRequest,
    TooManyRequests,
    PortUnavailable,
    Contended,
    StorageUnavailable
  ]
} as const satisfies Contract

const { fields } = authorizeContract.query
const several = severalOf(fields)

// The protocol has an order: the client and its redirect URI are checked before all else.
const readClient = readerOf(Struct.pick(fields, ["client_id"]))
const readPlace = readerOf(Struct.pick(fields, ["redirect_uri"]))
const readState = readerOf(Struct.pick(fields, ["state"]))
const readType = readerOf(Struct.pick(fields, ["response_type"]))
const readMode = readerOf(Struct.pick(fields, ["response_mode"]))
const readChallenge = readerOf(Struct.pick(fields, ["code_challenge"]))
const readMethod = readerOf(Struct.pick(fields, ["code_challenge_method"]))
const readRest = readerOf(
  Struct.omit(fields, [
    "client_id",
    "redirect_uri",
    "response_type",
    "response_mode",
    "code_challenge",
    "code_challenge_method"
  ])
)

/** A client, and where its answer goes, one of its own redirect URIs: from here on errors may be sent to it. */
interface ReturnPath {
  readonly client: Client
  /** What was read of it for this request, and stands in no record yet. */
  readonly brought?: Brought
  readonly to: AnswerPlace
}

/** RFC 6749 §4.1.1: an authorization request, checked, with its client as it is now. */
export interface CheckedRequest extends ReturnPath {
  readonly scope: Scopes
  /** The client named no scope, so these are what it gets without asking. */
  readonly scopeByDefault: boolean
  readonly resources: Resources | null
  readonly challenge: CodeChallenge | null
  /** Not there where it asks for no page beyond the ordinary. */
  readonly prompt?: Prompts
  readonly placeHint?: string
  /** Where the person that it was drawn for has one place alone. */
  readonly place?: PlaceId
  /** Only where it asks about the sign-in. */
  readonly signIn?: AuthenticationAsked
  readonly binding?: Binding
}

/** The request with an id of its own, for which a person has until `expiresAt`. */
export const waitingOf = (
  { entropy }: Pick<Services, "entropy">,
  { client, ...asked }: CheckedRequest,
  expiresAt: Instant
): Waiting => ({
  _tag: "Waiting",
  id: authorizationRequestIdOf(entropy.bytes(idLength)),
  client: client.id,
  ...(client.origin && { identifier: client.origin.identifier }),
  expiresAt,
  ...asked
})

/** What of a request whose client and redirect URI hold may be wrong all the same. */
export type TermsFault = InvalidRequest | UnsupportedResponseType | UnauthorizedClient | InvalidScope | InvalidTarget

/** A request that cannot go on, and whose client may be told so. */
export interface Returned<F = Refusal> {
  readonly path: ReturnPath
  readonly refusal: F
}

/** RFC 6749 §4.1.2: `state` goes back byte for byte, so it is not decoded on the way where it need not be. */
const rawState = (query: string, sent: Sent): string | null => {
  const read = readState(sent)
  const state = Result.isSuccess(read) ? read.success.state : undefined
  if (state === undefined) return null
  const raw = query
    .split("&")
    .find((pair) => pair.startsWith("state="))
    ?.slice("state=".length)
  return raw !== undefined && /^[\x21\x22\x24-\x7e]+$/.test(raw) ? raw : encodeURIComponent(state)
}

/** RFC 6749 §4.1.2 and RFC 9207 §2: what goes back to a client. */
export const returnTo = (
  path: Pick<RedirectPlace, "target" | "state">,
  issuer: string,
  parameters: ReadonlyArray<readonly [name: string, value: string]>
): string =>
  withQuery(
    path.target,
    [
      ...parameters.map(([name, value]) => `${name}=${encodeURIComponent(value)}`),
      ...(path.state === null ? [] : [`state=${path.state}`]),
      `iss=${encodeURIComponent(issuer)}`
    ].join("&")
  )

export const returnRefusal = (
  path: Pick<RedirectPlace, "target" | "state">,
  refusal: Refusal,
  issuer: string
): string => {
  const wire = toWire(refusal)
  return returnTo(path, issuer, [
    ["error", wire.error],
    ["error_description", wire.description]
  ])
}

/** The client of an identifier, registered or brought, as it is now. */
const meetClient = (services: Services, { now, request, workspace }: Call, identifier: ClientIdentifier) =>
  isBrought(identifier)
    ? services.brought.meet(workspace, identifier, undefined, askerOf(request))
    : Effect.flatMap(
        services.clients.find(workspace.id, identifier),
        (client): Effect.Effect<Met, NoSuchClient> =>
          // A record's id is no other name of a client that goes by its own.
          client === undefined || client.origin !== undefined || !isKnown(client, now)
            ? Effect.fail(new NoSuchClient("unknown"))
            : Effect.succeed({ client })
      )

const isMissing = (fault: InvalidRequest): boolean => fault.reason === "missing_parameter"

type SentRequest = ReturnType<typeof sentQuery>

type Refuse = (reason: UntrustedRequest["reason"]) => UntrustedRequest

const refuseOf =
  (clientId: string | undefined, redirectUri: string | undefined): Refuse =>
  (reason) =>
    new UntrustedRequest({
      reason,
      ...(clientId === undefined ? {} : { clientId }),
      ...(redirectUri === undefined ? {} : { redirectUri })
    })

type Unnamed = UntrustedRequest | PortUnavailable | StorageUnavailable

/** The client of a request, as it is now, and how the request is refused from here on. */
type Named = Met & { readonly refuse: Refuse }

const nameClient = (
  services: Services,
  call: Call,
  identifier: ClientIdentifier,
  refuse: Refuse
): Effect.Effect<Named, Unnamed> =>
  Effect.matchEffect(meetClient(services, call, identifier), {
    onSuccess: (met): Effect.Effect<Named, Unnamed> =>
      met.client.disabled ? refuse("client_disabled") : Effect.succeed({ ...met, refuse }),
    onFailure: (fault): Effect.Effect<Named, Unnamed> =>
      fault._tag === "NoSuchClient"
        ? refuse(fault.reason === "unknown" ? "client_unknown" : fault.reason)
        : Effect.fail(fault)
  })

/** The client that a request names. */
export const readNamedClient = Effect.fnUntraced(function* (
  services: Services,
  call: Call,
  { repeated, sent }: SentRequest
): Effect.fn.Return<Named, Unnamed> {
  const refuse = refuseOf(asItCame(sent, "client_id"), asItCame(sent, "redirect_uri"))
  if (repeated.has("client_id")) return yield* refuse("client_repeated")
  const asking = readClient(sent)
  if (Result.isFailure(asking)) return yield* refuse(isMissing(asking.failure) ? "client_missing" : "client_unknown")
  return yield* nameClient(services, call, asking.success.client_id, refuse)
})

/** RFC 9700 §4.11.2: the client and where its answer goes. Until both hold, no browser is sent anywhere. */
const readReturnPath = (
  { refuse, ...met }: Named,
  policy: Policy,
  query: string,
  { repeated, sent }: SentRequest
): Result.Result<ReturnPath, UntrustedRequest> => {
  if (repeated.has("redirect_uri")) return Result.fail(refuse("redirect_uri_repeated"))
  const place = readPlace(sent)
  if (Result.isFailure(place))
    return Result.fail(refuse(isMissing(place.failure) ? "redirect_uri_missing" : "redirect_uri_not_registered"))
  const target = redirectTargetOf(met.client, policy, place.success.redirect_uri)
  if (target === undefined) return Result.fail(refuse("redirect_uri_not_registered"))
  const state = repeated.has("state") ? null : rawState(query, sent)
  return Result.succeed({ ...met, to: { _tag: "Redirect", target, state } })
}

const challengeMissing = new InvalidRequest({
  reason: "challenge_required",
  message: "A code_challenge_method came without code_challenge."
})

/** RFC 7636 §4.3, S256 only; required where the client cannot prove itself otherwise (RFC 9700 §2.1.1). */
const challengeOf = (sent: Sent, isNeeded: boolean): Result.Result<CodeChallenge | null, InvalidRequest> => {
  const challenge = readChallenge(sent)
  const method = readMethod(sent)
  const noMethod = Result.isSuccess(method) && method.success.code_challenge_method === undefined
  if (Result.isSuccess(challenge) && challenge.success.code_challenge === undefined) {
    if (!noMethod) return Result.fail(challengeMissing)
    return isNeeded ? Result.fail(challengeRequired) : Result.succeed(null)
  }
  if (noMethod) return Result.fail(challengeMethod)
  return Result.flatMap(method, () => Result.map(challenge, (read) => read.code_challenge ?? null))
}

/** What is wrong with a request because a browser brought it. */
const broughtFault = (
  { client }: ReturnPath,
  { repeated, sent }: SentRequest,
  policy: Policy
): InvalidRequest | RequestNotSupported | undefined => {
  if (repeated.size > 0) return repeatedParameter(repeated)
  // OpenID Connect Core §6: left unread, it would be a request that its client did not make.
  const given = (["request", "request_uri", "registration"] as const).find((name) => asItCame(sent, name) !== undefined)
  if (given !== undefined) return new RequestNotSupported({ parameter: given })
  return needsPush(client, policy) ? pushRequired : undefined
}

type Terms = Omit<CheckedRequest, keyof ReturnPath>

const checkedTerms = (
  services: Services,
  workspace: Workspace,
  path: ReturnPath,
  { repeated, sent }: SentRequest
): Result.Result<Terms, TermsFault> => {
  if (repeated.size > 0) return Result.fail(repeatedParameter(repeated))
  const type = readType(sent)
  // RFC 6749 §4.1.2.1: a response type that is not to be had is told by a code of its own.
  if (Result.isFailure(type)) return Result.fail(isMissing(type.failure) ? type.failure : new UnsupportedResponseType())
  const mode = readMode(sent)
  if (Result.isFailure(mode)) return Result.fail(mode.failure)
  return termsAsked(services, workspace, path, sent, readRest, needsChallenge(path.client, services.policy))
}

const termsAsked = (
  services: Services,
  workspace: Workspace,
  { client, to }: Pick<ReturnPath, "client"> & { readonly to: Pick<AnswerPlace, "_tag"> },
  sent: Sent,
  read: typeof readRest,
  needsChallenge: boolean
): Result.Result<Terms, Exclude<TermsFault, UnsupportedResponseType>> => {
  if (!mayAsk(client, to, services.policy)) {
    return Result.fail(new UnauthorizedClient({ reason: "grant_type_not_registered" }))
  }
  const challenge = challengeOf(sent, needsChallenge)
  if (Result.isFailure(challenge)) return Result.fail(challenge.failure)
  const rest = read(sent)
  if (Result.isFailure(rest)) return Result.fail(rest.failure)
  const asked = rest.success
  const registry = scopesOf(services.policy, workspace)
  const resources = asked.resource === undefined ? noResources : readResources(workspace, asked.resource)
  if (Result.isFailure(resources)) return Result.fail(resources.failure)
  const taken = resources.success === null ? null : scopesTaken(workspace, resources.success)
  const scopeByDefault = asksNoScope(asked.scope)
  const own = scopeByDefault ? client.scope : scopesToAsk(client, registry)
  const atResources = taken === null ? own : commonScopes(registry, own, taken)
  const available = withSignIn(registry, own, atResources)
  const granted = grantScopes(registry, available, asked.scope)
  if (Result.isFailure(granted)) return Result.fail(granted.failure)
  const named = granted.success
  // A sign-in stands beside scopes that the resources take, and is none of theirs.
  if (taken !== null && commonScopes(registry, named, taken).length === 0) {
    return Result.fail(new InvalidScope({ reason: "none_to_be_had" }))
  }
  const widened = (names: ReadonlyArray<string>) =>
    Result.getOrElse(grantScopes(registry, available, [...named, ...names].join(" ")), () => named)
  const authentication = readAuthentication(services.claimScopes, client, asked, named, widened)
  if (Result.isFailure(authentication)) return Result.fail(authentication.failure)
  const { scope, signIn } = authentication.success
  const prompts = readPrompts(asked.prompt ?? "")
  if (Result.isFailure(prompts)) return Result.fail(prompts.failure)
  const prompt = prompts.success
  return Result.succeed({
    scope,
    scopeByDefault,
    resources: resources.success,
    challenge: challenge.success,
    ...(asked.dpop_jkt === undefined ? {} : { binding: { thumbprint: asked.dpop_jkt } }),
    ...(prompt.length === 0 ? {} : { prompt }),
    ...(asked.place_hint === undefined ? {} : { placeHint: asked.place_hint }),
    ...(signIn === undefined ? {} : { signIn })
  })
}

const noResources: Result.Result<Resources | null> = Result.succeed(null)

const twoSubjects = new InvalidRequest({
  reason: "id_token_hint",
  message: "The id_token_hint and the parameter claims name two people."
})

type Reading<F> = Effect.Effect<Result.Result<CheckedRequest, Returned<F>>, Unnamed>

/** An authorization request, whole; or what its client may be told; or, where there is no client, a failure. */
const readAs = Effect.fnUntraced(function* <F>(
  services: Services,
  call: Call,
  named: Named,
  query: string,
  asked: SentRequest,
  faultOf: (path: ReturnPath, asked: SentRequest) => F | undefined
): Effect.fn.Return<Result.Result<CheckedRequest, Returned<F | TermsFault>>, Unnamed> {
  const path = yield* Effect.fromResult(readReturnPath(named, services.policy, query, asked))
  const fault = faultOf(path, asked)
  if (fault !== undefined) return Result.fail({ path, refusal: fault })
  const workspace = yield* services.openings.current(call.workspace, call.now)
  const terms = checkedTerms(services, workspace, path, asked)
  if (Result.isFailure(terms)) return Result.fail({ path, refusal: terms.failure })
  const request = { ...path, ...terms.success }
  const hint = asItCame(asked.sent, "id_token_hint")
  if (hint === undefined || !signsIn(request.scope)) return Result.succeed(request)
  const hinted = yield* readHint(services, call, path.client, hint)
  if (Result.isFailure(hinted)) return Result.fail({ path, refusal: hinted.failure })
  const { signIn = {} } = request
  // OpenID Connect Core §5.5.1: no person can be both, and neither outweighs the other.
  if (!mayBe(signIn, hinted.success)) return Result.fail({ path, refusal: twoSubjects })
  return Result.succeed({ ...request, signIn: { ...signIn, sub: hinted.success } })
})

const readText = <F>(
  services: Services,
  call: Call,
  query: string,
  faultOf: (path: ReturnPath, asked: SentRequest) => F | undefined
): Reading<F | TermsFault> => {
  const asked = sentQuery(query, several)
  return Effect.flatMap(readNamedClient(services, call, asked), (named) =>
    readAs(services, call, named, query, asked, faultOf)
  )
}

/** As a browser brings it. */
export const readAuthorizationRequest = (
  services: Services,
  call: Call,
  query: string
): Reading<TermsFault | RequestNotSupported> =>
  readText(services, call, query, (path, asked) => broughtFault(path, asked, services.policy))

/** RFC 9126 §2.1, RFC 9101: as its client signed it, read by the same contract. */
export const readSignedRequest = (services: Services, call: Call, parameters: string): Reading<TermsFault> =>
  readText<never>(services, call, parameters, () => undefined)

/** RFC 9126 §2.1: as the client that authenticated pushed it in the body of this call, read by the same contract. */
export const readPushedRequest = (services: Services, call: Call, sent: Sent, client: Client): Reading<TermsFault> => {
  const identifier = identifierOf(client)
  const refuse = refuseOf(identifier, asItCame(sent, "redirect_uri"))
  const asked: SentRequest = { sent, repeated: none }
  const read = (named: Named) => readAs<never>(services, call, named, call.request.body, asked, () => undefined)
  // Of a client that brought its identifier, more may have been read than stands in its record.
  return isBrought(identifier)
    ? Effect.flatMap(nameClient(services, call, identifier, refuse), read)
    : read({ client, refuse })
}

const none: ReadonlySet<string> = new Set()

/** What of an authorization request a device asks by, too (RFC 8628 §3.1); PKCE where the client likes. */
export const deviceFields = Struct.pick(fields, [
  "scope",
  "resource",
  "code_challenge",
  "code_challenge_method",
  "dpop_jkt",
  "place_hint"
])

const readDeviceRest = readerOf(Struct.omit(deviceFields, ["code_challenge", "code_challenge_method"]))

/** RFC 8628 §3.1: what a device asks for, read as at the authorization endpoint. */
export const readDeviceRequest = (
  services: Services,
  workspace: Workspace,
  client: Client,
  sent: Sent
): Result.Result<Omit<CheckedRequest, "to">, Exclude<TermsFault, UnsupportedResponseType>> =>
  Result.map(
    termsAsked(services, workspace, { client, to: { _tag: "Device" } }, sent, readDeviceRest, false),
    // A device goes on when the session ends in which its code was entered: that is another device's.
    ({ signIn, ...terms }) => ({
      client,
      ...terms,
      ...(signsIn(terms.scope) ? { signIn: { ...signIn, offline: true as const } } : {})
    })
  )
