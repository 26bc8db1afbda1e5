import { Match } from "effect"
import type { ClientAuth } from "../oauth/clients/ClientAuth.ts"
import { bearerScheme } from "../oauth/presented/bearer.ts"
import { isAboutProof, type Presentation } from "../oauth/presented/Presentation.ts"
import type { CommonError } from "../pages/CommonErrors.ts"
import * as Errors from "../pages/CommonErrors.ts"
import { rateLimitedPage } from "../pages/ErrorPage.ts"
import type { Pages } from "../ports/Pages.ts"
import type {
  ForgedForm,
  InvalidDpopProof,
  InvalidTarget,
  Refusal,
  RequestNotSupported,
  TooManyRequests,
  UnauthorizedClient
} from "../rules/Refusal.ts"
import { definitionOf, protectedResourcePath, resourceMetadataUrl } from "../rules/Resource.ts"
import { pagesPath } from "../workspace/SessionPath.ts"
import { consentPath, endpointUrl, logoutPath, originOf, type Workspace } from "../workspace/Workspace.ts"
import { dpopNonceHeader, empty, json, noStore, secretJson } from "./answer.ts"
import type { Fault } from "./Fault.ts"
import type { HeaderPairs, HttpResponse } from "./Http.ts"
import type { Call, Route } from "./Route.ts"

/** What a refusal looks like from outside. */
interface Wire {
  readonly status: number
  readonly error: string
  readonly description: string
  readonly headers?: HeaderPairs
}

const row = (status: number, error: string, description: string, headers?: HeaderPairs): Wire =>
  headers === undefined ? { status, error, description } : { status, error, description, headers }

/**
 * RFC 6749 §4.1.2.1 and §5.2, 6750 §3.1, 7591 §3.2.2, 8707 §2: the one table from a refusal to the wire. A tag without
 * a row does not compile. Reasons that would tell a guesser how close the guess came share one description.
 */
export const toWire = (refusal: Refusal): Wire =>
  Match.valueTags(refusal, {
    InvalidRequest: ({ message }) => row(400, "invalid_request", message),
    InvalidClient: () =>
      row(401, "invalid_client", "The client is not known, or did not show its own secret by its own method."),
    InvalidGrant: () =>
      row(
        400,
        "invalid_grant",
        "The code or token is not valid, has expired, was used or revoked, or is not this client's."
      ),
    InvalidScope: ({ reason }) =>
      reason === "wider_than_granted"
        ? row(400, "invalid_scope", "The scope is wider than what was granted.")
        : row(400, "invalid_scope", "None of these scopes can be granted to this client."),
    InvalidTarget: ({ reason }) => row(400, "invalid_target", target[reason]),
    UnauthorizedClient: ({ reason }) => row(400, "unauthorized_client", unauthorized[reason]),
    UnsupportedGrantType: () => row(400, "unsupported_grant_type", "The server does not know this grant type."),
    UnsupportedResponseType: () => row(400, "unsupported_response_type", "The server answers response_type=code only."),
    AccessDenied: () => row(400, "access_denied", "The person did not allow it."),
    AuthorizationPending: () => row(400, "authorization_pending", "The person has not answered yet."),
    SlowDown: () => row(400, "slow_down", "The device asks too often: it has to wait five seconds longer each time."),
    ExpiredToken: () => row(400, "expired_token", "The device_code has expired: the device has to begin anew."),
    InvalidUserCode: () => row(400, "invalid_request", "No device waits with this code."),
    LoginRequired: () => row(400, "login_required", "The person has to sign in."),
    UnmetAuthentication: () =>
      row(400, "unmet_authentication_requirements", "No means of sign-in here is as strong as the request needs."),
    ConsentRequired: () => row(400, "consent_required", "The person has to allow it."),
    InteractionRequired: () => row(400, "interaction_required", "The person has to choose where it is to be allowed."),
    UntrustedRequest: () => row(400, "invalid_request", "The client or its redirect_uri is not registered here."),
    InvalidRequestUri: () =>
      row(400, "invalid_request_uri", "The request_uri is not known, has expired, was used, or is not this client's."),
    InvalidRequestObject: () =>
      row(400, "invalid_request_object", "The request object is not one that this client signed for this server, now."),
    RequestNotSupported: ({ parameter }) => row(400, `${parameter}_not_supported`, notSupported[parameter]),
    ForgedForm: () => row(403, "access_denied", "The form was not sent from this server's own page."),
    OwnersOnly: () => row(403, "access_denied", "Only owners of the workspace can do this."),
    NoSuchRoute: ({ reason }) =>
      reason === "method"
        ? row(405, "invalid_request", "The method is not one of this endpoint's.")
        : row(404, "not_found", "There is nothing at this address."),
    InvalidRedirectUri: ({ message }) => row(400, "invalid_redirect_uri", message),
    InvalidClientMetadata: ({ message }) => row(400, "invalid_client_metadata", message),
    TokenRequired: () => row(401, "invalid_token", "An access token is needed."),
    InvalidToken: () => row(401, "invalid_token", "The access token is not valid, has expired or was revoked."),
    // RFC 8693 §2.2.2: whatever is wrong with it, the error is `invalid_request`.
    InvalidSubjectToken: () =>
      row(
        400,
        "invalid_request",
        "The subject_token is not valid, has expired, was revoked, or was not sent to this client."
      ),
    InvalidDpopProof: ({ reason }) => row(400, "invalid_dpop_proof", proof[reason]),
    UseDpopNonce: ({ nonce }) =>
      row(400, "use_dpop_nonce", "The DPoP proof has to hold this nonce.", [[dpopNonceHeader, nonce]]),
    InsufficientScope: () => row(403, "insufficient_scope", "The access token lacks a scope that this request needs."),
    InsufficientAuthentication: () =>
      row(401, "insufficient_user_authentication", "The person has to sign in again, or more strongly."),
    WrongCaller: () => row(403, "insufficient_scope", "The access token is valid, but its kind may not call this."),
    RegistrationRefused: ({ reason }) => {
      switch (reason) {
        case "closed":
          return row(403, "access_denied", "Clients are registered by the owners of this workspace.")
        case "full":
          return comeBack("There is no room for more clients. Try again.", 60)
        case "token_missing":
        case "token_wrong":
          return row(401, "invalid_token", "Registering here takes an initial access token.")
      }
    },
    Contended: () => comeBack("Too many requests met on one record. Try again.", 1),
    TooManyRequests: ({ retryAfterSeconds }) =>
      row(429, "temporarily_unavailable", "Too many requests. Try again later.", retryAfter(retryAfterSeconds)),
    PortUnavailable: ({ port }) =>
      // A stranger's host is not hurried.
      comeBack("A service that the server has to ask first is unavailable. Try again.", port === "documents" ? 30 : 2),
    Overloaded: () => comeBack("The server has too much to do. Try again.", 1),
    WorkspaceDisabled: () => comeBack("This workspace is disabled for the time being.", 300)
  })

