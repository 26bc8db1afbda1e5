import { Result, Schema } from "effect"
import { Brought } from "../client/Brought.ts"
import { type Client, ClientMaker, isKnown, mayUse, scopesToAsk } from "../client/Client.ts"
import { ClientIdentifier } from "../client/ClientIdentifier.ts"
import { needsChallenge, needsPush, type Profile, profileOf, redirectTargetOf } from "../client/Profile.ts"
import type { RecordKind } from "../engine/Records.ts"
import { type Authentication, AuthenticationAsked } from "../grant/Authentication.ts"
import { Binding } from "../grant/Binding.ts"
import type { Approved as ApprovedTerms } from "../grant/begin.ts"
import { answer, answerAndKeep, type Decision, refuse } from "../grant/Decision.ts"
import { type Consent, margin, placeOf } from "../grant/Grant.ts"
import { authorizationCode } from "../oauth/grants/authorizationCode.ts"
import { deviceCode } from "../oauth/grants/deviceCode.ts"
import { AuthorizationRequestId, ClientId, GrantId, PlaceId, UserId } from "../rules/Id.ts"
import { hasPassed, Instant, later } from "../rules/Instant.ts"
import { CodeChallenge } from "../rules/Pkce.ts"
import type { Policy } from "../rules/Policy.ts"
import { Prompts } from "../rules/Prompt.ts"
import { RedirectTarget } from "../rules/RedirectUri.ts"
import {
  AccessDenied,
  AuthorizationPending,
  ExpiredToken,
  ForgedForm,
  InvalidGrant,
  InvalidRequest,
  InvalidScope,
  UnauthorizedClient,
  UntrustedRequest
} from "../rules/Refusal.ts"
import { Resources } from "../rules/Resource.ts"
import { allScopes, isWithin, offlineAccess, reaches, Scopes, signsIn } from "../rules/Scope.ts"
import { Digest, sameDigest } from "../rules/Secret.ts"
import { UserCode } from "../rules/UserCode.ts"

// Approving writes the request first: a crash before its grant leaves the name of a grant that is not there, which the
// next click on Approve makes. Denying after that ends the grant first, and marks the request then: a crash between
// leaves a grant that is dead. So no order leaves a grant alive that its person did not approve, or has denied.

const born = {
  id: AuthorizationRequestId,
  client: ClientId,
  /** From then on no answer counts. */
  expiresAt: Instant
}

const answered = {
  ...born,
  user: UserId,
  answeredAt: Instant,
  /** Of the device that may fetch the answer, where it goes to one. */
  secret: Schema.optionalKey(Digest)
}

/** Where the answer goes. */
const AnswerPlace = Schema.TaggedUnion({
  /** RFC 6749 §4.1.2: to the client, by the person's browser. */
  Redirect: {
    target: RedirectTarget,
    /** As it came, still encoded. */
    state: Schema.NullOr(Schema.String)
  },
  /** RFC 8628: to the device that asks for it, by this secret. */
  Device: {
    secret: Digest,
    /** As the person entered it. Never in the record, whose id is all that is kept of it. */
    code: Schema.optionalKey(UserCode)
  }
})
export type AnswerPlace = typeof AnswerPlace.Type
export type RedirectPlace = Extract<AnswerPlace, { readonly _tag: "Redirect" }>

/** By which grant type its client gets what a person allows. */
const grantTypeOf = ({ _tag }: Pick<AnswerPlace, "_tag">): string =>
  _tag === "Device" ? deviceCode.name : authorizationCode.name

/**
 * RFC 6749 §4.1.1: what a client asks a person for. A request that a browser brought waits in the ticket of its consent
 * page, and is a record from its answer on; one that its client pushed, or that a device waits for, is one from its
 * beginning (RFC 9126, RFC 8628).
 */
export const AuthorizationRequest = Schema.TaggedUnion({
  Waiting: {
    ...born,
    to: AnswerPlace,
    /** RFC 9126 §2.2: its client pushed it. A browser that comes from this instant on is too late. */
    pushed: Schema.optionalKey(Schema.Struct({ until: Instant })),
    scope: Scopes,
    /** The client named no scope, so these are what it gets without asking. */
    scopeByDefault: Schema.Boolean,
    resources: Schema.NullOr(Resources),
    challenge: Schema.NullOr(CodeChallenge),
    prompt: Schema.optionalKey(Prompts),
    /** Of the places of a person the one that the client would like. */
    placeHint: Schema.optionalKey(Schema.String),
    /** Where it is to be allowed, once that is chosen, or where the person has one place alone. */
    place: Schema.optionalKey(PlaceId),
    /** Only where it asks about the sign-in. */
    signIn: Schema.optionalKey(AuthenticationAsked),
    /** RFC 9449 §10: the key that its code is to be bound to. */
    binding: Schema.optionalKey(Binding),
    /** What the client goes by on the wire, where that is not `client`. */
    identifier: Schema.optionalKey(ClientIdentifier),
    /** What was read of a client that no record has, or not as it is by now. */
    brought: Schema.optionalKey(Brought)
  },
  /** `grant`: drawn with the approval, so that approving twice makes one. */
  Approved: { ...answered, grant: GrantId },
  Denied: answered
})
export type AuthorizationRequest = typeof AuthorizationRequest.Type
export type Waiting = typeof AuthorizationRequest.cases.Waiting.Type

