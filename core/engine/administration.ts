import { Effect, Option, type Redacted, Result, Schema } from "effect"
import { clientOf } from "../client/Brought.ts"
import { authMethodOf, type Client, isKnown, isPublic, serving } from "../client/Client.ts"
import {
  type LiveSecret,
  liveSecrets,
  type SecretRefused,
  withNewSecret,
  withoutOlderSecret
} from "../client/ClientSecret.ts"
import { brokenRules, profileOf, securityProfile } from "../client/Profile.ts"
import type { RegistrationRequest } from "../client/RegistrationRequest.ts"
import {
  clientInformation,
  credentialLength,
  drawnSecret,
  type FreshClient,
  type Registered,
  type RegistrableGrantType,
  type RegistrationFault,
  register,
  type Tables
} from "../client/register.ts"
import { sealClient } from "../client/SealedClient.ts"
import { answered, asksForWorkspace } from "../client/workspaceAccess.ts"
import { type BadKeyTerms, type KeyTerms, type NewKey, readKeyTerms } from "../grant/apiKey.ts"
import { answer, answerAndKeep, refuse } from "../grant/Decision.ts"
import { type Grant, type Key, keyGrants, ownerOf } from "../grant/Grant.ts"
import type { Audit } from "../ports/Audit.ts"
import type { Entropy } from "../ports/Entropy.ts"
import { StorageUnavailable } from "../ports/Storage.ts"
import { type DocumentHosts, isBanned, isDocumentHost, mostHosts } from "../rules/DocumentHosts.ts"
import { type ClientId, clientIdOf, type GrantId, grantIdOf, grantMark, idLength } from "../rules/Id.ts"
import { currentInstant, later, type Millis } from "../rules/Instant.ts"
import type { Policy, ProfileName } from "../rules/Policy.ts"
import type { Contended } from "../rules/Refusal.ts"
import {
  type AccessTokenFormat,
  isResourceAddress,
  longestName,
  type ResourceDefinition,
  type ResourceRegistry,
  readResources,
  resourceOf,
  withoutEndSlash
} from "../rules/Resource.ts"
import { type ScopeRegistry, scopesNamed } from "../rules/Scope.ts"
import { sanitizeName } from "../rules/sanitizeName.ts"
import { type KeysTyped, readKeySource, TrustedIssuer } from "../rules/TrustedIssuer.ts"
import type { Place, Sealer } from "../token/KeyRing.ts"
import { type OpenWorkspace, scopesOf, type Workspace } from "../workspace/Workspace.ts"
import { type AuditContext, byOf, note, type OwnerAuditContext } from "./AuditContext.ts"
import type { Clients } from "./Clients.ts"
import type { Grants } from "./Grants.ts"
import { forEachItem } from "./lists.ts"
import type { Openings } from "./Openings.ts"
import type { Signing, SigningFault } from "./Signing.ts"
import type { Retirement, SigningKeys } from "./signingKeys.ts"
import { cleanUpOrWarn } from "./transact.ts"

export const drawClient = (entropy: Entropy["Service"]): FreshClient => ({
  id: clientIdOf(entropy.bytes(idLength)),
  workspaceGrant: grantIdOf(entropy.bytes(idLength)),
  secret: entropy.bytes(credentialLength),
  registration: entropy.bytes(credentialLength)
})

/** A registration as it is answered. */
interface Answered extends Registered {
  readonly registrationToken: Redacted.Redacted<string>
}

/** RFC 6749 §4.1, RFC 8628 §3.3: a grant begins where a person consents, and there the client is written. */
const isByConsent = (row: RegistrableGrantType | undefined): boolean => {
  if (row === undefined) return false
  const { byConsent, onlyBrought, responseType } = row.registers
  return responseType !== undefined || byConsent === true || onlyBrought === true
}

/** By any other grant type it might have tokens before a record, or has a question to an owner, who finds it by that. */
const needsRow = (client: Client, { grantTypes, policy }: Pick<Tables, "grantTypes"> & { readonly policy: Policy }) =>
  client.madeBy === "owner" ||
  policy.registrationRows === "at_once" ||
  !client.grantTypes.every((name) => isByConsent(grantTypes.get(name)))

const nonceLength = 9

