import { Result, Schema } from "effect"
import { type Client, ClientMaker, isKnown, mayUse } from "../client/Client.ts"
import { profileOf } from "../client/Profile.ts"
import type { RecordKind } from "../engine/Records.ts"
import type { Approved as ApprovedTerms } from "../grant/begin.ts"
import { answer, answerAndKeep, type Decision, refuse } from "../grant/Decision.ts"
import { margin } from "../grant/Grant.ts"
import { authorizationCode } from "../oauth/grants/authorizationCode.ts"
import { AuthorizationRequestId, ClientId, GrantId, UserId } from "../rules/Id.ts"
import { hasPassed, Instant, later } from "../rules/Instant.ts"
import { CodeChallenge } from "../rules/Pkce.ts"
import type { Policy } from "../rules/Policy.ts"
import { Prompts } from "../rules/Prompt.ts"
import { matchRedirectUri, RedirectTarget } from "../rules/RedirectUri.ts"
import { ForgedForm, InvalidRequest, UnauthorizedClient, UntrustedRequest } from "../rules/Refusal.ts"
import { Resources } from "../rules/Resource.ts"
import { allScopes, isWithin, reaches, Scopes } from "../rules/Scope.ts"

// Approving writes the request first: a crash before its grant leaves the name of a grant that is not there, which the
// next click on Approve makes. Denying after that ends the grant first, and marks the request then: a crash between
// leaves a grant that is dead. So no order leaves a grant alive that its person did not approve, or has denied.

const born = {
  id: AuthorizationRequestId,
  client: ClientId,
  /** From then on no answer counts. */
  expiresAt: Instant
}

const answered = { ...born, user: UserId, answeredAt: Instant }

/**
 * RFC 6749 §4.1.1: what a client asks a person for. A request that a browser brought waits in the ticket of its consent
 * page, and is a record from its answer on.
 */
export const AuthorizationRequest = Schema.TaggedUnion({
  Waiting: {
    ...born,
    target: RedirectTarget,
    /** As it came, still encoded. */
    state: Schema.NullOr(Schema.String),
    scope: Scopes,
    /** The client named no scope, so these are what it gets without asking. */
    scopeByDefault: Schema.Boolean,
    resources: Schema.NullOr(Resources),
    challenge: Schema.NullOr(CodeChallenge),
    prompt: Schema.optionalKey(Prompts)
  },
  /** `grant`: drawn with the approval, so that approving twice makes one. */
  Approved: { ...answered, grant: GrantId },
  Denied: answered
})
export type AuthorizationRequest = typeof AuthorizationRequest.Type
export type Waiting = typeof AuthorizationRequest.cases.Waiting.Type

/** Version 1 was for one resource at most. */
export const requestOfVersion1: RecordKind<AuthorizationRequest>["upcast"][number] = ({ resource, ...body }) =>
  body._tag === "Waiting" ? { ...body, resources: typeof resource === "string" ? [resource] : null } : body

export const requestKind: RecordKind<AuthorizationRequest> = {
  kind: "request",
  schema: AuthorizationRequest,
  version: 2,
  upcast: [requestOfVersion1],
  id: (request) => request.id,
  // The client's, since an owner never changes and a request that was pushed has no person yet.
  owner: (request) => `client:${request.client}`,
  expiresAt: (request) => later(request.expiresAt, margin)
}

/** What a consent page says of a client beyond what it asks for. */
export const ShownClient = Schema.Struct({ name: Schema.NullOr(Schema.String), madeBy: ClientMaker })
export type ShownClient = typeof ShownClient.Type

export const shownOf = ({ about, madeBy }: Client): ShownClient => ({ name: about.client_name ?? null, madeBy })

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
}