type Upcast = RecordKind<AuthorizationRequest>["upcast"][number]

/** Version 1 was for one resource at most. */
const requestOfVersion1: Upcast = ({ resource, ...body }) =>
  body._tag === "Waiting" ? { ...body, resources: typeof resource === "string" ? [resource] : null } : body

/** Version 2 was answered by a redirect, always. */
const requestOfVersion2: Upcast = ({ target, state, ...body }) =>
  body._tag === "Waiting" && target !== undefined && state !== undefined
    ? { ...body, to: { _tag: "Redirect", target, state } }
    : body

export const requestKind: RecordKind<AuthorizationRequest> = {
  kind: "request",
  schema: AuthorizationRequest,
  version: 3,
  upcast: [requestOfVersion1, requestOfVersion2],
  id: (request) => request.id,
  // The client's, since an owner never changes and a request that was pushed has no person yet.
  owner: (request) => `client:${request.client}`,
  // Many are pushed that no browser comes for; and one that is not there counts as expired.
  expiresAt: (request) => (request._tag === "Waiting" ? request.expiresAt : later(request.expiresAt, margin))
}

/** What a consent page says of a client beyond what it asks for. */
export const ShownClient = Schema.Struct({
  name: Schema.NullOr(Schema.String),
  madeBy: ClientMaker,
  /** Of its metadata document. */
  digest: Schema.optionalKey(Digest),
  /** Where its policy and its terms are, if it names either. */
  pages: Schema.optionalKey(Schema.String)
})
export type ShownClient = typeof ShownClient.Type

export const shownOf = ({ about, madeBy, origin }: Client): ShownClient => ({
  name: about.client_name ?? null,
  madeBy,
  ...(origin?.document && { digest: origin.document.digest }),
  ...pagesOf(about)
})

const pagesOf = ({ policy_uri: policy = "", tos_uri: terms = "" }: Client["about"]): Pick<ShownClient, "pages"> =>
  policy === "" && terms === "" ? {} : { pages: `${policy} ${terms}` }

/** All that deciding on a request looks at. */
export interface Answering {
  readonly waiting: Waiting
  /** On the page that the person answers. */
  readonly shown: ShownClient
  /** As it is now. */
  readonly client: Client | undefined
  readonly person: UserId
  readonly policy: Policy
  readonly now: Instant
  /** Without a page: the yes to an earlier one that still counts. */
  readonly remembered?: Consent
}

/** What an answer comes to, for a client that may still be told of it. */
export type Outcome =
  | { readonly _tag: "Approved"; readonly client: Client; readonly grant: GrantId }
  /** `anew`: by this answer. */
  | { readonly _tag: "Denied"; readonly client: Client; readonly anew: boolean }
  | { readonly _tag: "Expired"; readonly client: Client }
  /** RFC 6749 §4.1.2.1: the client may not have it any more, and is told so. */
  | { readonly _tag: "Returned"; readonly client: Client; readonly refusal: InvalidRequest | UnauthorizedClient }

type Decided = Decision<Outcome, UntrustedRequest | ForgedForm, AuthorizationRequest>

export const challengeRequired = new InvalidRequest({
  reason: "challenge_required",
  message: "A code_challenge is needed (PKCE, S256)."
})

export const pushRequired = new InvalidRequest({
  reason: "request_not_pushed",
  message: "The client has to push its requests first (RFC 9126)."
})

/** Whether a client may ask a person so, by its registration and its profile. */
export const mayAsk = (client: Client, to: Pick<AnswerPlace, "_tag">, policy: Policy): boolean =>
  mayUse(client, grantTypeOf(to)) && !profileOf(client, policy).refuses.includes(grantTypeOf(to))

