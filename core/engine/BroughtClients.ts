import { type Clock, Effect, Result } from "effect"
import { LruMap } from "../cache/LruMap.ts"
import { type Brought, broughtAs, clientOf, isNewer, renewed, servesStaleFor } from "../client/Brought.ts"
import { type Client, changed, isKnown, voucherOf } from "../client/Client.ts"
import {
  type BroughtIdentifier,
  clientKey,
  type DocumentAddress,
  hostOf,
  isSealed,
  type SealedIdentifier
} from "../client/ClientIdentifier.ts"
import { readDocument } from "../client/metadataDocument.ts"
import type { Tables } from "../client/register.ts"
import { openClient } from "../client/SealedClient.ts"
import type { HttpRequest } from "../http/Http.ts"
import type { Audit } from "../ports/Audit.ts"
import type { Asker, Document, DocumentFault, DocumentLimits, Documents } from "../ports/Documents.ts"
import { Documents as NoDocuments } from "../ports/Documents.ts"
import type { Entropy } from "../ports/Entropy.ts"
import { askerOf } from "../ports/Limiter.ts"
import type { RegistrationPolicy } from "../ports/RegistrationPolicy.ts"
import type { Conflict, StorageUnavailable } from "../ports/Storage.ts"
import { type DocumentHosts, isBanned, takesHost } from "../rules/DocumentHosts.ts"
import { grantIdOf, idLength } from "../rules/Id.ts"
import { day, hasPassed, type Instant, instantOf, later, minute, second } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import { type DocumentFaultName, PortUnavailable } from "../rules/Refusal.ts"
import { sameDigest } from "../rules/Secret.ts"
import type { Keys } from "../token/KeyRing.ts"
import { type OpenWorkspace, policyAt } from "../workspace/Workspace.ts"
import { type AuditContext, note } from "./AuditContext.ts"
import type { Clients } from "./Clients.ts"
import type { Openings } from "./Openings.ts"
import type { WriteFault } from "./transact.ts"

/** draft-ietf-oauth-client-id-metadata-document §5.2 and §8.7: what a document may take, and how long it is kept. */
export const documentLimits: DocumentLimits = {
  longest: 5 * 1024,
  within: 5000,
  freshFor: { least: 5 * minute, most: day }
}

/** How long the host of a stale copy is left alone after it gave nothing. */
const heldOffFor = 30 * second

/** Of those who ask for one document at once. A host that hangs holds no more of them. */
const mostWaiting = 32

/** A document from which no client comes. `UntrustedRequest` or `InvalidClient`, by where it is asked about. */
export class NoSuchClient {
  readonly _tag = "NoSuchClient"
  readonly reason: DocumentFaultName | "unknown"
  constructor(reason: NoSuchClient["reason"]) {
    this.reason = reason
  }
}

type Fault = NoSuchClient | PortUnavailable | StorageUnavailable

/** A client as a request finds it. */
export interface Met {
  readonly client: Client
  /** What was read of it and stands in no record yet. */
  readonly brought?: Brought
}

/** Clients that bring their identifier, and have a record only once a person lets one in. */
export interface BroughtClients {
  /** Whether metadata documents are taken in this server. */
  readonly offered: boolean
  /** Whether they are in a workspace. */
  readonly offeredIn: (workspace: OpenWorkspace) => boolean
  /**
   * As the client is now: nothing older than its document's freshness is told to a person. `known`: what was read
   * before; `askedBy`: the network that the request came from.
   */
  readonly meet: (
    workspace: OpenWorkspace,
    identifier: BroughtIdentifier,
    known?: Brought,
    askedBy?: Asker["askedBy"]
  ) => Effect.Effect<Met, Fault>
  /** A client whose identifier holds what it registered. */
  readonly registered: (
    workspace: OpenWorkspace,
    identifier: SealedIdentifier
  ) => Effect.Effect<Met, NoSuchClient | StorageUnavailable>
  /**
   * For a client that proves itself: a stale copy serves while its host is away. `stored`: its record; one that has none
   * can be met all the same, and has no grants.
   */
  readonly prove: (
    call: Proving,
    identifier: BroughtIdentifier,
    stored: Client | undefined
  ) => Effect.Effect<Client, Fault>
  /** As a request carries it, unless the record was written from what came later: for who needs to know no more of it. */
  readonly asRead: (workspace: OpenWorkspace, brought: Brought, stored: Client | undefined) => Client
  /** Whether the record can be taken as it is. */
  readonly isFresh: (workspace: OpenWorkspace, client: Client, identifier: string, now: Instant) => boolean
  /** An owner let it in by name: the same for a client that was met already. */
  readonly keep: (
    workspace: OpenWorkspace,
    auditContext: AuditContext,
    client: Client
  ) => Effect.Effect<Client, NoSuchClient | WriteFault>
  /** It acts before a person let it in: writes the record of its registration where it has none and there is `room`. */
  readonly record: (
    workspace: OpenWorkspace,
    auditContext: AuditContext,
    identifier: SealedIdentifier,
    room: Effect.Effect<void, StorageUnavailable>
  ) => Effect.Effect<Client, NoSuchClient | WriteFault>
  /** A person let it in: writes its record, or brings that up to date. */
  readonly admit: (
    workspace: OpenWorkspace,
    auditContext: AuditContext,
    brought: Brought
  ) => Effect.Effect<void, NoSuchClient | WriteFault>
}

