/** `tessera/core`: what composes a server of layers, stores its records or proves its decisions. */

// The server, for hosts that compose it

export { type ClientMember, clientMember } from "./client/ClientMember.ts"
export { clientMembers } from "./client/members.ts"
export { layer as fetchedKeys } from "./engine/FetchedKeys.ts"
export { type MayMove, OtherIssuer } from "./engine/Openings.ts"
export type { HeaderPairs, HttpRequest, HttpResponse } from "./http/Http.ts"
export type {
  Call,
  Contract,
  Destination,
  Endpoint,
  EndpointMetadata,
  ErrorForm,
  Handler,
  HandlerOf,
  MetadataMember,
  Operation,
  Route,
  Services
} from "./http/Route.ts"
export { bound, names, page, pageEndpoint } from "./http/Route.ts"
export { safeReturnUrl } from "./http/returnUrl.ts"
export { LimitSharing, layer as sharedLimits, limitsOf, type RateLimits } from "./limits/SharedLimiter.ts"
export {
  type AuthPorts,
  type AuthRequest,
  type ClientAuth,
  type ClientAuthRow,
  clientAuth,
  type ProofFault,
  type Shown
} from "./oauth/clients/ClientAuth.ts"
export { clientAuths } from "./oauth/clients/table.ts"
export type { ConsentAsked, ConsentTold } from "./oauth/endpoints/consentElsewhere.ts"
export { endpoints } from "./oauth/endpoints/table.ts"
export type { CallerKind, Needs, PrincipalOf } from "./oauth/presented/guard.ts"
export type { Presentation, Presented } from "./oauth/presented/Presentation.ts"
export { presentations } from "./oauth/presented/table.ts"
export { DuplicateRow } from "./oauth/rowsByName.ts"
export type { AuthorizationRequest } from "./request/AuthorizationRequest.ts"
export { type Interaction, interaction } from "./request/interaction.ts"
export type { CheckedRequest } from "./request/readRequest.ts"
export { type ClaimScope, claimScopes } from "./rules/Claims.ts"
export { type Mount, mountOf, type Serve, serveWith } from "./serve.ts"
export type { SettingsOptions } from "./settings/inside.ts"
export { settingsEndpoints } from "./settings/settingsEndpoints.ts"
export { type Guarded, makeTessera, Tessera, type TesseraOptions } from "./Tessera.ts"

// The ports: what a host provides

export { Audit, type AuditEntry, type AuditEvent } from "./ports/Audit.ts"
export { ClientKeys, type FetchedKeySource, type KeySource, KeysFault } from "./ports/ClientKeys.ts"
export { type Document, DocumentFault, type DocumentLimits, Documents } from "./ports/Documents.ts"
export { Entropy } from "./ports/Entropy.ts"
export { type Allowance, Limiter, type LimitKey } from "./ports/Limiter.ts"
export { type OwnPages, Pages } from "./ports/Pages.ts"
export { RegistrationPolicy } from "./ports/RegistrationPolicy.ts"
export { type Profile, ResourceOwner, type SignedIn } from "./ports/ResourceOwner.ts"
export {
  SignatureFault,
  Signatures,
  type Signer,
  type Verified,
  type WrappedKey,
  type Wrapping
} from "./ports/Signatures.ts"
export {
  Conflict,
  type InsertAndReplace,
  type Json,
  type Kind,
  kinds,
  type Listing,
  type NewRecord,
  type Page,
  type RecordKey,
  type Slice,
  Storage,
  StorageScan,
  StorageUnavailable,
  type StoredRecord,
  Taken
} from "./ports/Storage.ts"
export { Workspaces } from "./ports/Workspaces.ts"
export { WorkspaceClash, WorkspaceTable } from "./workspace/WorkspaceTable.ts"

// Pages that a host draws itself, or has in its own colours

export { type ConsentPage, clientName, type ReturnAddress, returnAddress } from "./pages/Consent.ts"
export { readTheme, Theme, type ThemeOptions } from "./workspace/Theme.ts"

// The decisions: functions, for proofs of a policy of your own

export { type AuthenticatedClient, authenticate } from "./client/authenticate.ts"
export { Client } from "./client/Client.ts"
export { makeKey, readKey } from "./grant/apiKey.ts"
export { Binding } from "./grant/Binding.ts"
export { type Approved, begin } from "./grant/begin.ts"
export { checkAccess, checkKey, checkRefresh } from "./grant/check.ts"
export { answer, answerAndKeep, type Decision, refuse, refuseAndKeep } from "./grant/Decision.ts"
export {
  type Active,
  Grant,
  type Key,
  type KeyUse,
  type Pending,
  type Revoked,
  type Standing,
  Subject
} from "./grant/Grant.ts"
export {
  accessToken,
  activeFrom,
  lineBinding,
  noAccessTokensYet,
  type Tokens,
  tokensOf
} from "./grant/issue.ts"
export type { ApiKeyPrincipal, Principal, UserPrincipal, WorkspacePrincipal } from "./grant/Principal.ts"
export { revoked, revokeGrant, revokeToken } from "./grant/revoke.ts"
export type { Fresh, Step } from "./grant/Step.ts"
export { authorizationCode } from "./oauth/grants/authorizationCode.ts"
export { clientCredentials } from "./oauth/grants/clientCredentials.ts"
export { type GrantType, grantType } from "./oauth/grants/GrantType.ts"
export { refreshToken } from "./oauth/grants/refreshToken.ts"
export { grantTypes } from "./oauth/grants/table.ts"

// Keys and tokens

export {
  BadSealKey,
  type KeyRing,
  Keys,
  makeSealer,
  type Place,
  parseKeyRing,
  type Sealer,
  type SealKey,
  sealKey
} from "./token/KeyRing.ts"
export {
  type AccessToken,
  type CodeToken,
  open,
  openAny,
  type RefreshToken,
  seal,
  type Token,
  type TokenFault
} from "./token/Token.ts"

// The words, and the small rules about them

export { ClientId, GrantId, UserId } from "./rules/Id.ts"
export { Instant, later } from "./rules/Instant.ts"
export { Algorithm, PublicKey } from "./rules/Jwk.ts"
export { CodeChallenge, CodeVerifier, provesPossession, readChallenge, readVerifier } from "./rules/Pkce.ts"
export { Policy, standardPolicy } from "./rules/Policy.ts"
export { checkRedirectUri, matchRedirectUri, RedirectTarget, RedirectUri } from "./rules/RedirectUri.ts"
export { InvalidGrant, InvalidScope, InvalidTarget, type Refusal, UnauthorizedClient } from "./rules/Refusal.ts"
export { Resource, readResources } from "./rules/Resource.ts"
export {
  allScopes,
  grantScopes,
  narrowScopes,
  ScopeDefinition,
  ScopeName,
  ScopeRegistry,
  Scopes,
  standardScopes
} from "./rules/Scope.ts"
export { type Credential, credential, Digest, digestOf, sameDigest } from "./rules/Secret.ts"
export { Issuer, type OpenWorkspace, parseIssuer, Workspace, WorkspaceId } from "./workspace/Workspace.ts"