const notSupported: Record<RequestNotSupported["parameter"], string> = {
  registration: "The server knows clients that registered with it, and takes no registration in a request.",
  request: "The server takes a request object at the endpoint for pushed requests only (RFC 9126).",
  request_uri: "The server takes a request_uri that it gave out itself only (RFC 9126)."
}

const target: Record<InvalidTarget["reason"], string> = {
  malformed: "The resource is not one of this server's.",
  not_ours: "The resource is not one of this server's.",
  wider_than_granted: "The resource is wider than what was granted.",
  takes_none: "The resource takes none of the scopes that were granted."
}

/** The caller made the proof itself, so that nothing is told by saying what of it does not hold. */
const proof: Record<InvalidDpopProof["reason"], string> = {
  proof_missing: "A DPoP proof is needed.",
  proof_repeated: "The request has to bring one DPoP header, with one proof.",
  proof_malformed: "The DPoP proof is no signed JWT.",
  proof_typ: "The typ of the DPoP proof has to be dpop+jwt.",
  proof_alg: "The alg of the DPoP proof is none that is taken here.",
  proof_key: "The jwk of the DPoP proof has to be a public key of its alg, and nothing else.",
  proof_forged: "The signature of the DPoP proof does not hold.",
  proof_jti: "The DPoP proof needs a jti of at most 256 characters.",
  proof_htm: "The htm of the DPoP proof is not the method of this request.",
  proof_htu: "The htu of the DPoP proof is not the address of this request.",
  proof_iat: "The DPoP proof was made too long ago, or too far ahead.",
  proof_ath: "The ath of the DPoP proof is not of this token.",
  proof_jkt: "The key of the DPoP proof is not the one that dpop_jkt names.",
  proof_replayed: "The DPoP proof was used before."
}

const notThisGrant = "The client may not use this grant type."
// Refused or not answered yet: which of the two is between the owners.
const unapproved = "An owner of the workspace has to approve this application for access without a person."

const unauthorized: Record<UnauthorizedClient["reason"], string> = {
  grant_type_not_registered: notThisGrant,
  workspace_grant_revoked: notThisGrant,
  no_owner_answers: notThisGrant,
  approval_awaited: unapproved,
  approval_refused: unapproved,
  serves_no_resource: notThisGrant,
  web_page: "This grant type is for servers; a web page of another origin may not use it."
}

const retryAfter = (seconds: number): HeaderPairs => [["retry-after", String(seconds)]]

