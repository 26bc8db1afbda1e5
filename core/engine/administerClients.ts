import { Effect, Option, type Redacted, Result } from "effect"
import { clientOf } from "../client/Brought.ts"
import { authMethodOf, type Client, isKnown, isPublic, serving } from "../client/Client.ts"
import { type ClientIdentifier, clientKey, isBrought, isSealed } from "../client/ClientIdentifier.ts"
import {
  type LiveSecret,
  liveSecrets,
  type OfTwo,
  type SecretRefused,
  withNewSecret,
  withoutSecret
} from "../client/ClientSecret.ts"
import { brokenRules, profileOf, securityProfile } from "../client/Profile.ts"
import type { RegistrableGrantType } from "../client/RegistrableGrantType.ts"
import type { RegistrationRequest } from "../client/RegistrationRequest.ts"
import {
  clientInformation,
  credentialLength,
  drawnSecret,
  type FreshClient,
  leavesRoom,
  type Registered,
  type RegistrationFault,
  register,
  type Tables
} from "../client/register.ts"
import { sealClient } from "../client/SealedClient.ts"
import { answered, asksForWorkspace, questionOf } from "../client/workspaceAccess.ts"
import type { Audit, AuditEvent } from "../ports/Audit.ts"
import type { Entropy } from "../ports/Entropy.ts"
import { StorageUnavailable } from "../ports/Storage.ts"
import { type ClientId, clientIdOf, grantIdOf, grantMark, idLength } from "../rules/Id.ts"
import { currentInstant, type Instant, type Millis } from "../rules/Instant.ts"
import type { Policy, ProfileName } from "../rules/Policy.ts"
import { type AccessTokenFormat, readResources } from "../rules/Resource.ts"
import type { Place, Sealer } from "../token/KeyRing.ts"
import type { Workspace } from "../workspace/Workspace.ts"
import { type AuditContext, byOf, note, type OwnerAuditContext } from "./AuditContext.ts"
import type { BroughtClients, NoSuchClient } from "./BroughtClients.ts"
import type { Clients } from "./Clients.ts"
import type { Grants } from "./Grants.ts"
import { cleanUpOrWarn, type WriteFault } from "./transact.ts"

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
export const registerClient = Effect.fn("engine.registerClient")(function* <E = never>(
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

type ClientChange = Extract<AuditEvent, { readonly _tag: "ClientChanged" }>["change"]

interface Changing {
  readonly audit: Audit["Service"]
  readonly clients: Clients
}

/**
 * Decides on a client as it is stored, keeps what it becomes, and notes that as the change. `unknown`: there is no such
 * client, or it went meanwhile.
 */
const changeClient = Effect.fnUntraced(function* <A>(
  { audit, clients }: Changing,
  auditContext: OwnerAuditContext,
  id: ClientId,
  change: ClientChange,
  decide: (stored: Client, now: Instant) => readonly [outcome: A, next?: Client]
): Effect.fn.Return<A | "unknown", WriteFault> {
  const now = yield* currentInstant
  // Set by the last of possibly several calls of the decision.
  const last: { decided: { readonly outcome: A; readonly changes: boolean } | undefined } = { decided: undefined }
  const client = yield* clients.change(auditContext.workspace, id, (stored) => {
    last.decided = undefined
    if (!isKnown(stored, now)) return stored
    const [outcome, next = stored] = decide(stored, now)
    last.decided = { outcome, changes: next !== stored }
    return next
  })
  if (client === undefined || last.decided === undefined) return "unknown"
  if (last.decided.changes) {
    yield* note(audit, auditContext, { _tag: "ClientChanged", client: id, change, by: auditContext.by })
  }
  return last.decided.outcome
})

/** A disabled client cannot connect and its tokens are not accepted until it is enabled again. */
export const setClientEnabled = Effect.fn("engine.setClientEnabled")(
  (services: Changing, auditContext: OwnerAuditContext, id: ClientId, change: "disabled" | "enabled") => {
    const disabled = change === "disabled"
    return changeClient<"done" | "was_so">(services, auditContext, id, change, (stored) =>
      stored.disabled === disabled ? ["was_so"] : ["done", { ...stored, disabled }]
    )
  }
)

/** A secret that was made, as text this once, and all that work from now on. */
interface NewSecret {
  readonly text: Redacted.Redacted<string>
  readonly live: ReadonlyArray<LiveSecret>
}

/** Gives a client another secret. The one that it has works for as long as it is kept, so that nothing stops meanwhile. */
export const makeSecret = Effect.fn("engine.makeSecret")(function* (
  services: Changing & { readonly entropy: Entropy["Service"] },
  auditContext: OwnerAuditContext,
  id: ClientId,
  keepFor: Millis
): Effect.fn.Return<NewSecret | "unknown", SecretRefused | WriteFault> {
  const drawn = drawnSecret(services.entropy.bytes(credentialLength))
  const made = yield* changeClient<Result.Result<NewSecret, SecretRefused>>(
    services,
    auditContext,
    id,
    "secret_made",
    (stored, now) =>
      Result.match(withNewSecret(stored, drawn, keepFor, now), {
        onFailure: (refused) => [Result.fail(refused)],
        onSuccess: (next) => [Result.succeed({ text: drawn.text, live: liveSecrets(next, now) }), next]
      })
  )
  return made === "unknown" ? made : yield* Effect.fromResult(made)
})

/** Ends one of two secrets now: the older one once nothing uses it, or a newer one that nobody has seen. */
export const dropSecret = Effect.fn("engine.dropSecret")(
  (services: Changing, auditContext: OwnerAuditContext, id: ClientId, which: OfTwo = "older") =>
    changeClient<"done" | "was_so">(services, auditContext, id, "secret_dropped", (stored, now) => {
      const next = withoutSecret(stored, which, now)
      return [next === stored ? "was_so" : "done", next]
    })
)

/** How the access tokens of a client are written from its next one on. Those that are out stay what they are. */
export const setAccessTokenFormat = Effect.fn("engine.setAccessTokenFormat")(
  (services: Changing, auditContext: OwnerAuditContext, id: ClientId, format: AccessTokenFormat) =>
    changeClient<"done" | "was_so">(services, auditContext, id, `${format}_access_tokens`, (stored) =>
      stored.accessTokenFormat === format ? ["was_so"] : ["done", { ...stored, accessTokenFormat: format }]
    )
)

/**
 * What a client is held to from then on, whatever it registered. A rule that it breaks comes back in words: under it the
 * client could do nothing.
 */
export const setSecurityProfile = Effect.fn("engine.setSecurityProfile")(
  (
    services: Tables & Changing & { readonly policy: Policy },
    auditContext: OwnerAuditContext,
    id: ClientId,
    name: ProfileName
  ) =>
    changeClient<"done" | "was_so" | { readonly broken: ReadonlyArray<string> }>(
      services,
      auditContext,
      id,
      `${name}_profile`,
      (stored) => {
        const next: Client = { ...stored, members: { ...stored.members, [securityProfile.name]: name } }
        const broken = rulesBroken(services, next)
        if (broken.length > 0) return [{ broken }]
        return (securityProfile.of(stored) ?? "standard") === name ? ["was_so"] : ["done", next]
      }
    )
)

/** The rules of its profile that a client breaks as it is registered, in words. */
export const rulesBroken = (services: Tables & { readonly policy: Policy }, client: Client): ReadonlyArray<string> => {
  const members = { ...clientInformation(services, client) }
  const registration = { method: authMethodOf(client), redirectUris: client.redirectUris, members }
  return brokenRules(profileOf(client, services.policy), registration)
}

/**
 * The API that a client is, and for which it may exchange tokens from then on (RFC 8693). `null`: none, and what it
 * exchanged is worth nothing any more. `too_long`: the address would pass the bound of the record.
 */
export const setServedResource = Effect.fn("engine.setServedResource")(function* (
  services: Changing,
  auditContext: OwnerAuditContext,
  workspace: Workspace,
  id: ClientId,
  address: string | null
): Effect.fn.Return<"done" | "was_so" | "unknown" | "public" | "no_resource" | "too_long", WriteFault> {
  const named =
    address === null ? undefined : Option.getOrUndefined(Result.getSuccess(readResources(workspace, [address])))
  if (address !== null && named === undefined) return "no_resource"
  const serves = named?.[0]
  const change = serves === undefined ? "exchange_ended" : "exchange_allowed"
  return yield* changeClient<"done" | "was_so" | "public" | "too_long">(
    services,
    auditContext,
    id,
    change,
    (stored) => {
      if (serves !== undefined && isPublic(stored)) return ["public"]
      if (stored.serves === serves) return ["was_so"]
      const next = serving(stored, serves)
      return serves === undefined || leavesRoom(next) ? ["done", next] : ["too_long"]
    }
  )
})

type WorkspaceAnswer = "done" | "was_so" | "not_asked" | "asked_anew"

/**
 * An owner's answer to a client that registered to act for the workspace itself. It can be changed at any time.
 * `askedAt`: of the question that the owner read; where the client has asked anew since, it is not answered.
 */
export const answerWorkspaceAccess = Effect.fn("engine.answerWorkspaceAccess")(
  (
    services: Changing & { readonly policy: Policy } & Pick<Tables, "grantTypes">,
    auditContext: OwnerAuditContext,
    id: ClientId,
    change: "approved" | "refused",
    askedAt?: number
  ) => {
    const { by } = auditContext
    const approved = change === "approved"
    return changeClient<WorkspaceAnswer>(services, auditContext, id, change, (stored, at) => {
      if (stored.madeBy === "owner" || !asksForWorkspace(stored, services.grantTypes.values())) return ["not_asked"]
      if (askedAt !== undefined && questionOf(stored).askedAt !== askedAt) return ["asked_anew"]
      if (stored.workspaceAccess?.answer?.approved === approved) return ["was_so"]
      return ["done", answered(stored, { approved, by, at }, services.policy)]
    })
  }
)

/**
 * The same, by what the client goes by on the wire. A registration that is no record yet, and that no list has, gets one
 * with the answer. `workspace`: where it was sealed.
 */
export const answerByIdentifier = Effect.fn("engine.answerByIdentifier")(
  function* (
    services: Parameters<typeof answerWorkspaceAccess>[0] & { readonly brought: BroughtClients },
    auditContext: OwnerAuditContext,
    workspace: Workspace,
    identifier: ClientIdentifier,
    change: "approved" | "refused",
    askedAt?: number
  ): Effect.fn.Return<WorkspaceAnswer | "unknown", WriteFault | NoSuchClient> {
    if (isBrought(identifier) && isSealed(identifier)) {
      const { brought, client } = yield* services.brought.registered(workspace, identifier)
      if (brought !== undefined) {
        if (!asksForWorkspace(client, services.grantTypes.values())) return "not_asked"
        yield* services.brought.admit(workspace, auditContext, brought)
      }
    }
    return yield* answerWorkspaceAccess(services, auditContext, clientKey(identifier), change, askedAt)
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
export const deleteClient = Effect.fn("engine.deleteClient")(function* (
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
