import { Schema } from "effect"

/**
 * Why a request was refused. The tag is what the client may know (RFC 6749 §5.2, 6750 §3.1, 7591 §3.2.2, 8707 §2);
 * the reason is for the operator and for tests, never for the wire.
 */
export class InvalidRequest extends Schema.TaggedError<InvalidRequest>()("InvalidRequest", {
  reason: Schema.Literals([
    "repeated_parameter",
    "missing_parameter",
    "malformed_parameter",
    "wrong_content_type",
    "unreadable_body",
    "two_client_credentials",
    "two_client_ids",
    "challenge_required",
    "challenge_malformed",
    "challenge_method",
    "verifier_malformed",
    "response_mode",
    "request_too_long",
    "prompt_none_with_another",
    "id_token_hint",
    "request_not_pushed",
    "request_uri_pushed",
    "request_unsigned"
  ]),
  /** For the client's developer; holds nothing but names of parameters and rules. */
  message: Schema.String
}) {}

/** Why no client comes of the metadata document that its identifier leads to. */
const documentFaults = [
  /** By an owner, who blocked its host. */
  "document_refused",
  "document_address",
  "document_too_long",
  "document_malformed",
  /** It is another client's: its `client_id` is not its own address. */
  "document_mismatch",
  "document_secret",
  "document_unusable"
] as const
export type DocumentFaultName = (typeof documentFaults)[number]

export class InvalidClient extends Schema.TaggedError<InvalidClient>()("InvalidClient", {
  reason: Schema.Literals([
    "none_presented",
    "unknown",
    "disabled",
    "bad_secret",
    "bad_assertion",
    "assertion_algorithm",
    "assertion_key_unknown",
    "assertion_type",
    "assertion_subject",
    "assertion_audience",
    "assertion_expired",
    "assertion_too_long_lived",
    "assertion_from_the_future",
    "assertion_without_id",
    "assertion_replayed",
    "wrong_method",
    "unreadable",
    ...documentFaults
  ]),
  /** RFC 6749 §5.2: a client that used the Authorization header is told which schemes it takes. */
  triedHeader: Schema.Boolean
}) {}

/** Why a text is no token of ours, before its grant is looked for. */
export const tokenFaults = ["malformed", "wrong_kind", "unknown_key", "forged", "expired"] as const

export class InvalidGrant extends Schema.TaggedError<InvalidGrant>()("InvalidGrant", {
  reason: Schema.Literals([
    ...tokenFaults,
    "unknown",
    "other_client",
    "revoked",
    "not_redeemed",
    "code_replayed",
    "code_replayed_without_verifier",
    "refresh_reused",
    "ahead_of_grant",
    "redirect_uri_differs",
    "verifier_missing",
    "verifier_unexpected",
    "verifier_wrong",
    "binding_differs",
    "assertion_type",
    "assertion_issuer",
    "assertion_algorithm",
    "assertion_audience",
    "assertion_subject",
    "assertion_too_long_lived",
    "assertion_from_the_future",
    "assertion_without_id",
    "person_unknown"
  ]),
  /** The mark of the grant that ended with this refusal. */
  ended: Schema.optionalKey(Schema.String)
}) {}

export class InvalidScope extends Schema.TaggedError<InvalidScope>()("InvalidScope", {
  reason: Schema.Literals(["none_to_be_had", "wider_than_granted"])
}) {}

export class InvalidTarget extends Schema.TaggedError<InvalidTarget>()("InvalidTarget", {
  reason: Schema.Literals(["malformed", "not_ours", "wider_than_granted", "takes_none"])
}) {}

export class UnauthorizedClient extends Schema.TaggedError<UnauthorizedClient>()("UnauthorizedClient", {
  reason: Schema.Literals([
    "grant_type_not_registered",
    "workspace_grant_revoked",
    "no_owner_answers",
    "approval_awaited",
    "approval_refused",
    "serves_no_resource",
    "web_page"
  ])
}) {}

export class UnsupportedGrantType extends Schema.TaggedError<UnsupportedGrantType>()("UnsupportedGrantType", {}) {}

export class UnsupportedResponseType extends Schema.TaggedError<UnsupportedResponseType>()(
  "UnsupportedResponseType",
  {}
) {}

/** RFC 6749 §4.1.2.1: the person said no. */
export class AccessDenied extends Schema.TaggedError<AccessDenied>()("AccessDenied", {}) {}

/** RFC 8628 §3.5: the person has not answered yet. */
export class AuthorizationPending extends Schema.TaggedError<AuthorizationPending>()("AuthorizationPending", {}) {}

/** RFC 8628 §3.5: the device asks more often than it was told to. */
export class SlowDown extends Schema.TaggedError<SlowDown>()("SlowDown", {}) {}

/** RFC 8628 §3.5: the person did not answer in time, and the device has to begin anew. */
export class ExpiredToken extends Schema.TaggedError<ExpiredToken>()("ExpiredToken", {}) {}

