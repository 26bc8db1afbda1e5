import { Schema } from "effect"
import { ClientId, GrantId } from "../rules/Id.ts"
import { hasPassed, Instant, later } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import { RedirectUri } from "../rules/RedirectUri.ts"
import { AccessTokenFormat, Resource } from "../rules/Resource.ts"
import { allScopes, type ScopeRegistry, Scopes } from "../rules/Scope.ts"
import { Digest } from "../rules/Secret.ts"
import { BroughtIdentifier, ClientIdentifier } from "./ClientIdentifier.ts"

/** What a client tells people about itself: an unverified claim, so nothing is decided by it. */
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

/**
 * What the record keeps of how a client proves itself. The row of client authentications that registered the client
 * reads and writes it; a release without that row still lists and deletes the client.
 */
export const StoredCredential = Schema.StructWithRest(
  Schema.Struct({
    /** RFC 6749 §2.1: `Public` for a client that proves nothing. */
    _tag: Schema.String,
    /** The client's `token_endpoint_auth_method`; a public client's is `none`, and not written. */
    method: Schema.optionalKey(Schema.String)
  }),
  [Schema.Record(Schema.String, Schema.Unknown)]
)
export type StoredCredential = typeof StoredCredential.Type

/** Who made a client: itself, by registering, or an owner of the workspace, who then answers for it. */
export const ClientMaker = Schema.Literals(["itself", "owner"])
export type ClientMaker = typeof ClientMaker.Type

/** A client's question whether it may act for the workspace itself, without a person, and an owner's answer to it. */
export const WorkspaceAccess = Schema.Struct({
  askedAt: Instant,
  /** The network that it asked from, as far as the runtime knew it. */
  network: Schema.NullOr(Schema.String),
  answer: Schema.NullOr(Schema.Struct({ approved: Schema.Boolean, by: Schema.String, at: Instant }))
})
export type WorkspaceAccess = typeof WorkspaceAccess.Type

/** A metadata document as it was read. */
export const ReadDocument = Schema.Struct({
  /** Whose it is, by what a fetch proves. */
  host: Schema.String,
  fetchedAt: Instant,
  freshUntil: Instant,
  /** Of its body. */
  digest: Digest
})
export type ReadDocument = typeof ReadDocument.Type

/** Where a client comes from that brings its identifier with it: it has a record once a person lets it in. */
export const Origin = Schema.Struct({
  /** What it goes by on the wire. The record's id is made of it. */
  identifier: BroughtIdentifier,
  /**
   * Grants that are older are none of this client's: an identifier may come again after its client was deleted, and a
   * document may fall back from keys to none.
   */
  since: Instant,
  /** Of which the record was written. */
  document: Schema.optionalKey(ReadDocument),
  /** Until when an identifier that holds a registration opens: as long as that, a record of its end has to stay. */
  until: Schema.optionalKey(Instant),
  /** The record holds no more than the identifier, which brings it back. Whatever changes it takes this away. */
  asSealed: Schema.optionalKey(Schema.Literal(true))
})
export type Origin = typeof Origin.Type

export const Client = Schema.Struct({
  /** The record's. What the client goes by on the wire is its `identifierOf`. */
  id: ClientId,
  about: About,
  credential: StoredCredential,
  /** Opens the client's own registration (RFC 7592). */
  registration: Digest,
  redirectUris: Schema.Array(RedirectUri),
  /** By their names. A server may know fewer than it did when the client registered. */
  grantTypes: Schema.Array(Schema.String),
  /** The most that it may be granted; one that registered itself may ask a person for more (`scopesToAsk`). */
  scope: Scopes,
  /** The id of its workspace grant, drawn at registration so that two first requests meet on one record. */
  workspaceGrant: GrantId,
  createdAt: Instant,
  madeBy: ClientMaker,
  /**
   * When a person first let it in. One that made itself, and that no person lets in, is forgotten where it is not used.
   */
  provenAt: Schema.NullOr(Instant),
  expiresAt: Schema.NullOr(Instant),
  disabled: Schema.Boolean,
  /** Not there for a client that never asked, or that an owner made. A release before approvals passes over it. */
  workspaceAccess: Schema.optionalKey(WorkspaceAccess),
  /**
   * What an owner chose for it; where none did, the resource decides. A client does not choose by itself: a JWT
   * outlives its revocation wherever an API does not ask.
   */
  accessTokenFormat: Schema.optionalKey(AccessTokenFormat),
  /** What it registered beyond what every client has, by the names of the table's rows. */
  members: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  /** The API that it is: tokens that were sent there it may introspect and exchange (RFC 8693). Only an owner says so. */
  serves: Schema.optionalKey(Resource),
  /** Not there for a client that was registered. */
  origin: Schema.optionalKey(Origin)
})
export type Client = typeof Client.Type

/** Who says what is known of a client: itself or an owner by registering it, or the document at its address. */
export const makerOf = ({ madeBy, origin }: Client): ClientMaker | "document" =>
  origin?.document === undefined ? madeBy : "document"

/** RFC 6749 §2.2: what the client goes by on the wire. */
export const identifierOf = ({ id, origin }: Client): ClientIdentifier =>
  origin === undefined ? id : origin.identifier

/** Whether a grant was given to this very client, and not to one of before that had its identifier. */
export const hasGrant = (
  { id, origin }: Client,
  grant: { readonly client: ClientId | null; readonly createdAt: Instant }
): boolean => grant.client === id && (origin === undefined || grant.createdAt >= origin.since)

/** RFC 6749 §2.1. */
export const isPublic = ({ credential }: Client): boolean => credential._tag === "Public"