/** Why a client may not have by now what it asked for, whatever it was when it asked. */
export const termsFault = (
  client: Client,
  { challenge, pushed, scope, to }: Pick<Waiting, "challenge" | "pushed" | "scope" | "to">,
  policy: Policy
): InvalidRequest | UnauthorizedClient | InvalidScope | undefined => {
  if (!mayAsk(client, to, policy)) return new UnauthorizedClient({ reason: "grant_type_not_registered" })
  if (to._tag === "Redirect") {
    if (pushed === undefined && needsPush(client, policy)) return pushRequired
    if (challenge === null && needsChallenge(client, policy)) return challengeRequired
  }
  const all = allScopes(policy.scopes)
  return reaches(policy.scopes, scopesToAsk(client, policy.scopes), scope) && isWithin(scope, all)
    ? undefined
    : new InvalidScope({ reason: "none_to_be_had" })
}

export const redirectUriOf = (to: AnswerPlace): { readonly redirectUri?: RedirectTarget } =>
  to._tag === "Redirect" ? { redirectUri: to.target } : {}

/** RFC 9700 §4.11.2: without a client that has this redirect URI now, no browser is sent anywhere. */
const reachable = ({ client, now, policy, waiting }: Answering): Result.Result<Client, UntrustedRequest> => {
  const { to } = waiting
  const refused = (reason: UntrustedRequest["reason"]) =>
    Result.fail(new UntrustedRequest({ reason, clientId: waiting.client, ...redirectUriOf(to) }))
  if (client === undefined || !isKnown(client, now)) return refused("client_unknown")
  if (client.disabled) return refused("client_disabled")
  return to._tag === "Redirect" && redirectTargetOf(client, policy, to.target) === undefined
    ? refused("redirect_uri_not_registered")
    : Result.succeed(client)
}

/** What both answers have in common: who gives it, to which client, and in time. */
const answering = (
  found: AuthorizationRequest | undefined,
  step: Answering,
  decide: (client: Client) => Decided
): Decided => {
  const client = reachable(step)
  if (Result.isFailure(client)) return refuse(client.failure)
  const stranger = found !== undefined && found._tag !== "Waiting" && found.user !== step.person
  if (stranger) return refuse(new ForgedForm({ reason: "ticket" }))
  const { expiresAt, pushed, to } = step.waiting
  // The record that a request began with is what is used up: without it, nothing tells whether it was.
  const isRecord = pushed !== undefined || to._tag === "Device"
  return hasPassed(expiresAt, step.now) || (isRecord && found === undefined)
    ? answer({ _tag: "Expired", client: client.success })
    : decide(client.success)
}

const answeredBy = ({ now, person, waiting: { client, expiresAt, id, to } }: Answering) => ({
  id,
  client,
  expiresAt,
  user: person,
  answeredAt: now,
  ...(to._tag === "Device" ? { secret: to.secret } : {})
})

/** RFC 6749 §4.1.2. A request that was denied stays denied, and one that was approved keeps its grant. */
export const approve = (found: AuthorizationRequest | undefined, step: Answering, fresh: GrantId): Decided =>
  answering(found, step, (client) => {
    if (found?._tag === "Approved") return answer({ _tag: "Approved", client, grant: found.grant })
    if (found?._tag === "Denied") return answer({ _tag: "Denied", client, anew: false })
    const { policy, shown, waiting } = step
    const refusal = termsFault(client, waiting, policy)
    if (refusal !== undefined && refusal._tag !== "InvalidScope") return answer({ _tag: "Returned", client, refusal })
    // RFC 7592: the client, or its document, may have changed while its page was read.
    const now = shownOf(client)
    const isAsShown =
      now.name === shown.name &&
      now.madeBy === shown.madeBy &&
      now.pages === shown.pages &&
      sameDigest(now.digest ?? "", shown.digest ?? "")
    if (!isAsShown || refusal !== undefined) return refuse(new ForgedForm({ reason: "ticket" }))
    return answerAndKeep(
      { _tag: "Approved", ...answeredBy(step), grant: fresh },
      { _tag: "Approved", client, grant: fresh }
    )
  })

/** RFC 6749 §4.1.2.1. `ended`: the grant of an approval that is dead by now, without which an approval stands. */
export const deny = (found: AuthorizationRequest | undefined, step: Answering, ended?: GrantId): Decided =>
  answering(found, step, (client) => {
    if (found?._tag === "Denied") return answer({ _tag: "Denied", client, anew: false })
    return found?._tag === "Approved" && found.grant !== ended
      ? answer({ _tag: "Approved", client, grant: found.grant })
      : answerAndKeep({ _tag: "Denied", ...answeredBy(step) }, { _tag: "Denied", client, anew: true })
  })