const comeBack = (description: string, seconds: number): Wire =>
  row(503, "temporarily_unavailable", description, retryAfter(seconds))

const storageAway = comeBack("The server cannot reach its storage. Try again.", 2)

export const faultToWire = (fault: Fault): Wire => (fault._tag === "StorageUnavailable" ? storageAway : toWire(fault))

/** Refused as OAuth's endpoints refuse. */
export const oauthError = (fault: Fault, challenges: HeaderPairs = []): HttpResponse => {
  const { description, error, headers = [], status } = faultToWire(fault)
  return secretJson(status, { error, error_description: description }, [...challenges, ...headers])
}

const quoted = (text: string): string => `"${text.replace(/["\\]/g, "")}"`

/** The rows whose schemes a refusal names. */
interface Challengers {
  readonly clientAuths: ReadonlyMap<string, Pick<ClientAuth, "scheme">>
  readonly presentations: ReadonlyArray<Presentation>
}

/** RFC 9110 §11.6.1: how to authenticate where a client, or an initial access token, was not good. */
const challengesOf = ({ clientAuths }: Challengers, fault: Fault): HeaderPairs => {
  const { _tag } = fault
  if (_tag === "RegistrationRefused" && (fault.reason === "token_missing" || fault.reason === "token_wrong")) {
    return [["www-authenticate", bearerScheme]]
  }
  if (fault._tag !== "InvalidClient" || !fault.triedHeader) return []
  // RFC 6749 §5.2: a client that used the header is told its schemes.
  return [...clientAuths.values()].flatMap(({ scheme }) =>
    scheme === undefined ? [] : [["www-authenticate", `${scheme} realm="oauth"`] as const]
  )
}

/** What a protected resource says of itself where it refuses a caller. */
interface Refusing {
  /** Its path below the issuer, or its whole address, where it goes by a name of its own. */
  readonly resource?: string | undefined
  /** What the route needs. */
  readonly scopes?: ReadonlyArray<string> | undefined
}

const metadataOf = (workspace: Workspace, resource: string | undefined): string =>
  resource === undefined || resource.startsWith("/")
    ? endpointUrl(workspace, protectedResourcePath) + (resource ?? "")
    : resourceMetadataUrl(resource)

/** The listed resource of which a path of the issuer's host is a part; `undefined` where it is none's. */
export const resourceAt = (workspace: Workspace, path: string): string | undefined =>
  workspace.resources === undefined
    ? undefined
    : definitionOf(workspace, new URL(originOf(workspace.issuer) + path).href)?.at

/** RFC 9470 §3: what an authorization request has to ask for, so that the next token does. */
const stepUpOf = (fault: Fault): ReadonlyArray<string> =>
  fault._tag === "InsufficientAuthentication"
    ? [
        ...(fault.acr.length === 0 ? [] : [`acr_values=${quoted(fault.acr.join(" "))}`]),
        ...(fault.maxAge === null ? [] : [`max_age=${quoted(String(fault.maxAge))}`])
      ]
    : []

/** RFC 6750 §3 and RFC 9728 §5.1: refused as a protected resource refuses, with the way to a token. */
export const resourceError = (
  presentations: ReadonlyArray<Presentation>,
  workspace: Workspace,
  fault: Fault,
  { resource, scopes = [] }: Refusing = {}
): HttpResponse => resourceRefusal(presentations, metadataOf(workspace, resource), fault, scopes)

/** The same for a resource server of its own, whose metadata stands elsewhere. */
export const resourceRefusal = (
  presentations: ReadonlyArray<Presentation>,
  metadataUrl: string,
  fault: Fault,
  /** What the route needs: who has no good token is told what to ask for. */
  scopes: ReadonlyArray<string>
): HttpResponse => {
  // RFC 9110 §11.6.1: one field for all, since many a framework keeps the last of two.
  const challenges = (parameters: ReadonlyArray<string>): HeaderPairs => {
    const told = presentations.flatMap(({ challenge }) => challenge?.(parameters, fault) ?? [])
    return told.length === 0 ? [] : [["www-authenticate", told.join(", ")]]
  }
  const metadata = `resource_metadata=${quoted(metadataUrl)}`
  const scopeOf = (names: ReadonlyArray<string>) => (names.length === 0 ? [] : [`scope=${quoted(names.join(" "))}`])
  if (fault._tag === "TokenRequired") return empty(401, [...challenges([metadata, ...scopeOf(scopes)]), ...noStore])
  const wire = faultToWire(fault)
  const { headers = [] } = wire
  // RFC 9449 §7.1, §9: what a token endpoint calls a bad request is a lack of authentication at a resource.
  const status = isAboutProof(fault) ? 401 : wire.status
  const body = { error: wire.error, error_description: wire.description }
  if (status !== 401 && status !== 403) return json(status, body, [...noStore, ...headers])
  const parameters = [
    `error=${quoted(wire.error)}`,
    `error_description=${quoted(wire.description)}`,
    // Of another kind of caller, no scope would make it do.
    ...(fault._tag === "WrongCaller" ? [] : scopeOf(fault._tag === "InsufficientScope" ? fault.needed : scopes)),
    ...stepUpOf(fault),
    metadata
  ]
  return secretJson(status, body, [...challenges(parameters), ...headers])
}

