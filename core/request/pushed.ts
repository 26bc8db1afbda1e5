import { Effect, Result } from "effect"
import type { AuthenticatedClient } from "../client/authenticate.ts"
import { identifierOf } from "../client/Client.ts"
import { needsSignedRequest, redirectTargetOf } from "../client/Profile.ts"
import { base64Url, readBase64Url, textLength } from "../codec/Base64Url.ts"
import { asItCame, type Sent, sentQuery } from "../http/form.ts"
import type { Call, Services } from "../http/Route.ts"
import { StorageUnavailable } from "../ports/Storage.ts"
import { type AuthorizationRequestId, authorizationRequestIdOf, type ClientId, idBytes, idLength } from "../rules/Id.ts"
import { hasPassed, later } from "../rules/Instant.ts"
import {
  InvalidRequest,
  type InvalidRequestObject,
  InvalidRequestUri,
  type PortUnavailable,
  UntrustedRequest
} from "../rules/Refusal.ts"
import { groupedCode, readUserCode } from "../rules/UserCode.ts"
import { isOfUserCode, userCodeParameter } from "../token/DeviceCode.ts"
import { envelopeLength, openEnvelope, sealEnvelope } from "../token/Envelope.ts"
import type { Place, Sealer } from "../token/KeyRing.ts"
import { policyAt } from "../workspace/Workspace.ts"
import { type AnswerPlace, identifierIn, queryOf, termsFault, type Waiting } from "./AuthorizationRequest.ts"
import {
  type CheckedRequest,
  type Returned,
  readNamedClient,
  readPushedRequest,
  readSignedRequest,
  type TermsFault,
  waitingOf
} from "./readRequest.ts"
import { readRequestObject } from "./requestObject.ts"

/** RFC 9126 §2.2: what every `request_uri` of a pushed request begins with. */
export const requestUriPrefix = "urn:ietf:params:oauth:request_uri:"

/** What a `request_uri` stands for. */
interface RequestUri {
  readonly id: AuthorizationRequestId
  /**
   * `begins`: as the client was given it. `continues`: of a browser that came in time, and comes back after sign-in or
   * with another account: it has as long as a consent page.
   */
  readonly visit: "begins" | "continues"
}

const version = 1
const visits = { begins: 1, continues: 2 } as const
const wholeLength = requestUriPrefix.length + textLength(envelopeLength(1 + idLength))

/** The kind of visit and the record's id: what was never given out does not reach the store. */
export const sealRequestUri = (sealer: Sealer, place: Place, { id, visit }: RequestUri): string =>
  requestUriPrefix +
  base64Url(sealEnvelope(sealer, place, "request", version, Uint8Array.of(visits[visit]), idBytes(id)))

export const openRequestUri = (
  sealer: Sealer,
  place: Place,
  text: string
): Result.Result<RequestUri, InvalidRequestUri["reason"]> => {
  const bytes = text.length === wholeLength ? readBase64Url(text, requestUriPrefix.length) : undefined
  return Result.map(openEnvelope(sealer, place, "request", [version], bytes), ({ body }) => ({
    id: authorizationRequestIdOf(body.subarray(1)),
    visit: body[0] === visits.begins ? "begins" : "continues"
  }))
}

/** The request of a browser that goes on with it, after sign-in or as another person; of a device, with its code. */
export const queryOfVisit = (
  sealer: Sealer,
  place: Place,
  { id, to, ...of }: Pick<Waiting, "client" | "identifier" | "id" | "to">
): string => {
  const uri = sealRequestUri(sealer, place, { id, visit: "continues" })
  const query = `client_id=${encodeURIComponent(identifierIn(of))}&request_uri=${encodeURIComponent(uri)}`
  return to._tag === "Device" && to.code !== undefined ? `${query}&${userCodeParameter}=${groupedCode(to.code)}` : query
}

/** The query by which a browser comes back to a request that its consent page holds. */
export const queryAgain = (sealer: Sealer, place: Place, waiting: Waiting): string =>
  waiting.pushed === undefined && waiting.to._tag === "Redirect"
    ? queryOf(waiting, waiting.to)
    : queryOfVisit(sealer, place, waiting)

const nested = new InvalidRequest({
  reason: "request_uri_pushed",
  message: "A request_uri is what comes of pushing a request, and cannot be pushed."
})

const unsigned = new InvalidRequest({
  reason: "request_unsigned",
  message: "The client has to push its requests as a signed request object (RFC 9101)."
})

const otherClient = new InvalidRequest({
  reason: "two_client_ids",
  message: "The client_id is not that of the client that authenticated."
})

/** RFC 9126 §2.1: what a client pushes, read as at the authorization endpoint, and the client's own. */
export const readPushed = Effect.fnUntraced(function* (
  services: Services,
  call: Call,
  sent: Sent,
  { client }: AuthenticatedClient
): Effect.fn.Return<
  CheckedRequest,
  TermsFault | InvalidRequestObject | PortUnavailable | UntrustedRequest | StorageUnavailable
> {
  if (asItCame(sent, "request_uri") !== undefined) return yield* nested
  const named = asItCame(sent, "client_id")
  const own = identifierOf(client)
  if (named !== undefined && named !== own) return yield* otherClient
  const object = asItCame(sent, "request")
  if (object === undefined && needsSignedRequest(client)) return yield* unsigned
  const read =
    object === undefined
      ? yield* readPushedRequest(services, call, sent, client)
      : yield* readSignedRequest(services, call, yield* readRequestObject(services, call, client, object))
  return Result.isSuccess(read) ? read.success : yield* read.failure.refusal
})

/** What a pushed request takes of a store, in bytes of JSON: many may wait at once. */
const longestPushed = 8 * 1024