/** RFC 7591 §2: the client's `token_endpoint_auth_method`. */
export const authMethodOf = ({ credential }: Client): string => credential.method ?? "none"

/** A client that is there: known, and not forgotten meanwhile. */
export const isKnown = (client: Client, now: Instant): boolean =>
  client.expiresAt === null || !hasPassed(client.expiresAt, now)

/**
 * From when on nothing of it has to be kept. A client that was deleted, and whose identifier says all of it, is kept as one
 * whose time is over: otherwise the next request would find it new.
 */
export const sweptAt = ({ expiresAt, origin }: Client): Instant | null =>
  expiresAt === null || origin?.until === undefined || origin.until <= expiresAt ? expiresAt : origin.until

/** Whether its record may go now, and the client with it. */
export const mayGo = ({ origin }: Client, now: Instant): boolean =>
  origin?.until === undefined || hasPassed(origin.until, now)

/** Whether it may go to make room: nothing of it would be lost, or nothing that its identifier does not bring back. */
export const mayMakeRoom = (client: Client, now: Instant): boolean =>
  client.origin?.asSealed === true || mayGo(client, now)

/** As it is once it was changed. */
export const changed = (client: Client): Client => {
  if (client.origin?.asSealed === undefined) return client
  const { asSealed: _, ...origin } = client.origin
  return { ...client, origin }
}

/** A client that registered itself and that no person here has let in yet: none answers for what it asks. */
export const isStranger = ({ madeBy, provenAt }: Client): boolean => madeBy === "itself" && provenAt === null

/** Who answers for an address: a person, by letting its client in, or an owner, by naming it. */
export type Voucher = "person" | "owner"

/** Who answers for the addresses that a client named; nobody for a stranger's. */
export const voucherOf = (client: Client): Voucher | undefined => {
  if (isStranger(client)) return undefined
  return client.madeBy === "owner" ? "owner" : "person"
}

/**
 * What it may ask a person for. RFC 7591 §2: one that registered itself named what it asks for at first, and could register
 * again for more. Clients of MCP name what they were first refused for, and come back when a call takes more.
 */
export const scopesToAsk = ({ madeBy, scope }: Client, registry: ScopeRegistry): Scopes =>
  madeBy === "itself" ? allScopes(registry) : scope

/** RFC 8693 §2.1. A client has it from an owner alone. */
export const exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange"

/** As the API that an owner says it is, so that it may exchange what was sent there; `undefined`: as none. */
export const serving = ({ grantTypes, serves: _, ...client }: Client, serves: Resource | undefined): Client => {
  const others = grantTypes.filter((name) => name !== exchangeGrant)
  return serves === undefined
    ? { ...client, grantTypes: others }
    : { ...client, grantTypes: [...others, exchangeGrant], serves }
}

export const mayUse = (client: Client, grantType: string): boolean => client.grantTypes.includes(grantType)

/** As people read it: an identifier that holds a registration is hundreds of letters, and the record's id is 22. */
export const shownIdentifier = ({ id, origin }: Client): ClientIdentifier =>
  origin?.document === undefined ? id : origin.identifier

/** As long as a name in a sentence may be. */
const longestHost = 60

/** Whose a host is, its end says: one that is too long loses its beginning. */
const endOf = (host: string): string => (host.length > longestHost ? `…${host.slice(1 - longestHost)}` : host)

/** By what people know it: of one that brings a document, the host that it was read from, and not what it calls itself. */
export const knownAs = ({ about, origin }: Client): string | undefined =>
  origin?.document === undefined ? about.client_name : endOf(origin.document.host)

/** What people read where a client is named, also where it gave no name. */
export const displayName = (client: Client): string => client.about.client_name ?? shownIdentifier(client)

/** A client that registered itself and that no person has let in: it is forgotten where it is unused or crowded out. */
export const isOnTrial = (client: Client): client is Client & { readonly expiresAt: Instant } =>
  isStranger(client) && client.expiresAt !== null

/**
 * A person let it in, so it stays for good; one with a document, for as long as it is used, since it can come back. What is forgotten already does not come back.
 */
export const proven = (client: Client, now: Instant): Client | undefined =>
  client.provenAt === null && isKnown(client, now)
    ? { ...client, provenAt: now, expiresAt: client.origin?.document === undefined ? null : client.expiresAt }
    : undefined

/** By each use another `unusedClientTtl`, written once in a thirtieth of it: once a day, where it is 30 days. */
export const isDue = (expiresAt: Instant, now: Instant, { unusedClientTtl }: Policy): boolean =>
  later(now, unusedClientTtl) - expiresAt >= unusedClientTtl / 30

/** A use without a person prolongs the trial, and does not end it: no person has said that the client is wanted. */
export const used = (client: Client, now: Instant, policy: Policy): Client | undefined =>
  isOnTrial(client) && isKnown(client, now) && isDue(client.expiresAt, now, policy)
    ? { ...client, expiresAt: later(now, policy.unusedClientTtl) }
    : undefined

/** RFC 7591 §3.2.1: everything that was registered, as clients are told it. */
export const ClientInformation = Schema.Struct({
  client_id: ClientIdentifier,
  client_id_issued_at: Schema.Int.annotate({ description: "In seconds since 1970." }),
  ...About.fields,
  redirect_uris: Schema.Array(Schema.String),
  grant_types: Schema.Array(Schema.String),
  response_types: Schema.Array(Schema.String),
  token_endpoint_auth_method: Schema.String,
  scope: Schema.String.annotate({
    description: "The most that it may be granted. A client that registered itself may ask a person for more."
  })
})
export type ClientInformation = typeof ClientInformation.Type