/** Registers a client. Without an actor in the context the client registers itself. */
export const registerClient = Effect.fn("administration.registerClient")(function* <E = never>(
  services: {
    readonly audit: Audit["Service"]
    readonly clients: Clients
    readonly entropy: Entropy["Service"]
    readonly policy: Policy
  } & Tables,
  auditContext: AuditContext,
  request: RegistrationRequest,
  /** The network that the request came from, where it came over one. */
  network: string | null = null,
  /** Asked once the registration is found good, and is to be written. */
  room?: Effect.Effect<void, E>,
  /** Seals what need not be written yet. */
  sealing?: { readonly sealer: Sealer; readonly place: Place }
): Effect.fn.Return<Answered, RegistrationFault | StorageUnavailable | E> {
  const now = yield* currentInstant
  const madeBy = auditContext.by === undefined ? "itself" : "owner"
  const made = yield* Effect.fromResult(
    register(services, request, services.policy, now, drawClient(services.entropy), madeBy, network)
  )
  if (sealing !== undefined && !needsRow(made.client, services)) {
    const nonce = services.entropy.bytes(nonceLength)
    const sealed = sealClient(sealing.sealer, sealing.place, made.client, services.policy, nonce)
    if (sealed !== undefined) {
      const client = clientOf(sealed.brought, made.client.workspaceGrant, now, services.policy)
      return { ...sealed, client }
    }
  }
  if (room !== undefined) yield* room
  yield* services.clients.add(auditContext.workspace, made.client).pipe(
    Effect.catchTag("Conflict", () =>
      // 128 random bits were drawn twice: the source of randomness is broken, so no secret may be given out.
      Effect.fail(new StorageUnavailable({ outcome: "not_done", message: "a fresh client id was taken" }))
    )
  )
  yield* note(services.audit, auditContext, { _tag: "ClientRegistered", client: made.client.id, ...byOf(auditContext) })
  return made
})

/** A disabled client cannot connect and its tokens are not accepted until it is enabled again. */
export const setClientEnabled = Effect.fn("administration.setClientEnabled")(function* (
  services: { readonly audit: Audit["Service"]; readonly clients: Clients },
  auditContext: OwnerAuditContext,
  id: ClientId,
  change: "disabled" | "enabled"
): Effect.fn.Return<"done" | "was_so" | "unknown", StorageUnavailable | Contended> {
  const now = yield* currentInstant
  const disabled = change === "disabled"
  // Set by the last of possibly several calls of the decision.
  const found = { switches: false }
  const client = yield* services.clients.change(auditContext.workspace, id, (stored) => {
    found.switches = isKnown(stored, now) && stored.disabled !== disabled
    return found.switches ? { ...stored, disabled } : stored
  })
  if (client === undefined || !isKnown(client, now)) return "unknown"
  if (!found.switches) return "was_so"
  yield* note(services.audit, auditContext, { _tag: "ClientChanged", client: id, change, by: auditContext.by })
  return "done"
})

/** A secret that was made, as text this once, and all that work from now on. */
export interface NewSecret {
  readonly text: Redacted.Redacted<string>
  readonly live: ReadonlyArray<LiveSecret>
}

/** Gives a client another secret. The one that it has works for as long as it is kept, so that nothing stops meanwhile. */
export const makeSecret = Effect.fn("administration.makeSecret")(function* (
  services: { readonly audit: Audit["Service"]; readonly clients: Clients; readonly entropy: Entropy["Service"] },
  auditContext: OwnerAuditContext,
  id: ClientId,
  keepFor: Millis
): Effect.fn.Return<NewSecret | "unknown", SecretRefused | StorageUnavailable | Contended> {
  const now = yield* currentInstant
  const drawn = drawnSecret(services.entropy.bytes(credentialLength))
  // Set by the last of possibly several calls of the decision.
  const made: { outcome: Result.Result<Client, SecretRefused> | undefined } = { outcome: undefined }
  yield* services.clients.change(auditContext.workspace, id, (stored) => {
    made.outcome = isKnown(stored, now) ? withNewSecret(stored, drawn, keepFor, now) : undefined
    return made.outcome === undefined ? stored : Result.getOrElse(made.outcome, () => stored)
  })
  if (made.outcome === undefined) return "unknown"
  const client = yield* Effect.fromResult(made.outcome)
  const { by } = auditContext
  yield* note(services.audit, auditContext, { _tag: "ClientChanged", client: id, change: "secret_made", by })
  return { text: drawn.text, live: liveSecrets(client, now) }
})

