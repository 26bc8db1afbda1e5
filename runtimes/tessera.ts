/**
 * `tessera`: an authorization server in one call, for a host with users and a store. `tessera/core` has its parts. Types
 * that are members of these go by them, as `CreateOptions["dpop"]`.
 */

export { SecretRefused } from "../core/client/ClientSecret.ts"
export { OtherIssuer } from "../core/engine/Openings.ts"
export type { ConsentPage } from "../core/pages/Consent.ts"
export type { AuditEntry } from "../core/ports/Audit.ts"
export { StorageUnavailable } from "../core/ports/Storage.ts"
export { Contended, InvalidClientMetadata, InvalidRedirectUri } from "../core/rules/Refusal.ts"
export type { Mount } from "../core/serve.ts"
export type { ThemeOptions } from "../core/workspace/Theme.ts"
export type { ApiKey, ApiKeysApi, NewApiKey } from "./embed/apiKeys.ts"
export type { ClientMetadata, ClientsApi, NewClient, RegisteredClient } from "./embed/clients.ts"
export {
  createTessera,
  type EmbeddedTessera,
  type HostingTessera,
  type WorkspaceTessera
} from "./embed/createTessera.ts"
export type { GrantsApi, UserGrant } from "./embed/grants.ts"
export type { HostPeople, HostPerson, HostRequest } from "./embed/hostOwner.ts"
export type {
  CreateOptions,
  HostingOptions,
  ResourceOption,
  ScopeOption,
  TrustedIssuerOption,
  WorkspaceOption
} from "./embed/Options.ts"
export { BadOption } from "./embed/Options.ts"
export type { Caller } from "./guard/Check.ts"