/** What an answer comes to, for a client that may still be told of it. */
export type Outcome =
  | { readonly _tag: "Approved"; readonly client: Client; readonly grant: GrantId }
  /** `anew`: by this answer. */
  | { readonly _tag: "Denied"; readonly client: Client; readonly anew: boolean }
  | { readonly _tag: "Expired"; readonly client: Client }
  /** RFC 6749 §4.1.2.1: the client may not have it any more, and is told so. */
  | { readonly _tag: "Returned"; readonly refusal: InvalidRequest | UnauthorizedClient }

type Decided = Decision<Outcome, UntrustedRequest | ForgedForm, AuthorizationRequest>

export const challengeRequired = new InvalidRequest({
  reason: "challenge_required",
  message: "A code_challenge is needed (PKCE, S256)."
})

/** RFC 9700 §4.11.2: without a client that has this redirect URI now, no browser is sent anywhere. */
const reachable = ({ client, now, waiting }: Answering): Result.Result<Client, UntrustedRequest> => {
  const refused = (reason: UntrustedRequest["reason"]) =>
    Result.fail(new UntrustedRequest({ reason, clientId: waiting.client, redirectUri: waiting.target }))
  if (client === undefined || !isKnown(client, now)) return refused("client_unknown")
  if (client.disabled) return refused("client_disabled")
  return matchRedirectUri(client.redirectUris, waiting.target) === undefined
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
  return hasPassed(step.waiting.expiresAt, step.now)
    ? answer({ _tag: "Expired", client: client.success })
    : decide(client.success)
}

const answeredBy = ({ now, person, waiting: { client, expiresAt, id } }: Answering) => ({
  id,
  client,
  expiresAt,
  user: person,
  answeredAt: now
})

/** RFC 6749 §4.1.2. A request that was denied stays denied, and one that was approved keeps its grant. */
export const approve = (found: AuthorizationRequest | undefined, step: Answering, fresh: GrantId): Decided =>
  answering(found, step, (client) => {
    if (found?._tag === "Approved") return answer({ _tag: "Approved", client, grant: found.grant })
    if (found?._tag === "Denied") return answer({ _tag: "Denied", client, anew: false })
    const { policy, shown, waiting } = step
    if (!mayUse(client, authorizationCode.name)) {
      return answer({ _tag: "Returned", refusal: new UnauthorizedClient({ reason: "grant_type_not_registered" }) })
    }
    if (waiting.challenge === null && profileOf(client).needsChallenge(client, policy)) {
      return answer({ _tag: "Returned", refusal: challengeRequired })
    }
    // RFC 7592: the client may have changed itself while its page was read.
    const now = shownOf(client)
    const isAsShown = now.name === shown.name && now.madeBy === shown.madeBy
    if (
      !isAsShown ||
      !reaches(policy.scopes, client.scope, waiting.scope) ||
      !isWithin(waiting.scope, allScopes(policy.scopes))
    ) {
      return refuse(new ForgedForm({ reason: "ticket" }))
    }
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

/** The terms on which the grant of an approval begins. */
export const termsOf = ({ challenge, client, resources, scope, target }: Waiting, user: UserId): ApprovedTerms => ({
  client,
  user,
  redirectUri: target,
  challenge,
  scope,
  resources
})

/** RFC 6749 §4.1.1: the request as a browser would bring it again. */
export const queryOf = ({
  challenge,
  client,
  prompt = [],
  resources,
  scope,
  scopeByDefault,
  state,
  target
}: Waiting): string =>
  [
    "response_type=code",
    `client_id=${client}`,
    `redirect_uri=${encodeURIComponent(target)}`,
    ...(scopeByDefault ? [] : [`scope=${encodeURIComponent(scope.join(" "))}`]),
    ...(state === null ? [] : [`state=${state}`]),
    ...(challenge === null ? [] : [`code_challenge=${challenge}`, "code_challenge_method=S256"]),
    ...(resources ?? []).map((resource) => `resource=${encodeURIComponent(resource)}`),
    ...(prompt.length === 0 ? [] : [`prompt=${prompt.join("%20")}`])
  ].join("&")