/** RFC 8628 §3.3: the code that a person entered is of no device that waits. */
export class InvalidUserCode extends Schema.TaggedError<InvalidUserCode>()("InvalidUserCode", {
  reason: Schema.Literals(["malformed", "unknown", "expired", "answered"])
}) {}

/** OpenID Connect Core §3.1.2.6: no person signed in, or not as the request asks. */
export class LoginRequired extends Schema.TaggedError<LoginRequired>()("LoginRequired", {}) {}

/** RFC 9470 §5: the request takes a stronger sign-in than there is here. */
export class UnmetAuthentication extends Schema.TaggedError<UnmetAuthentication>()("UnmetAuthentication", {}) {}

/** OpenID Connect Core §3.1.2.6: the request takes the person's yes, and no page may be shown. */
export class ConsentRequired extends Schema.TaggedError<ConsentRequired>()("ConsentRequired", {}) {}

/** OpenID Connect Core §3.1.2.6: the person has to choose something, and no page may be shown. */
export class InteractionRequired extends Schema.TaggedError<InteractionRequired>()("InteractionRequired", {
  reason: Schema.Literals(["place"])
}) {}

/** RFC 6749 §4.1.2.1: who asks, or where the answer should go, does not hold, so no browser is sent anywhere. */
export class UntrustedRequest extends Schema.TaggedError<UntrustedRequest>()("UntrustedRequest", {
  reason: Schema.Literals([
    "client_missing",
    "client_unknown",
    "client_disabled",
    "client_repeated",
    "redirect_uri_missing",
    "redirect_uri_repeated",
    "redirect_uri_not_registered",
    ...documentFaults
  ]),
  /** What the request said, as far as it did: for its developer, on the page and nowhere else. */
  clientId: Schema.optionalKey(Schema.String),
  redirectUri: Schema.optionalKey(Schema.String)
}) {}

/**
 * RFC 9126 §2.2, RFC 9101 §7: the `request_uri` is none that this client may use now, so no browser is sent anywhere.
 */
export class InvalidRequestUri extends Schema.TaggedError<InvalidRequestUri>()("InvalidRequestUri", {
  reason: Schema.Literals([
    "malformed",
    "unknown_key",
    "forged",
    "expired",
    "unknown",
    "used",
    "other_client",
    "repeated",
    "beside_request"
  ])
}) {}

/** RFC 9101 §7: the request object is not one that this client signed for this server, now. */
export class InvalidRequestObject extends Schema.TaggedError<InvalidRequestObject>()("InvalidRequestObject", {
  reason: Schema.Literals([
    "malformed",
    "algorithm",
    "key_unknown",
    "forged",
    "type",
    "client",
    "subject",
    "audience",
    "expired",
    "too_long_lived",
    "from_the_future",
    "too_old",
    "nested"
  ])
}) {}

/** OpenID Connect Core §6: the request came in a form that this endpoint does not take, and is never read without it. */
export class RequestNotSupported extends Schema.TaggedError<RequestNotSupported>()("RequestNotSupported", {
  parameter: Schema.Literals(["request", "request_uri", "registration"])
}) {}

/** A page's form came from somewhere else, from another session, too late, or not whole. */
export class ForgedForm extends Schema.TaggedError<ForgedForm>()("ForgedForm", {
  reason: Schema.Literals(["csrf", "ticket", "expired", "field_missing"]),
  /** Where the form can be had anew, where its page is not at its own path. */
  startAgainAt: Schema.optionalKey(Schema.String)
}) {}

/** A member asked for what the owners of the workspace look after. */
export class OwnersOnly extends Schema.TaggedError<OwnersOnly>()("OwnersOnly", {}) {}

/** The path or the method is not one of ours. */
export class NoSuchRoute extends Schema.TaggedError<NoSuchRoute>()("NoSuchRoute", {
  reason: Schema.Literals(["workspace", "path", "method"])
}) {}

/** RFC 7591 §3.2.2. */
export class InvalidRedirectUri extends Schema.TaggedError<InvalidRedirectUri>()("InvalidRedirectUri", {
  message: Schema.String
}) {}

/** RFC 7591 §3.2.2. */
export class InvalidClientMetadata extends Schema.TaggedError<InvalidClientMetadata>()("InvalidClientMetadata", {
  message: Schema.String
}) {}

/** RFC 6750 §3: nothing was presented at all, so nothing is said about it. */
export class TokenRequired extends Schema.TaggedError<TokenRequired>()("TokenRequired", {}) {}

export class InvalidToken extends Schema.TaggedError<InvalidToken>()("InvalidToken", {
  reason: Schema.Literals([
    ...tokenFaults,
    "unknown",
    "revoked",
    "not_redeemed",
    "client_gone",
    "client_disabled",
    "grant_type_not_registered",
    "workspace_access_ended",
    "bad_secret",
    "other_resource",
    "binding_differs",
    "exchange_ended",
    "issuer_removed"
  ])
}) {}

