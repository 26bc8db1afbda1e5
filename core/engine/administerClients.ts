import { Effect, Option, type Redacted, Result } from "effect"
import { clientOf } from "../client/Brought.ts"
import { authMethodOf, type Client, isKnown, isPublic, serving } from "../client/Client.ts"
import { type ClientIdentifier, clientKey, isBrought, isSealed } from "../client/ClientIdentifier.ts"
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
import type { Audit } from "../ports/Audit.ts"
import type { Entropy } from "../ports/Entropy.ts"
import { StorageUnavailable } from "../ports/Storage.ts"
import { type ClientId, clientIdOf, grantIdOf, grantMark, idLength } from "../rules/Id.ts"
import { currentInstant, type Millis } from "../rules/Instant.ts"
import type { Policy, ProfileName } from "../rules/Policy.ts"
import type { Contended } from "../rules/Refusal.ts"
import { type AccessTokenFormat, readResources } from "../rules/Resource.ts"
import type { Place, Sealer } from "../token/KeyRing.ts"
import type { Workspace } from "../workspace/Workspace.ts"
import { type AuditContext, byOf, note, type OwnerAuditContext } from "./AuditContext.ts"
import type { BroughtClients, NoSuchClient } from "./BroughtClients.ts"
import type { Clients } from "./Clients.ts"
import type { Grants } from "./Grants.ts"
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

/**
 * RFC 6749 §4.1, RFC 8628 §3.3: a grant begins where a person consents, and there the client is written; §4.4: or with the
 * client's first tokens.
 */
const mayWait = (row: RegistrableGrantType | undefined): boolean => {
  if (row === undefined) return false
  const { byConsent, byItself, onlyBrought, responseType } = row.registers
  return responseType !== undefined || byConsent === true || byItself === true || onlyBrought === true
}

/** By any other grant type it might have tokens before a record. */
const needsRow = (client: Client, { grantTypes, policy }: Pick<Tables, "grantTypes"> & { readonly policy: Policy }) =>
  client.madeBy === "owner" ||
  policy.registrationRows === "at_once" ||
  !client.grantTypes.every((name) => mayWait(grantTypes.get(name)))

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

/**
 * The same, by what the client goes by on the wire. A registration that is no record yet, and that no list has, gets one
 * with the answer. `workspace`: where it was sealed.
 */
export const answerByIdentifier = Effect.fn("administration.answerByIdentifier")(
  function* (
    services: Parameters<typeof answerWorkspaceAccess>[0] & { readonly brought: BroughtClients },
    auditContext: OwnerAuditContext,
    workspace: Workspace,
    identifier: ClientIdentifier,
    change: "approved" | "refused"
  ): Effect.fn.Return<"done" | "was_so" | "not_asked" | "unknown", StorageUnavailable | Contended | NoSuchClient> {
    if (isBrought(identifier) && isSealed(identifier)) {
      const { brought, client } = yield* services.brought.registered(workspace, identifier)
      if (brought !== undefined) {
        if (!asksForWorkspace(client, services.grantTypes.values())) return "not_asked"
        yield* services.brought.admit(workspace, auditContext, brought)
      }
    }
    return yield* answerWorkspaceAccess(services, auditContext, clientKey(identifier), change)
  },
  Effect.catchTag("NoSuchClient", () => Effect.succeed("unknown" as const))
)

/** The client that goes by an identifier, whether its registration is a record yet or not. */
export const findByIdentifier = (
  { brought, clients }: { readonly brought: BroughtClients; readonly clients: Clients },
  workspace: Workspace,
  identifier: ClientIdentifier
): Effect.Effect<Client | undefined, StorageUnavailable> =>
  isBrought(identifier) && isSealed(identifier)
    ? brought.registered(workspace, identifier).pipe(
        Effect.map(({ client }) => client),
        Effect.catchTag("NoSuchClient", () => Effect.succeed(undefined))
      )
    : clients.find(workspace.id, clientKey(identifier))

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