/** Ends the older of two secrets before its time. */
export const dropSecret = Effect.fn("administration.dropSecret")(function* (
  services: { readonly audit: Audit["Service"]; readonly clients: Clients },
  auditContext: OwnerAuditContext,
  id: ClientId
): Effect.fn.Return<"done" | "was_so" | "unknown", StorageUnavailable | Contended> {
  const now = yield* currentInstant
  const found = { drops: false }
  const client = yield* services.clients.change(auditContext.workspace, id, (stored) => {
    const next = isKnown(stored, now) ? withoutOlderSecret(stored, now) : stored
    found.drops = next !== stored
    return next
  })
  if (client === undefined || !isKnown(client, now)) return "unknown"
  if (!found.drops) return "was_so"
  const { by } = auditContext
  yield* note(services.audit, auditContext, { _tag: "ClientChanged", client: id, change: "secret_dropped", by })
  return "done"
})

/** How the access tokens of a client are written from its next one on. Those that are out stay what they are. */
export const setAccessTokenFormat = Effect.fn("administration.setAccessTokenFormat")(function* (
  services: { readonly audit: Audit["Service"]; readonly clients: Clients },
  auditContext: OwnerAuditContext,
  id: ClientId,
  format: AccessTokenFormat
): Effect.fn.Return<"done" | "was_so" | "unknown", StorageUnavailable | Contended> {
  const now = yield* currentInstant
  // Set by the last of possibly several calls of the decision.
  const found = { changes: false }
  const client = yield* services.clients.change(auditContext.workspace, id, (stored) => {
    found.changes = isKnown(stored, now) && stored.accessTokenFormat !== format
    return found.changes ? { ...stored, accessTokenFormat: format } : stored
  })
  if (client === undefined || !isKnown(client, now)) return "unknown"
  if (!found.changes) return "was_so"
  const change = `${format}_access_tokens` as const
  yield* note(services.audit, auditContext, { _tag: "ClientChanged", client: id, change, by: auditContext.by })
  return "done"
})

/**
 * What a client is held to from then on, whatever it registered. A rule that it breaks comes back in words: under it the
 * client could do nothing.
 */
export const setSecurityProfile = Effect.fn("administration.setSecurityProfile")(function* (
  services: Tables & { readonly audit: Audit["Service"]; readonly clients: Clients; readonly policy: Policy },
  auditContext: OwnerAuditContext,
  id: ClientId,
  name: ProfileName
): Effect.fn.Return<
  "done" | "was_so" | "unknown" | { readonly broken: ReadonlyArray<string> },
  StorageUnavailable | Contended
> {
  const now = yield* currentInstant
  // Set by the last of possibly several calls of the decision.
  const found: { changes: boolean; broken: ReadonlyArray<string> } = { changes: false, broken: [] }
  const client = yield* services.clients.change(auditContext.workspace, id, (stored) => {
    const next: Client = { ...stored, members: { ...stored.members, [securityProfile.name]: name } }
    found.broken = rulesBroken(services, next)
    found.changes =
      isKnown(stored, now) && found.broken.length === 0 && (securityProfile.of(stored) ?? "standard") !== name
    return found.changes ? next : stored
  })
  if (client === undefined || !isKnown(client, now)) return "unknown"
  if (found.broken.length > 0) return { broken: found.broken }
  if (!found.changes) return "was_so"
  const change = `${name}_profile` as const
  yield* note(services.audit, auditContext, { _tag: "ClientChanged", client: id, change, by: auditContext.by })
  return "done"
})

/** The rules of its profile that a client breaks as it is registered, in words. */
export const rulesBroken = (services: Tables & { readonly policy: Policy }, client: Client): ReadonlyArray<string> => {
  const members = { ...clientInformation(services, client) }
  const registration = { method: authMethodOf(client), redirectUris: client.redirectUris, members }
  return brokenRules(profileOf(client, services.policy), registration)
}

/**
 * The API that a client is, and for which it may exchange tokens from then on (RFC 8693). `null`: none, and what it
 * exchanged is worth nothing any more.
 */
