import { Option, Schema } from "effect"
import { ClientId, GrantId } from "../rules/Id.ts"
import { hasPassed, Instant } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import { RedirectUri } from "../rules/RedirectUri.ts"
import { Scopes } from "../rules/Scope.ts"
import { Digest } from "../rules/Secret.ts"

const secretMethods = ["client_secret_basic", "client_secret_post"] as const
export const authMethods = [...secretMethods, "none"] as const
export const AuthMethod = Schema.Literals(authMethods)
export type AuthMethod = typeof AuthMethod.Type

export const grantTypes = ["authorization_code", "refresh_token", "client_credentials"] as const
export const GrantType = Schema.Literals(grantTypes)
export type GrantType = typeof GrantType.Type

/** What a client tells about itself to people. Nothing is decided by it, and all of it is somebody's claim. */
export const About = Schema.Struct({
  client_name: Schema.optionalKey(Schema.String),
  client_uri: Schema.optionalKey(Schema.String),
  logo_uri: Schema.optionalKey(Schema.String),
  tos_uri: Schema.optionalKey(Schema.String),
  policy_uri: Schema.optionalKey(Schema.String),
  contacts: Schema.optionalKey(Schema.Array(Schema.String)),
  software_id: Schema.optionalKey(Schema.String),
  software_version: Schema.optionalKey(Schema.String),
  application_type: Schema.optionalKey(Schema.String)
})
export type About = typeof About.Type

/** How a client proves that it is itself: a public one cannot (RFC 6749 §2.1). */
export const ClientCredential = Schema.TaggedUnion({
  Public: {},
  Secret: { digest: Digest, method: Schema.Literals(secretMethods) }
})
export type ClientCredential = typeof ClientCredential.Type

/** Who made a client: itself, by registering, or an owner of the workspace, who then answers for it. */
export const ClientMaker = Schema.Literals(["itself", "owner"])
export type ClientMaker = typeof ClientMaker.Type

export const Client = Schema.Struct({
  id: ClientId,
  about: About,
  credential: ClientCredential,
  /** Opens the client's own registration (RFC 7592). */
  registration: Digest,
  redirectUris: Schema.Array(RedirectUri),
  grantTypes: Schema.Array(GrantType),
  /** The most that it may be granted. */
  scope: Scopes,
  /** The id of its workspace grant, drawn at registration so that two first requests meet on one record. */
  workspaceGrant: GrantId,
  createdAt: Instant,
  madeBy: ClientMaker,
  /** When it first completed a flow; one that made itself and never did is forgotten after a while. */
  provenAt: Schema.NullOr(Instant),
  expiresAt: Schema.NullOr(Instant),
  disabled: Schema.Boolean
})
export type Client = typeof Client.Type

/** A client that is there: known, and not forgotten meanwhile. */
export const isKnown = (client: Client, now: Instant): boolean =>
  client.expiresAt === null || !hasPassed(client.expiresAt, now)

export const mayUse = (client: Client, grantType: GrantType): boolean => client.grantTypes.includes(grantType)

/** Whether a client of this maker may act for the workspace itself, if it registered for it. */
export const mayActForWorkspace = (madeBy: ClientMaker, { workspaceAccess }: Policy): boolean =>
  workspaceAccess === "registered" || madeBy === "owner"

/** What people read where a client is named; its id where it gave no name. */
export const displayName = (client: Client): string => client.about.client_name ?? client.id

export const proven = (client: Client, now: Instant): Option.Option<Client> =>
  client.provenAt === null ? Option.some({ ...client, provenAt: now, expiresAt: null }) : Option.none()

/** RFC 7591 §3.2.1: everything that was registered, as clients are told it. */
export const ClientInformation = Schema.Struct({
  client_id: ClientId,
  client_id_issued_at: Schema.Int.annotate({ description: "In seconds since 1970." }),
  ...About.fields,
  redirect_uris: Schema.Array(Schema.String),
  grant_types: Schema.Array(GrantType),
  response_types: Schema.Array(Schema.Literal("code")),
  token_endpoint_auth_method: AuthMethod,
  scope: Schema.String.annotate({ description: "The most that it may be granted." })
})
export type ClientInformation = typeof ClientInformation.Type