export interface Proving {
  readonly request?: Pick<HttpRequest, "peer">
  readonly workspace: OpenWorkspace
  readonly requestId: string
  readonly now: Instant
}

interface Parts {
  readonly tables: Tables
  readonly policy: Policy
  readonly documents: Documents["Service"]
  readonly registration: RegistrationPolicy["Service"]
  readonly clients: Clients
  readonly openings: Openings
  readonly keys: Keys["Service"]
  readonly entropy: Entropy["Service"]
  readonly audit: Audit["Service"]
  readonly clock: Clock.Clock
}

/** What a failed fetch says of the client: nothing, unless what came is at fault. */
const faultOf = ({ reason }: DocumentFault): NoSuchClient | PortUnavailable => {
  switch (reason) {
    case "bad_address":
      return new NoSuchClient("document_address")
    case "redirected":
    case "not_json":
      return new NoSuchClient("document_malformed")
    case "too_long":
      return new NoSuchClient("document_too_long")
    default:
      // An address that was refused is told like one that is not there: a client learns no names of the private
      // network.
      return new PortUnavailable({ port: "documents", reason })
  }
}

const busy = new PortUnavailable({ port: "documents", reason: "busy" })
const refused = new NoSuchClient("document_refused")
const unknown = new NoSuchClient("unknown")

interface HeldOff {
  readonly since: Instant
  readonly fault: NoSuchClient | PortUnavailable
}