export const setServedResource = Effect.fn("administration.setServedResource")(function* (
  services: { readonly audit: Audit["Service"]; readonly clients: Clients },
  auditContext: OwnerAuditContext,
  workspace: Workspace,
  id: ClientId,
  address: string | null
): Effect.fn.Return<"done" | "was_so" | "unknown" | "public" | "no_resource", StorageUnavailable | Contended> {
  const now = yield* currentInstant
  const named =
    address === null ? undefined : Option.getOrUndefined(Result.getSuccess(readResources(workspace, [address])))
  if (address !== null && named === undefined) return "no_resource"
  const serves = named?.[0]
  const outcomeOf = (stored: Client) => {
    if (!isKnown(stored, now)) return "unknown"
    if (serves !== undefined && isPublic(stored)) return "public"
    return stored.serves === serves ? "was_so" : "done"
  }
  // Set by the last of possibly several calls of the decision.
  const found: { outcome: ReturnType<typeof outcomeOf> } = { outcome: "unknown" }
  yield* services.clients.change(auditContext.workspace, id, (stored) => {
    found.outcome = outcomeOf(stored)
    return found.outcome === "done" ? serving(stored, serves) : stored
  })
  if (found.outcome === "done") {
    const change = serves === undefined ? "exchange_ended" : "exchange_allowed"
    yield* note(services.audit, auditContext, { _tag: "ClientChanged", client: id, change, by: auditContext.by })
  }
  return found.outcome
})

/** The next signing keys, where none waits. `undefined`: nothing was ever signed, so there is nothing to rotate. */
export const rotateSigningKeys = Effect.fn("administration.rotateSigningKeys")(function* (
  services: { readonly audit: Audit["Service"]; readonly signing: Signing },
  auditContext: OwnerAuditContext,
  workspace: Workspace
): Effect.fn.Return<SigningKeys | undefined, SigningFault> {
  const { by } = auditContext
  const now = yield* currentInstant
  const before = yield* services.signing.stored(workspace)
  const keys = yield* services.signing.rotate(workspace, now)
  for (const { kid } of keys?.keys ?? []) {
    if (before?.keys.some((one) => one.kid === kid) === true) continue
    yield* note(services.audit, auditContext, { _tag: "SigningKeysChanged", change: "rotated", key: kid, by })
  }
  return keys
})

/** `compromised`: at once, with all that it signed. */
export const retireSigningKey = Effect.fn("administration.retireSigningKey")(function* (
  services: { readonly audit: Audit["Service"]; readonly signing: Signing },
  auditContext: OwnerAuditContext,
  workspace: Workspace,
  kid: string,
  how: "expired" | "compromised"
): Effect.fn.Return<Retirement, SigningFault> {
  const { by } = auditContext
  const outcome = yield* services.signing.retire(workspace, kid, how, yield* currentInstant)
  if (outcome !== "retired") return outcome
  const change = how === "compromised" ? "withdrawn" : "retired"
  yield* note(services.audit, auditContext, { _tag: "SigningKeysChanged", change, key: kid, by })
  return outcome
})

/** An owner's answer to a client that registered to act for the workspace itself. It can be changed at any time. */
export const answerWorkspaceAccess = Effect.fn("administration.answerWorkspaceAccess")(function* (
  services: { readonly audit: Audit["Service"]; readonly clients: Clients; readonly policy: Policy } & Pick<
    Tables,
    "grantTypes"
  >,
  auditContext: OwnerAuditContext,
  id: ClientId,
  change: "approved" | "refused"
): Effect.fn.Return<"done" | "was_so" | "not_asked" | "unknown", StorageUnavailable | Contended> {
  const { by, workspace } = auditContext
  const now = yield* currentInstant
  const approved = change === "approved"
  const outcomeOf = (stored: Client) => {
    if (!isKnown(stored, now)) return "unknown"
    if (stored.madeBy === "owner" || !asksForWorkspace(stored, services.grantTypes.values())) return "not_asked"
    return stored.workspaceAccess?.answer?.approved === approved ? "was_so" : "done"
  }
  // Set by the last of possibly several calls of the decision.
  const found: { outcome: "done" | "was_so" | "not_asked" | "unknown" } = { outcome: "unknown" }
  yield* services.clients.change(workspace, id, (stored) => {
    found.outcome = outcomeOf(stored)
    return found.outcome === "done" ? answered(stored, { approved, by, at: now }, services.policy) : stored
  })
  if (found.outcome === "done") {
    yield* note(services.audit, auditContext, { _tag: "ClientChanged", client: id, change, by })
  }
  return found.outcome
})