/** RFC 8628 §3.5: the answer to a device's request, for who shows its secret. */
export const polled = (
  found: AuthorizationRequest | undefined,
  { client, now, secret }: { readonly client: ClientId; readonly now: Instant; readonly secret: Digest }
): Result.Result<GrantId, AccessDenied | AuthorizationPending | ExpiredToken | InvalidGrant> => {
  const kept = found?._tag === "Waiting" ? (found.to._tag === "Device" ? found.to.secret : undefined) : found?.secret
  // Another device may have the same code later.
  if (found === undefined || !sameDigest(kept ?? "", secret)) return Result.fail(new ExpiredToken())
  if (found.client !== client) return Result.fail(new InvalidGrant({ reason: "other_client" }))
  if (found._tag === "Denied") return Result.fail(new AccessDenied())
  if (hasPassed(found.expiresAt, now)) return Result.fail(new ExpiredToken())
  return found._tag === "Approved" ? Result.succeed(found.grant) : Result.fail(new AuthorizationPending())
}

/** The terms on which the grant of an approval begins. */
export const termsOf = (
  waiting: Waiting,
  user: UserId,
  held: Pick<Profile, "codeTtl">,
  authentication?: Authentication
): ApprovedTerms => ({
  client: waiting.client,
  user,
  ...redirectUriOf(waiting.to),
  ...(waiting.to._tag === "Device" ? { fetchedBy: waiting.expiresAt } : {}),
  challenge: waiting.challenge,
  ...(waiting.binding === undefined ? {} : { binding: waiting.binding }),
  scope: waiting.scope,
  resources: waiting.resources,
  ...placeOf(waiting),
  codeTtl: held.codeTtl,
  ...(authentication === undefined ? {} : { authentication })
})

/** The scopes cover what userinfo was asked for. */
const claimsOf = ({ acr, claims = [], sub }: AuthenticationAsked, hasClaim: boolean): string | undefined => {
  const idToken = {
    ...Object.fromEntries(claims.map((name) => [name, null])),
    ...(hasClaim ? { acr: { essential: true, values: acr } } : {}),
    ...(sub === undefined ? {} : { sub: typeof sub === "string" ? { value: sub } : { values: sub } })
  }
  return Object.keys(idToken).length === 0 ? undefined : JSON.stringify({ id_token: idToken })
}

/** What a request asks about the sign-in, as a browser would bring it. */
const authenticationQueryOf = (scope: Scopes, asked: AuthenticationAsked): ReadonlyArray<string> => {
  const { acr, acrRequired, loginHint, maxAge, nonce } = asked
  // Without a sign-in no claims are read, and the parameter says by itself that it has to be.
  const hasClaim = acrRequired === true && signsIn(scope)
  const claims = claimsOf(asked, hasClaim)
  return [
    ...(nonce === undefined ? [] : [`nonce=${encodeURIComponent(nonce)}`]),
    ...(maxAge === undefined ? [] : [`max_age=${maxAge}`]),
    ...(acr === undefined || hasClaim ? [] : [`acr_values=${encodeURIComponent(acr.join(" "))}`]),
    ...(claims === undefined ? [] : [`claims=${encodeURIComponent(claims)}`]),
    ...(loginHint === undefined ? [] : [`login_hint=${encodeURIComponent(loginHint)}`])
  ]
}

/** What the client of a request goes by on the wire. */
export const identifierIn = ({ client, identifier }: Pick<Waiting, "client" | "identifier">): ClientIdentifier =>
  identifier ?? client

/** RFC 6749 §4.1.1: a request that was not pushed, as a browser would bring it again. */
export const queryOf = (waiting: Waiting, to: RedirectPlace): string => {
  const { binding, challenge, placeHint, prompt = [], resources, scope, scopeByDefault, signIn = {} } = waiting
  // No scope of any registry, so that it stands beside those that there are; alone it asks for none.
  const scopes = [...(scopeByDefault ? [] : scope), ...(signIn.offline === true ? [offlineAccess] : [])]
  return [
    "response_type=code",
    `client_id=${encodeURIComponent(identifierIn(waiting))}`,
    `redirect_uri=${encodeURIComponent(to.target)}`,
    ...(scopes.length === 0 ? [] : [`scope=${encodeURIComponent(scopes.join(" "))}`]),
    ...(to.state === null ? [] : [`state=${to.state}`]),
    ...(challenge === null ? [] : [`code_challenge=${challenge}`, "code_challenge_method=S256"]),
    ...(binding === undefined ? [] : [`dpop_jkt=${binding.thumbprint}`]),
    ...(resources ?? []).map((resource) => `resource=${encodeURIComponent(resource)}`),
    ...(prompt.length === 0 ? [] : [`prompt=${prompt.join("%20")}`]),
    ...(placeHint === undefined ? [] : [`place_hint=${encodeURIComponent(placeHint)}`]),
    ...authenticationQueryOf(scope, signIn)
  ].join("&")
}