const utf8 = new TextEncoder()

const tooLong = new InvalidRequest({ reason: "request_too_long", message: "A pushed request may have 8 KiB." })

/** A request as it was pushed: from now on a record, which its answer uses up. */
export interface Pushed {
  readonly requestUri: string
  readonly expiresInSeconds: number
}

/** RFC 9126 §2.2. */
export const push = Effect.fnUntraced(function* (
  services: Services,
  call: Call,
  request: CheckedRequest
): Effect.fn.Return<Pushed, InvalidRequest | StorageUnavailable> {
  const { consentTtl, pushedTtl } = services.policy
  const until = later(call.now, pushedTtl)
  // A browser that comes at the last moment has as long for the consent page as any other.
  const waiting = { ...waitingOf(services, request, later(until, consentTtl)), pushed: { until } }
  if (utf8.encode(JSON.stringify(waiting)).length > longestPushed) return yield* tooLong
  yield* Effect.catchTag(services.requests.insert(call.workspace.id, waiting, "push"), "Conflict", () =>
    Effect.fail(new StorageUnavailable({ outcome: "not_done", message: "a fresh request's id was taken" }))
  )
  const { id } = waiting
  return {
    requestUri: sealRequestUri(services.keys.current(), call.workspace, { id, visit: "begins" }),
    expiresInSeconds: Math.floor(pushedTtl / 1000)
  }
})

/** Whether a query comes with a request that was pushed here. */
export const namesPushed = (query: string): boolean =>
  asItCame(sentQuery(query).sent, "request_uri")?.startsWith(requestUriPrefix) === true

/** A pushed request that a browser came with, as it was kept. */
export interface Visit {
  readonly waiting: Waiting
  readonly request: Result.Result<CheckedRequest, Returned>
}

/** RFC 9101 §5: the client's id and the `request_uri` are read, and nothing that stands beside them. */
const readUri = (services: Services, { request, workspace }: Call): Result.Result<RequestUri, InvalidRequestUri> => {
  const { repeated, sent } = sentQuery(request.query)
  const refuse = (reason: InvalidRequestUri["reason"]) => Result.fail(new InvalidRequestUri({ reason }))
  if (repeated.has("request_uri")) return refuse("repeated")
  if (asItCame(sent, "request") !== undefined) return refuse("beside_request")
  return Result.mapError(
    openRequestUri(services.keys.current(), workspace, asItCame(sent, "request_uri") ?? ""),
    (reason) => new InvalidRequestUri({ reason })
  )
}

/** RFC 8628 §5.4: the page shows the code that was entered, and is drawn only for a person who has it. */
const enteredAt = (
  { keys }: Services,
  { request, workspace }: Call,
  id: AuthorizationRequestId,
  to: Extract<AnswerPlace, { readonly _tag: "Device" }>
): AnswerPlace | undefined => {
  const code = readUserCode(asItCame(sentQuery(request.query).sent, userCodeParameter) ?? "")
  return code !== undefined && isOfUserCode(keys.current(), workspace, code, id) ? { ...to, code } : undefined
}

/** The request that a `request_uri` stands for, where this client pushed it and it is not answered yet. */
const keptRequest = Effect.fnUntraced(function* (
  services: Services,
  call: Call,
  { id, visit }: RequestUri,
  client: ClientId
): Effect.fn.Return<Waiting, InvalidRequestUri | StorageUnavailable> {
  const kept = (yield* services.requests.get(call.workspace.id, id))?.value
  if (kept === undefined) return yield* new InvalidRequestUri({ reason: "unknown" })
  if (kept.client !== client) return yield* new InvalidRequestUri({ reason: "other_client" })
  if (kept._tag !== "Waiting") return yield* new InvalidRequestUri({ reason: "used" })
  const to = kept.to._tag === "Device" ? enteredAt(services, call, id, kept.to) : kept.to
  if (to === undefined || (kept.pushed === undefined && to._tag === "Redirect"))
    return yield* new InvalidRequestUri({ reason: "unknown" })
  const end = visit === "begins" && kept.pushed !== undefined ? kept.pushed.until : kept.expiresAt
  return hasPassed(end, call.now) ? yield* new InvalidRequestUri({ reason: "expired" }) : { ...kept, to }
})

/** RFC 9126 §4: a browser comes with a pushed request. Looking uses nothing up, so that a reload finds it again. */
export const visitPushed = Effect.fnUntraced(function* (
  services: Services,
  call: Call
): Effect.fn.Return<Visit, InvalidRequestUri | UntrustedRequest | PortUnavailable | StorageUnavailable> {
  const uri = yield* Effect.fromResult(readUri(services, call))
  const { refuse: _, ...met } = yield* readNamedClient(services, call, sentQuery(call.request.query))
  const { client } = met
  const waiting = yield* keptRequest(services, call, uri, client.id)
  const { _tag, id, client: of, expiresAt, pushed, ...asked } = waiting
  const { to } = waiting
  if (to._tag === "Redirect" && redirectTargetOf(client, services.policy, to.target) === undefined) {
    const refused = { clientId: identifierOf(client), redirectUri: to.target } as const
    return yield* new UntrustedRequest({ reason: "redirect_uri_not_registered", ...refused })
  }
  const path = { ...met, to }
  // The client, or what the server asks of it, may have changed since.
  const fault = termsFault(client, waiting, policyAt(services.policy, call.workspace))
  return {
    waiting: met.brought === undefined ? waiting : { ...waiting, brought: met.brought },
    request: fault === undefined ? Result.succeed({ ...asked, ...path }) : Result.fail({ path, refusal: fault })
  }
})