/** RFC 7592 §2.3 for the client itself; also for owners and the command line. */
export const deleteClient = Effect.fn("administration.deleteClient")(function* (
  services: { readonly audit: Audit["Service"]; readonly clients: Clients; readonly grants: Grants },
  auditContext: AuditContext,
  id: ClientId
): Effect.fn.Return<"deleted" | "unknown", StorageUnavailable> {
  const { workspace } = auditContext
  // Read from the store: another process may have just deleted it and recorded that.
  const client = yield* services.clients.findStored(workspace, id)
  const now = yield* currentInstant
  if (client === undefined || !isKnown(client, now)) return "unknown"
  // The client first: without it, no token of its grants is accepted, even if the rest fails.
  yield* services.clients.end(workspace, client, now)
  yield* note(services.audit, auditContext, { _tag: "ClientDeleted", client: id, ...byOf(auditContext) })
  const { workspaceGrant } = client
  yield* cleanUpOrWarn(
    workspace,
    services.grants.removeGrant(workspace, workspaceGrant),
    "the own grant of a deleted client could not be deleted; it is no longer accepted",
    { client: id, grant: grantMark(workspaceGrant) }
  )
  return "deleted"
})

/** A text that is no host. */
export class BadHost extends Schema.TaggedError<BadHost>()("BadHost", {
  reason: Schema.Literals(["host", "full"])
}) {}

interface Blocking {
  readonly audit: Audit["Service"]
  readonly openings: Openings
  readonly clients: Clients
  readonly grants: Grants
}

/**
 * Takes no metadata document of a host any more (`*.example.com`: of all below it), and deletes the clients that came from
 * there, with all that they were granted. Tells how many. The ban first: no client comes in behind it.
 */
export const blockClientHost = Effect.fn("administration.blockClientHost")(function* (
  services: Blocking,
  auditContext: OwnerAuditContext,
  workspace: OpenWorkspace,
  typed: string
): Effect.fn.Return<number, BadHost | StorageUnavailable | Contended> {
  const host = typed.trim().toLowerCase()
  if (!isDocumentHost(host)) return yield* new BadHost({ reason: "host" })
  const isFull = (yield* services.openings.blockedHosts(workspace.id)).length >= mostHosts
  if (isFull) return yield* new BadHost({ reason: "full" })
  const changed = yield* services.openings.block(workspace, (blocked) =>
    blocked.includes(host) ? blocked : [...blocked, host]
  )
  if (changed) yield* note(services.audit, auditContext, { _tag: "ClientHostBlocked", host, by: auditContext.by })
  const found: Array<ClientId> = []
  yield* forEachItem(
    (slice) => services.clients.list(workspace.id, slice),
    ({ id, origin }) =>
      Effect.sync(() => {
        if (origin?.document !== undefined && isBanned([host], origin.document.host)) found.push(id)
      })
  )
  yield* Effect.forEach(found, (id) => deleteClient(services, auditContext, id), { concurrency: 16, discard: true })
  return found.length
})

/** Takes its documents again; what was granted before stays ended. `false`: it was not blocked. */
export const unblockClientHost = Effect.fn("administration.unblockClientHost")(function* (
  { audit, openings }: Blocking,
  auditContext: OwnerAuditContext,
  workspace: OpenWorkspace,
  host: string
): Effect.fn.Return<boolean, StorageUnavailable | Contended> {
  const changed = yield* openings.block(workspace, (blocked) =>
    blocked.includes(host) ? blocked.filter((one) => one !== host) : blocked
  )
  if (changed) yield* note(audit, auditContext, { _tag: "ClientHostUnblocked", host, by: auditContext.by })
  return changed
})

/**
 * From which hosts documents of clients are taken, of those that the server takes. What was granted before goes on until a
 * token is asked for; a ban ends it at once.
 */
export const takeClientDocuments = Effect.fn("administration.takeClientDocuments")(function* (
  { audit, openings }: Pick<Blocking, "audit" | "openings">,
  auditContext: OwnerAuditContext,
  workspace: OpenWorkspace,
  typed: DocumentHosts
): Effect.fn.Return<void, BadHost | StorageUnavailable | Contended> {
  const hosts = typed === "any" ? typed : [...new Set(typed.map((host) => host.trim().toLowerCase()))]
  if (hosts !== "any" && !hosts.every(isDocumentHost)) return yield* new BadHost({ reason: "host" })
  if (hosts !== "any" && hosts.length > mostHosts) return yield* new BadHost({ reason: "full" })
  if (yield* openings.takeDocuments(workspace, hosts)) {
    yield* note(audit, auditContext, { _tag: "ClientDocumentsChanged", hosts, by: auditContext.by })
  }
})