/** RFC 8693 §2.2.2: the token that is to be exchanged is worth nothing, or not this client's to exchange. */
export class InvalidSubjectToken extends Schema.TaggedError<InvalidSubjectToken>()("InvalidSubjectToken", {
  reason: Schema.Literals([...InvalidToken.fields.reason.literals, "not_sent_here", "too_many_actors"])
}) {}

/** RFC 9449 §5, §7.1: the caller did not show that it holds the key which a token is bound to, or is to be bound to. */
export class InvalidDpopProof extends Schema.TaggedError<InvalidDpopProof>()("InvalidDpopProof", {
  reason: Schema.Literals([
    "proof_missing",
    "proof_repeated",
    "proof_malformed",
    "proof_typ",
    "proof_alg",
    "proof_key",
    "proof_forged",
    "proof_jti",
    "proof_htm",
    "proof_htu",
    "proof_iat",
    "proof_ath",
    "proof_jkt",
    "proof_replayed"
  ])
}) {}

/** RFC 9449 §8, §9: the proof has to hold a nonce of the server's, and this is one. */
export class UseDpopNonce extends Schema.TaggedError<UseDpopNonce>()("UseDpopNonce", {
  reason: Schema.Literals(["nonce_missing", "nonce_stale"]),
  nonce: Schema.String
}) {}

export class InsufficientScope extends Schema.TaggedError<InsufficientScope>()("InsufficientScope", {
  needed: Schema.Array(Schema.String)
}) {}

/** RFC 9470 §3: the token is good, and its person signed in too long ago, or too weakly, for the resource. */
export class InsufficientAuthentication extends Schema.TaggedError<InsufficientAuthentication>()(
  "InsufficientAuthentication",
  { acr: Schema.Array(Schema.String), maxAge: Schema.NullOr(Schema.Int) }
) {}

/** RFC 6750 §3.1: the token is good, and the resource is for callers of another kind. */
export class WrongCaller extends Schema.TaggedError<WrongCaller>()("WrongCaller", {
  needed: Schema.Array(Schema.Literals(["User", "Workspace", "ApiKey"]))
}) {}

/** RFC 7591 §3: registration is closed, wants an initial access token, or there is no room for another client now. */
export class RegistrationRefused extends Schema.TaggedError<RegistrationRefused>()("RegistrationRefused", {
  reason: Schema.Literals(["closed", "token_missing", "token_wrong", "full"])
}) {}

/** So many requests met on one record that this one gave up before it wrote anything. */
export class Contended extends Schema.TaggedError<Contended>()("Contended", {}) {}

/** A limit was reached; `retryAfterSeconds` from now there is room again. */
export class TooManyRequests extends Schema.TaggedError<TooManyRequests>()("TooManyRequests", {
  limit: Schema.String,
  retryAfterSeconds: Schema.Int
}) {}

/** What has to be asked before the request can be judged is away, or the server has no adapter for it. */
export class PortUnavailable extends Schema.TaggedError<PortUnavailable>()("PortUnavailable", {
  port: Schema.Literals(["signatures", "client_keys", "documents"]),
  /** As the port names it. */
  reason: Schema.String
}) {}

/** The server has more to do than it can; this request was turned away before it was looked at. */
export class Overloaded extends Schema.TaggedError<Overloaded>()("Overloaded", {}) {}

/** The workspace is disabled for the time being. Nothing of it has ended, so clients come again and keep what they have. */
export class WorkspaceDisabled extends Schema.TaggedError<WorkspaceDisabled>()("WorkspaceDisabled", {}) {}

/** Every refusal that a step of the protocol can come to. */
export type Refusal =
  | InvalidRequest
  | InvalidClient
  | InvalidGrant
  | InvalidScope
  | InvalidTarget
  | UnauthorizedClient
  | UnsupportedGrantType
  | UnsupportedResponseType
  | AccessDenied
  | AuthorizationPending
  | SlowDown
  | ExpiredToken
  | InvalidUserCode
  | LoginRequired
  | UnmetAuthentication
  | ConsentRequired
  | InteractionRequired
  | UntrustedRequest
  | InvalidRequestUri
  | InvalidRequestObject
  | RequestNotSupported
  | ForgedForm
  | OwnersOnly
  | NoSuchRoute
  | InvalidRedirectUri
  | InvalidClientMetadata
  | TokenRequired
  | InvalidToken
  | InvalidSubjectToken
  | InvalidDpopProof
  | UseDpopNonce
  | InsufficientScope
  | InsufficientAuthentication
  | WrongCaller
  | RegistrationRefused
  | Contended
  | TooManyRequests
  | PortUnavailable
  | Overloaded
  | WorkspaceDisabled