const unreadable = (fault: Refusal): Errors.CommonError => {
  const wire = faultToWire(fault)
  return Errors.notUnderstood(wire.status, wire.description)
}

/** The page of a form is at the path of the form. The consent page opens from its authorization request. */
const startAgainAt = (fault: ForgedForm, call: Call): string | undefined =>
  fault.startAgainAt ?? (call.path === consentPath ? undefined : pagesPath(call.workspace) + call.path)

/** The error page of a refusal. */
const errorOf = (fault: Exclude<Fault, TooManyRequests>, call: Call): Errors.CommonError => {
  const base = pagesPath(call.workspace)
  const isSignOut = call.path === logoutPath
  const signOutAt = base + logoutPath
  switch (fault._tag) {
    case "UntrustedRequest":
      return isSignOut ? Errors.untrustedSignOut(fault, signOutAt) : Errors.untrustedRequest(fault)
    case "InvalidRequestUri":
      return Errors.requestUriOver(fault.reason)
    case "InvalidRequest":
      if (isSignOut) return Errors.notSignedOut(fault.message, [], signOutAt)
      return fault.reason === "request_too_long" ? Errors.requestTooLong(fault.message) : unreadable(fault)
    case "ForgedForm":
      return Errors.formExpired(startAgainAt(fault, call))
    case "OwnersOnly":
      return Errors.ownersOnly(`${base}/settings`)
    case "NoSuchRoute":
      return fault.reason === "method" ? Errors.openedDifferently(`${base}/`) : Errors.pageNotFound(`${base}/`)
    case "StorageUnavailable":
      return Errors.unavailable
    case "PortUnavailable":
      return fault.port === "documents" ? Errors.documentUnreachable : Errors.unavailable
    case "Contended":
    case "Overloaded":
      return Errors.unavailable
    case "WorkspaceDisabled":
      return Errors.workspaceDisabled
    default:
      return unreadable(fault)
  }
}

const tooMany = (pages: Pages["Service"], call: Call, fault: TooManyRequests): HttpResponse =>
  pages.show(call.workspace, 429, (place) =>
    rateLimitedPage(place, {
      retryAfterSeconds: fault.retryAfterSeconds,
      of: Errors.limitInWords(fault.limit),
      requestId: call.requestId
    })
  )

/** An error page under its status, with the id by which an operator finds the request. */
export const commonErrorPage = (
  pages: Pages["Service"],
  call: Pick<Call, "requestId" | "workspace">,
  { status, ...words }: CommonError
): HttpResponse => pages.error(call.workspace, status, { ...words, requestId: call.requestId })

/** A refusal as a page; `pages/CommonErrors.ts` has the words. */
export const faultPage = (pages: Pages["Service"], call: Call, fault: Fault): HttpResponse => {
  if (fault._tag === "TooManyRequests") return tooMany(pages, call, fault)
  const response = commonErrorPage(pages, call, errorOf(fault, call))
  const headers = faultToWire(fault).headers ?? []
  return { ...response, headers: [...response.headers, ...headers] }
}

const refusedHere = (
  { presentations }: Challengers,
  { request, workspace }: Call,
  scopes: ReadonlyArray<string>,
  fault: Fault
) => resourceError(presentations, workspace, fault, { resource: resourceAt(workspace, request.path), scopes })

/** A fault in the form of the route that it came up on. */
export const answerFault = (
  services: Challengers & { readonly pages: Pages["Service"] },
  call: Call,
  { errors, scopes }: Pick<Route, "errors" | "scopes">,
  fault: Fault
): HttpResponse => {
  switch (errors) {
    case "oauth":
      return fault._tag === "InvalidToken" || fault._tag === "TokenRequired"
        ? refusedHere(services, call, scopes, fault)
        : oauthError(fault, challengesOf(services, fault))
    case "bearer":
      return refusedHere(services, call, scopes, fault)
    case "page":
      return faultPage(services.pages, call, fault)
  }
}

/** A fault of ours tells nothing of itself. */
export const broken = secretJson(500, {
  error: "server_error",
  error_description: "Something went wrong on our side."
})