/** Revokes the grant of a person, for that person or on their behalf. Recorded once, however often it is called. */
export const endGrant = Effect.fn("administration.endGrant")(function* (
  services: { readonly audit: Audit["Service"]; readonly grants: Grants },
  auditContext: OwnerAuditContext,
  id: GrantId
): Effect.fn.Return<"revoked" | "was_revoked" | "unknown", StorageUnavailable | Contended> {
  const { by, workspace } = auditContext
  const why = "by_user"
  const outcome = yield* services.grants.revokeGrant(workspace, id, why)
  if (outcome === "revoked")
    yield* note(services.audit, auditContext, { _tag: "GrantRevoked", grant: grantMark(id), why, by })
  return outcome
})

/** Creates a key. Only the result has its text. */
export const createKey = Effect.fn("administration.createKey")(function* (
  services: { readonly audit: Audit["Service"]; readonly grants: Grants; readonly policy: Policy },
  auditContext: OwnerAuditContext,
  asked: KeyTerms
): Effect.fn.Return<NewKey, BadKeyTerms | StorageUnavailable | Contended> {
  const { lasts, name, reach } = yield* Effect.fromResult(readKeyTerms(asked, services.policy.scopes))
  const expiresAt = lasts === undefined ? null : later(yield* currentInstant, lasts)
  const made = yield* services.grants.createKey(auditContext.workspace, { name, expiresAt, reach })
  yield* note(services.audit, auditContext, {
    _tag: "KeyCreated",
    grant: grantMark(made.grant.id),
    by: auditContext.by
  })
  return made
})

/**
 * Replaces a key by one with the same name, lifetime and reach. Of two simultaneous rotations one gets a new key. The
 * new key is made first, so that a failure leaves the old one working beside at most one that was never shown.
 */
export const rotateKey = Effect.fn("administration.rotateKey")(function* (
  services: { readonly audit: Audit["Service"]; readonly grants: Grants },
  auditContext: OwnerAuditContext,
  old: Key
): Effect.fn.Return<NewKey | undefined, StorageUnavailable | Contended> {
  const { by, workspace } = auditContext
  const now = yield* currentInstant
  const expiresAt = old.expiresAt === null ? null : later(now, old.expiresAt - old.createdAt)
  const made = yield* services.grants.createKey(workspace, {
    name: old.name,
    expiresAt,
    // One that opens everything opens what there is now.
    ...(old.use === "everything" ? {} : { reach: { use: old.use, scope: old.scope } })
  })
  yield* note(services.audit, auditContext, { _tag: "KeyCreated", grant: grantMark(made.grant.id), by })
  if ((yield* revokeKey(services, auditContext, old.id)) === "revoked") return made
  yield* revokeKey(services, auditContext, made.grant.id)
  return undefined
})

/** Revokes a key, from its next check on. Recorded once, however often it is called. */
export const revokeKey = Effect.fn("administration.revokeKey")(function* (
  services: { readonly audit: Audit["Service"]; readonly grants: Grants },
  auditContext: OwnerAuditContext,
  id: GrantId
): Effect.fn.Return<"revoked" | "was_revoked" | "unknown", StorageUnavailable | Contended> {
  const { by, workspace } = auditContext
  const isKeys = (grant: Grant) => ownerOf(grant) === keyGrants
  const outcome = yield* services.grants.revokeGrant(workspace, id, "by_owner", isKeys)
  if (outcome === "revoked") yield* note(services.audit, auditContext, { _tag: "KeyRevoked", grant: grantMark(id), by })
  return outcome
})

/** A resource that cannot be listed. */
export class BadResource extends Schema.TaggedError<BadResource>()("BadResource", {
  reason: Schema.Literals(["address", "name", "scopes", "life", "listed", "full"])
}) {}

/** What an owner types of a resource. */
export interface ResourceTyped {
  readonly at: string
  readonly name: string
  /** Without any it takes all. */
  readonly scopes: ReadonlyArray<string>
  /** Left out, opaque. */
  readonly accessTokenFormat?: AccessTokenFormat | undefined
  /** At least a second; left out, as long as any. */
  readonly accessTokenTtl?: Millis | undefined
}

/** What takes part in listing resources. */
interface Listing {
  readonly audit: Audit["Service"]
  readonly openings: Openings
  readonly policy: Policy
}