export const makeBroughtClients = ({
  audit,
  clients,
  clock,
  documents,
  entropy,
  keys,
  openings,
  policy,
  registration,
  tables
}: Parts): BroughtClients => {
  const hosts = documents === NoDocuments.none ? undefined : registration.documents
  const waiting = new Map<string, number>()
  const heldOff = new LruMap<string, HeldOff>(1024)

  /** What the server takes is the most that a workspace is given, and that is the most that its owners take. */
  const isTaken = ({ clientDocuments, ownersDocuments }: OpenWorkspace, host: string): boolean =>
    hosts !== undefined &&
    takesHost(hosts, host) &&
    takesHost(clientDocuments, host) &&
    takesHost(ownersDocuments, host)

  const takes = (workspace: OpenWorkspace, identifier: DocumentAddress, now: Instant) => {
    const host = hostOf(identifier)
    if (hosts === undefined || !takesHost(hosts, host)) return Effect.fail(unknown)
    return Effect.flatMap(openings.current(workspace, now), (current): Effect.Effect<void, NoSuchClient> => {
      if (!isTaken(current, host)) return Effect.fail(unknown)
      return isBanned(current.blockedHosts ?? none, host) ? Effect.fail(refused) : Effect.void
    })
  }

  const unsealed = (workspace: OpenWorkspace, identifier: SealedIdentifier, now: Instant) => {
    const brought = openClient(keys.current(), workspace, identifier, now)
    return brought === undefined ? Effect.fail(unknown) : Effect.succeed(brought)
  }

  const leave = (identifier: string) => {
    const others = (waiting.get(identifier) ?? 1) - 1
    if (others === 0) waiting.delete(identifier)
    else waiting.set(identifier, others)
  }

  const fetched = (
    identifier: DocumentAddress,
    asker: Asker,
    asOf?: Instant
  ): Effect.Effect<Document, NoSuchClient | PortUnavailable> =>
    Effect.suspend(() => {
      const there = waiting.get(identifier) ?? 0
      if (there >= mostWaiting) return Effect.fail(busy)
      waiting.set(identifier, there + 1)
      return Effect.ensuring(
        Effect.mapError(documents.fetch(identifier, { ...documentLimits, ...asker }, asOf), faultOf),
        Effect.sync(() => leave(identifier))
      )
    })

  /** `live`: its record, which a person's approval left. */
  const read = Effect.fnUntraced(function* (
    workspace: OpenWorkspace,
    identifier: DocumentAddress,
    live: Client | undefined,
    askedBy: Asker["askedBy"],
    now: Instant
  ) {
    const at = policyAt(policy, workspace)
    const asker = { vouchedBy: live === undefined ? undefined : voucherOf(live), askedBy }
    const document = yield* fetched(identifier, asker)
    const said = readDocument(tables, identifier, document, at)
    // §5.2: a document of which no client comes is not kept, but asked for again.
    const again =
      Result.isFailure(said) && document.fetchedAt < now
        ? readDocument(tables, identifier, yield* fetched(identifier, asker, now), at)
        : said
    return yield* Effect.fromResult(Result.mapError(again, (reason) => new NoSuchClient(reason)))
  })

  const asClient = (workspace: OpenWorkspace, stored: Client | undefined, brought: Brought, now: Instant): Client => {
    const at = policyAt(policy, workspace)
    return stored === undefined
      ? clientOf(brought, grantIdOf(entropy.bytes(idLength)), now, at)
      : renewed(stored, brought, now, at)
  }

  const isItself = ({ origin }: Client, identifier: string): boolean => origin?.identifier === identifier

  const isFreshDocument = (document: { readonly freshUntil: Instant } | undefined, now: Instant): boolean =>
    document === undefined || !hasPassed(document.freshUntil, now)

  const isFresh: BroughtClients["isFresh"] = (workspace, { origin }, identifier, now) =>
    origin !== undefined &&
    origin.identifier === identifier &&
    isFreshDocument(origin.document, now) &&
    (origin.document === undefined || isTaken(workspace, origin.document.host))

  const registered: BroughtClients["registered"] = Effect.fnUntraced(function* (workspace, identifier) {
    const now = instantOf(clock)
    const stored = yield* clients.find(workspace.id, clientKey(identifier), now)
    // What was written since wins, also that the client was deleted.
    if (stored !== undefined) {
      return isItself(stored, identifier) && isKnown(stored, now) ? { client: stored } : yield* unknownClient
    }
    const brought = yield* unsealed(workspace, identifier, now)
    return { client: asClient(workspace, undefined, brought, now), brought }
  })

  const meet: BroughtClients["meet"] = Effect.fnUntraced(function* (workspace, identifier, known, askedBy) {
    if (isSealed(identifier)) return yield* registered(workspace, identifier)
    const now = instantOf(clock)
    yield* takes(workspace, identifier, now)
    const stored = yield* clients.find(workspace.id, clientKey(identifier), now)
    if (stored !== undefined && !isItself(stored, identifier)) return yield* unknownClient
    const live = stored !== undefined && isKnown(stored, now) ? stored : undefined
    const brought = known !== undefined && (live === undefined || isNewer(known, live)) ? known : undefined
    if (brought !== undefined && isFreshDocument(brought.document, now)) {
      return { client: asClient(workspace, stored, brought, now), brought }
    }
    if (live !== undefined && (live.disabled || isFresh(workspace, live, identifier, now))) return { client: live }
    const anew = yield* read(workspace, identifier, live, askedBy, now)
    return { client: asClient(workspace, stored, anew, now), brought: anew }
  })

  const noteChange = (workspace: OpenWorkspace, requestId: string, before: Client, after: Client) =>
    isSameDocument(before, after)
      ? Effect.void
      : note(
          audit,
          { workspace: workspace.id, requestId },
          { _tag: "ClientChanged", client: after.id, change: "document_changed" }
        )

  /** Brings the record up to date, with what was read last. */
  const rewrite = (
    workspace: OpenWorkspace,
    requestId: string,
    brought: Brought,
    now: Instant,
    by: "somebody" | "itself" = "itself"
  ) => {
    let before: Client | undefined
    return Effect.tap(
      clients.change(workspace.id, clientKey(brought.identifier), (stored) => {
        before = stored
        if (isSealed(brought.identifier)) return by === "somebody" ? changed(stored) : stored
        return isNewer(brought, stored) || !isKnown(stored, now) ? asClient(workspace, stored, brought, now) : stored
      }),
      (after) =>
        before === undefined || after === undefined ? Effect.void : noteChange(workspace, requestId, before, after)
    )
  }

  const prove: BroughtClients["prove"] = Effect.fnUntraced(function* (
    { now, request, requestId, workspace },
    identifier,
    stored
  ) {
    if (stored !== undefined && !isItself(stored, identifier)) return yield* unknownClient
    if (isSealed(identifier)) {
      return stored ?? asClient(workspace, undefined, yield* unsealed(workspace, identifier, now), now)
    }
    yield* takes(workspace, identifier, now)
    const askedBy = askerOf(request)
    const live = stored !== undefined && isKnown(stored, now) ? stored : undefined
    if (live === undefined)
      return asClient(workspace, stored, yield* read(workspace, identifier, undefined, askedBy, now), now)
    if (live.disabled) return live
    const held = heldOff.get(identifier)
    const isHeld = held !== undefined && held.since <= now && !hasPassed(later(held.since, heldOffFor), now)
    const outcome = yield* Effect.result(
      isHeld ? Effect.fail(held.fault) : read(workspace, identifier, live, askedBy, now)
    )
    if (Result.isSuccess(outcome)) {
      heldOff.delete(identifier)
      const brought = outcome.success
      // Others write it too, so that it need not be this request that does.
      const written = Effect.catchTag(rewrite(workspace, requestId, brought, now), "Contended", () =>
        Effect.succeed(undefined)
      )
      return (yield* written) ?? asClient(workspace, live, brought, now)
    }
    if (!isHeld) heldOff.set(identifier, { since: now, fault: outcome.failure })
    const freshUntil = live.origin?.document?.freshUntil ?? now
    return hasPassed(later(freshUntil, servesStaleFor), now) ? yield* Effect.fail(outcome.failure) : live
  })

  /** `by`: who lets it in; a record that it has by itself may make room for others. */
  const admitAs = Effect.fnUntraced(function* (
    workspace: OpenWorkspace,
    auditContext: AuditContext,
    brought: Brought,
    by: "somebody" | "itself"
  ): Effect.fn.Return<void, NoSuchClient | WriteFault> {
    const now = instantOf(clock)
    const made = asClient(workspace, undefined, brought, now)
    const fresh = by === "itself" ? asSealed(made) : made
    const added = yield* clients.add(workspace.id, fresh).pipe(
      Effect.as(true),
      Effect.catchTag("Conflict", (_: Conflict) => Effect.succeed(false))
    )
    if (!added) {
      const kept = yield* rewrite(workspace, auditContext.requestId, brought, now, by)
      if (kept === undefined || !isKnown(kept, now)) return yield* Effect.fail(unknown)
      return
    }
    yield* note(audit, auditContext, {
      _tag: "ClientRegistered",
      client: fresh.id,
      identifier: brought.identifier
    })
    // An owner who blocks the host writes that first and looks for its clients then: one of the two finds the other.
    const blocked = yield* openings.blockedHosts(workspace.id)
    if (brought.document !== undefined && isBanned(blocked, brought.document.host)) {
      yield* clients.remove(workspace.id, fresh.id)
      return yield* Effect.fail(refused)
    }
  })

  const admit: BroughtClients["admit"] = (workspace, auditContext, brought) =>
    admitAs(workspace, auditContext, brought, "somebody")

  const keep: BroughtClients["keep"] = Effect.fnUntraced(function* (workspace, auditContext, client) {
    const brought = broughtAs(client)
    if (brought === undefined) return client
    yield* admit(workspace, auditContext, brought)
    return (yield* clients.findStored(workspace.id, client.id)) ?? (yield* unknownClient)
  })

  const record: BroughtClients["record"] = Effect.fnUntraced(function* (workspace, auditContext, identifier, room) {
    const { brought, client } = yield* registered(workspace, identifier)
    if (brought === undefined) return client
    yield* room
    yield* admitAs(workspace, auditContext, brought, "itself")
    return (yield* clients.findStored(workspace.id, client.id)) ?? (yield* unknownClient)
  })

  return {
    offered: hosts !== undefined,
    offeredIn: ({ clientDocuments, ownersDocuments }) =>
      hosts !== undefined && takesAny(clientDocuments) && takesAny(ownersDocuments),
    meet,
    registered,
    prove,
    asRead: (workspace, brought, stored) => {
      const now = instantOf(clock)
      // A registration that was deleted stays so; a document brings its client back.
      const counts = brought.document === undefined || (stored !== undefined && isKnown(stored, now))
      return stored !== undefined && counts && !isNewer(brought, stored)
        ? stored
        : asClient(workspace, stored, brought, now)
    },
    isFresh,
    admit,
    record,
    keep
  }
}

const none: ReadonlyArray<string> = []

const asSealed = ({ origin, ...client }: Client): Client =>
  origin === undefined ? client : { ...client, origin: { ...origin, asSealed: true } }

const takesAny = (hosts: DocumentHosts | undefined): boolean => hosts === undefined || hosts.length > 0

const isSameDocument = ({ origin: before }: Client, { origin: after }: Client): boolean =>
  sameDigest(before?.document?.digest ?? "", after?.document?.digest ?? "")

const unknownClient = Effect.fail(unknown)