const readResource = (
  { accessTokenFormat, accessTokenTtl, at, name: typed, scopes }: ResourceTyped,
  registry: ScopeRegistry
): Result.Result<ResourceDefinition, BadResource> => {
  const refused = (reason: BadResource["reason"]) => Result.fail(new BadResource({ reason }))
  if (!isResourceAddress(at)) return refused("address")
  const name = sanitizeName(typed === "" ? new URL(at).host : typed, longestName)
  if (name === undefined) return refused("name")
  if (accessTokenTtl !== undefined && !(Number.isSafeInteger(accessTokenTtl) && accessTokenTtl >= 1000)) {
    return refused("life")
  }
  const asked = {
    at,
    name,
    ...(accessTokenFormat === undefined ? {} : { accessTokenFormat }),
    ...(accessTokenTtl === undefined ? {} : { accessTokenTtl })
  }
  const [first, ...others] = scopesNamed(registry, scopes) ?? []
  if (scopes.length === 0) return Result.succeed(asked)
  return first === undefined ? refused("scopes") : Result.succeed({ ...asked, scopes: [first, ...others] })
}

/** Lists a resource beside those that are configured. */
export const addResource = Effect.fn("administration.addResource")(function* (
  { audit, openings, policy }: Listing,
  auditContext: OwnerAuditContext,
  workspace: OpenWorkspace,
  typed: ResourceTyped
): Effect.fn.Return<ResourceDefinition, BadResource | StorageUnavailable | Contended> {
  const definition = yield* Effect.fromResult(readResource(typed, scopesOf(policy, workspace)))
  const isThere = (all: ResourceRegistry) => all.some((one) => resourceOf(one) === resourceOf(definition))
  const configured = (workspace.resources ?? []).filter((one) => workspace.listed?.includes(one) !== true)
  yield* openings.list(workspace, (listed) => {
    if (isThere(listed) || isThere(configured)) return refuse(new BadResource({ reason: "listed" }))
    return listed.length >= mostListed
      ? refuse(new BadResource({ reason: "full" }))
      : answerAndKeep([...listed, definition], definition)
  })
  yield* note(audit, auditContext, { _tag: "ResourceAdded", resource: definition.at, by: auditContext.by })
  return definition
})

/** A record holds them all. */
const mostListed = 200

/** What an owner types of an issuer. */
export interface IssuerTyped extends KeysTyped {
  readonly issuer: string
  /** Without any, all that an owner let use assertions. */
  readonly clients?: ReadonlyArray<string> | undefined
  readonly scopes?: ReadonlyArray<string> | undefined
  readonly resources?: ReadonlyArray<string> | undefined
  readonly domains?: ReadonlyArray<string> | undefined
  readonly people?: "known" | "made" | undefined
  readonly takes?: "id-jag" | "any" | undefined
}

/** An issuer that cannot be trusted: `field` has the name of what is wrong with it. */
export class BadIssuer extends Schema.TaggedError<BadIssuer>()("BadIssuer", {
  reason: Schema.Literals(["malformed", "keys", "scopes", "resources", "trusted", "full"])
}) {}

const decodeIssuer = Schema.decodeUnknownResult(TrustedIssuer)

const some = <K extends string>(name: K, list: ReadonlyArray<string> | undefined) =>
  list === undefined || list.length === 0 ? {} : { [name]: list }

/** Held to what the workspace has, whoever typed it and wherever. */
export const readIssuer = (
  { clients, domains, issuer, jwks, jwksUri, people = "known", resources, scopes, takes }: IssuerTyped,
  workspace: Workspace,
  registry: ScopeRegistry
): Result.Result<TrustedIssuer, BadIssuer> => {
  const refused = (reason: BadIssuer["reason"]) => Result.fail(new BadIssuer({ reason }))
  const keys = readKeySource({ jwks, jwksUri })
  if (Result.isFailure(keys)) return refused("keys")
  if (scopes !== undefined && scopes.length > 0 && scopesNamed(registry, scopes) === undefined) return refused("scopes")
  const places = resources === undefined || resources.length === 0 ? undefined : readResources(workspace, resources)
  if (places !== undefined && Result.isFailure(places)) return refused("resources")
  return Result.mapError(
    decodeIssuer({
      issuer,
      keys: keys.success,
      people,
      ...some("clients", clients),
      ...some("scopes", scopes),
      ...some("resources", places?.success),
      ...some(
        "domains",
        domains?.map((domain) => domain.toLowerCase())
      ),
      ...(takes === undefined ? {} : { takes })
    }),
    () => new BadIssuer({ reason: "malformed" })
  )
}

/** Trusts an issuer's assertions about people, beside those that are configured. */
export const trustIssuer = Effect.fn("administration.trustIssuer")(function* (
  { audit, openings, policy }: Listing,
  auditContext: OwnerAuditContext,
  workspace: OpenWorkspace,
  typed: IssuerTyped
): Effect.fn.Return<TrustedIssuer, BadIssuer | StorageUnavailable | Contended> {
  const read = yield* Effect.fromResult(readIssuer(typed, workspace, scopesOf(policy, workspace)))
  const made = { ...read, since: yield* currentInstant }
  const { trustedIssuers = [] } = workspace
  yield* openings.trust(workspace, (trusted) => {
    if ([...trusted, ...trustedIssuers].some(({ issuer }) => issuer === made.issuer)) {
      return refuse(new BadIssuer({ reason: "trusted" }))
    }
    return trusted.length >= mostTrusted
      ? refuse(new BadIssuer({ reason: "full" }))
      : answerAndKeep([...trusted, made], made)
  })
  yield* note(audit, auditContext, { _tag: "IssuerTrusted", issuer: made.issuer, by: auditContext.by })
  return made
})

/** A record holds them all, with their keys. */
const mostTrusted = 20

/** A set of keys, or where it is. */
const keysText = ({ keys }: TrustedIssuer): string => JSON.stringify(keys)

/**
 * Other terms for an issuer that an owner trusts already. They count for assertions from now on; where its keys are others,
 * what it brought before ends. `undefined`: no owner trusted it.
 */
export const changeIssuer = Effect.fn("administration.changeIssuer")(function* (
  { audit, openings, policy }: Listing,
  auditContext: OwnerAuditContext,
  workspace: OpenWorkspace,
  typed: IssuerTyped
): Effect.fn.Return<TrustedIssuer | undefined, BadIssuer | StorageUnavailable | Contended> {
  const read = yield* Effect.fromResult(readIssuer(typed, workspace, scopesOf(policy, workspace)))
  const now = yield* currentInstant
  const changed = yield* openings.trust<TrustedIssuer | undefined, never>(workspace, (trusted) => {
    const before = trusted.find(({ issuer }) => issuer === read.issuer)
    if (before === undefined) return answer(undefined)
    const since = keysText(before) === keysText(read) ? before.since : now
    const after = since === undefined ? read : { ...read, since }
    return answerAndKeep(
      trusted.map((one) => (one === before ? after : one)),
      after
    )
  })
  if (changed !== undefined) {
    yield* note(audit, auditContext, { _tag: "IssuerChanged", issuer: read.issuer, by: auditContext.by })
  }
  return changed
})

/** Takes no more assertions of it, and ends what it brought. `false`: no owner trusted it. */
export const removeIssuer = Effect.fn("administration.removeIssuer")(function* (
  { audit, openings }: Listing,
  auditContext: OwnerAuditContext,
  workspace: OpenWorkspace,
  issuer: string
): Effect.fn.Return<boolean, StorageUnavailable | Contended> {
  const removed = yield* openings.trust<boolean, never>(workspace, (trusted) => {
    const others = trusted.filter((one) => one.issuer !== issuer)
    return others.length === trusted.length ? answer(false) : answerAndKeep(others, true)
  })
  if (removed) yield* note(audit, auditContext, { _tag: "IssuerRemoved", issuer, by: auditContext.by })
  return removed
})

/** Takes a resource off the list; what was issued for it goes on until it expires. `false`: no owner listed it. */
export const removeResource = Effect.fn("administration.removeResource")(function* (
  { audit, openings }: Listing,
  auditContext: OwnerAuditContext,
  workspace: OpenWorkspace,
  at: string
): Effect.fn.Return<boolean, StorageUnavailable | Contended> {
  const isIt = (one: ResourceDefinition) => String(resourceOf(one)) === withoutEndSlash(at)
  const removed = yield* openings.list<boolean, never>(workspace, (listed) =>
    listed.some(isIt)
      ? answerAndKeep(
          listed.filter((one) => !isIt(one)),
          true
        )
      : answer(false)
  )
  if (removed) yield* note(audit, auditContext, { _tag: "ResourceRemoved", resource: at, by: auditContext.by })
  return removed
})
