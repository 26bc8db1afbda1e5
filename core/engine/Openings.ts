import { Effect, Schema } from "effect"
import { LruMap } from "../cache/LruMap.ts"
import { answer, answerAndKeep, type Decision, refuse } from "../grant/Decision.ts"
import type { Audit } from "../ports/Audit.ts"
import type { Entropy } from "../ports/Entropy.ts"
import { type Storage, StorageUnavailable } from "../ports/Storage.ts"
import { DocumentHosts } from "../rules/DocumentHosts.ts"
import { currentInstant, type Instant, type Millis } from "../rules/Instant.ts"
import type { Contended } from "../rules/Refusal.ts"
import { ResourceRegistry } from "../rules/Resource.ts"
import { TrustedIssuers } from "../rules/TrustedIssuer.ts"
import {
  Issuer,
  type OpenWorkspace,
  type Workspace,
  WorkspaceId,
  withListed,
  workspacesKept
} from "../workspace/Workspace.ts"
import { note } from "./AuditContext.ts"
import { beginClientChanges } from "./ClientChanges.ts"
import { clientKind, clientOwner, makeRecords, type RecordKind } from "./Records.ts"
import { transact, transactOrFail, type WriteFault } from "./transact.ts"

/** What the store says of a workspace: who speaks for it. */
const Opened = Schema.Struct({
  id: WorkspaceId,
  issuer: Issuer,
  /** There were clients before there was this record, and they may hold what an earlier release sealed. */
  sealedBefore: Schema.Boolean,
  /** What an owner listed, beside what is configured. */
  resources: Schema.optionalKey(ResourceRegistry),
  /** The issuers that an owner trusts, beside those that are configured. */
  issuers: Schema.optionalKey(TrustedIssuers),
  /** From which hosts owners take documents of clients; as many as the server does, where they did not say. */
  documents: Schema.optionalKey(DocumentHosts),
  /** Whose clients' documents an owner will have none of. */
  blockedHosts: Schema.optionalKey(Schema.Array(Schema.String))
})
type Opened = typeof Opened.Type

export const workspaceKind: RecordKind<Opened> = {
  kind: "workspace",
  schema: Opened,
  version: 1,
  upcast: [],
  id: ({ id }) => id,
  owner: () => "workspace",
  expiresAt: () => null
}

/** The store has the workspace under another issuer: two servers share what each takes for its own, or it has moved. */
export class OtherIssuer extends Schema.TaggedError<OtherIssuer>()("OtherIssuer", {
  workspace: Schema.String,
  issuer: Schema.String,
  /** Whose it is. */
  recorded: Schema.String
}) {
  override get message(): string {
    return `in this storage the workspace ${this.workspace} belongs to ${this.recorded}, and this server is ${this.issuer}. Give each its own storage; if the workspace has moved, run: tessera workspace moved --to ${this.issuer}`
  }
}

/** For a request: a store that is another's is none that it may have. */
export const withheld = ({ message }: OtherIssuer) => new StorageUnavailable({ outcome: "not_done", message })

/**
 * Whether a workspace may be taken over from the issuer that its record names, because it is known to have moved.
 * `"server itself"`: no host says so, and the server goes by a rule of its own.
 */
export type MayMove = (from: Issuer, workspace: Workspace) => boolean | "server itself"

export const neverMoves: MayMove = () => false

/** The workspaces that this process has opened: read once each, so that no request pays for it again. */
export interface Openings {
  readonly known: (workspace: Workspace) => OpenWorkspace | undefined
  /** Whether its record was read a while ago: another process may have said that it moved. */
  readonly isDue: (workspace: OpenWorkspace, now: Instant) => boolean
  readonly open: (workspace: Workspace) => Effect.Effect<OpenWorkspace, OtherIssuer | StorageUnavailable | Contended>
  /** With its resources as any process listed them: read again where that was a while ago. Fails where it has moved. */
  readonly current: (workspace: OpenWorkspace, now: Instant) => Effect.Effect<OpenWorkspace, StorageUnavailable>
  /** The same; while the store is away, with what this process knows: that does not say that the workspace has moved. */
  readonly asKnown: (workspace: OpenWorkspace, now: Instant) => Effect.Effect<OpenWorkspace, WriteFault>
  /** Changes what owners listed, by compare-and-set; this process knows it at once. */
  readonly list: <A, E>(
    workspace: OpenWorkspace,
    decide: (listed: ResourceRegistry) => Decision<A, E, ResourceRegistry>
  ) => Effect.Effect<A, E | WriteFault>
  /** The same for the issuers that owners trust. */
  readonly trust: <A, E>(
    workspace: OpenWorkspace,
    decide: (trusted: TrustedIssuers) => Decision<A, E, TrustedIssuers>
  ) => Effect.Effect<A, E | WriteFault>
  /** Changes from which hosts they take documents. */
  readonly takeDocuments: (workspace: OpenWorkspace, hosts: DocumentHosts) => Effect.Effect<boolean, WriteFault>
  /** The hosts that owners blocked, as the store has them now. */
  readonly blockedHosts: (workspace: WorkspaceId) => Effect.Effect<ReadonlyArray<string>, StorageUnavailable>
  /** Changes them by compare-and-set; whether that made a difference. */
  readonly block: (
    workspace: OpenWorkspace,
    change: (blocked: ReadonlyArray<string>) => ReadonlyArray<string>
  ) => Effect.Effect<boolean, WriteFault>
}

/** What the store has from now on, and from whom it was taken over. */
interface Decided {
  readonly record: Opened
  readonly move?: { readonly from: Issuer; readonly by: "host program" | "server itself" }
}

const decideOpening =
  (workspace: Workspace, sealedBefore: boolean, mayMove: MayMove) =>
  (found: Opened | undefined): Decision<Decided, OtherIssuer, Opened> => {
    const { id, issuer } = workspace
    if (found === undefined) {
      const record = { id, issuer, sealedBefore }
      return answerAndKeep(record, { record })
    }
    if (found.issuer === issuer) return answer({ record: found })
    const says = mayMove(found.issuer, workspace)
    if (says === false) return refuse(new OtherIssuer({ workspace: id, issuer, recorded: found.issuer }))
    const record = moved(found, issuer)
    return answerAndKeep(record, { record, move: { from: found.issuer, by: says === true ? "host program" : says } })
  }

/** What was sealed before the record was made is the former issuer's, and opens no more either. */
const moved = (found: Opened, issuer: Issuer): Opened => ({ ...found, issuer, sealedBefore: false })

/** How long a document waits for what owners listed: a store that hangs, or that is opened just now, holds none up. */
const patience = "1 second"

interface Parts {
  readonly storage: Storage["Service"]
  readonly entropy: Entropy["Service"]
}

const nothing: ResourceRegistry = []

/** What is remembered of an opened workspace. */
interface Known {
  readonly from: Workspace
  readonly workspace: OpenWorkspace
  readonly record: Pick<Opened, "resources" | "issuers" | "sealedBefore" | "blockedHosts" | "documents">
  /** Of the record; `undefined` where this process wrote it. */
  readonly version: number | undefined
  /** When its record was read last; over a store that counts what is written, how much had been by then. */
  asOf: number
  /** How often this process had changed it by then, and until now: where it has since, what is known is stale. */
  readonly seen: number
  readonly changes: number
}

/** How far what is remembered goes. */
type When = Pick<Known, "asOf" | "version" | "seen" | "changes">

const justRead = (asOf: number, version?: number): When => ({ asOf, version, seen: 0, changes: 0 })

export const makeOpenings = (
  {
    audit,
    entropy,
    staleness,
    storage
  }: Parts & {
    readonly audit: Audit["Service"]
    /** How long this process may go on with resources that another one changed. */
    readonly staleness: Millis
  },
  mayMove: MayMove
): Openings => {
  const records = makeRecords(storage, workspaceKind)
  /** Where no other process can write, a record is as it was read until one of its kind is written. */
  const written = storage.written?.(workspaceKind.kind)
  const asOfNow = (now: Instant): number => written?.count ?? now
  const opened = new LruMap<WorkspaceId, Known>(workspacesKept)
  /** Those that moved away from this process. It takes none of them back by itself: another process serves it now. */
  const lost = new LruMap<WorkspaceId, Pick<Workspace, "issuer">>(workspacesKept)
  /** When the store last had no record of a workspace that this process has not opened. */
  const passedOver = new LruMap<WorkspaceId, Instant>(workspacesKept)

  const remember = (from: Workspace, record: Known["record"], when: When): OpenWorkspace => {
    const { blockedHosts, documents, issuers, resources = nothing, sealedBefore } = record
    const workspace = {
      ...withListed(from, sealedBefore, resources, issuers),
      ...(blockedHosts && { blockedHosts }),
      ...(documents && { ownersDocuments: documents })
    }
    opened.set(from.id, { ...when, from, workspace, record })
    return workspace
  }

  const known: Openings["known"] = (workspace) => {
    const found = opened.get(workspace.id)
    if (found === undefined || found.from.issuer !== workspace.issuer) return undefined
    // A host may make its workspaces anew for each request, and give them another name.
    if (found.from === workspace) return found.workspace
    const { asOf, changes, record, seen, version } = found
    return remember(workspace, record, { asOf, version, seen, changes })
  }

  const ofIts = (workspace: Workspace): Known | undefined => {
    const found = opened.get(workspace.id)
    return found?.from.issuer === workspace.issuer ? found : undefined
  }

  const isOld = (found: Known, now: Instant): boolean =>
    found.seen < found.changes ||
    (written === undefined ? Math.abs(now - found.asOf) >= staleness : found.asOf !== written.count)

  const isDue: Openings["isDue"] = (workspace, now) => {
    const found = ofIts(workspace)
    return found !== undefined && isOld(found, now)
  }

  const movedAway = ({ from: { id, issuer } }: Known, recorded: Issuer) => {
    opened.delete(id)
    lost.set(id, { issuer })
    return Effect.andThen(
      Effect.logError(
        `the workspace ${id} moved to ${recorded}, and this server is ${issuer}: it serves that workspace no more`
      ),
      Effect.fail(new OtherIssuer({ workspace: id, issuer, recorded }))
    )
  }

  const lookedAt = (
    workspace: OpenWorkspace,
    now: Instant
  ): Effect.Effect<OpenWorkspace, OtherIssuer | StorageUnavailable> => {
    const found = ofIts(workspace)
    // Not opened by this server: as it was given, it is all that is known.
    if (found === undefined || !isOld(found, now)) return Effect.succeed(found?.workspace ?? workspace)
    const { asOf: before, changes } = found
    const isBehind = found.seen < changes
    // A request that comes meanwhile goes on with what is known, unless it was changed here.
    const asOf = asOfNow(now)
    found.asOf = asOf
    return records.get(workspace.id, workspace.id).pipe(
      Effect.flatMap((kept) => {
        const latest = opened.get(workspace.id) ?? found
        if (latest.from.issuer !== workspace.issuer) return Effect.succeed(workspace)
        // Changed here meanwhile: what was read may be what it was before.
        if (latest.changes !== changes) return lookedAt(workspace, now)
        if (kept !== undefined && kept.value.issuer !== workspace.issuer) return movedAway(latest, kept.value.issuer)
        if (kept === undefined || (kept.version === latest.version && !isBehind))
          return Effect.succeed(latest.workspace)
        const when = { asOf, version: kept.version, seen: changes, changes }
        return Effect.succeed(remember(latest.from, kept.value, when))
      }),
      Effect.tapError(() =>
        Effect.sync(() => {
          found.asOf = before
        })
      )
    )
  }

  /** Eager, since requests of clients that bring their identifier ask each time. */
  const current: Openings["current"] = (workspace, now) => {
    const latest = Effect.catchEager(lookedAt(workspace, now), (fault) =>
      Effect.fail(fault._tag === "OtherIssuer" ? withheld(fault) : fault)
    )
    const { sessionPath } = workspace
    // What is known is of every request, and the path below which the pages of this one are is not.
    return sessionPath === undefined ? latest : Effect.mapEager(latest, (known) => ({ ...known, sessionPath }))
  }

  const isLost = (workspace: OpenWorkspace): boolean =>
    ofIts(workspace) === undefined && lost.get(workspace.id)?.issuer === workspace.issuer

  /** What owners listed in a workspace that this process has not opened, as after a start. Reading it opens nothing. */
  const lookedInto = (workspace: OpenWorkspace, now: Instant): Effect.Effect<OpenWorkspace> => {
    const { id, issuer } = workspace
    const before = passedOver.get(id)
    if (before !== undefined && Math.abs(now - before) < staleness) return Effect.succeed(workspace)
    const asOf = asOfNow(now)
    const kept = Effect.timeoutOrElse(records.get(id, id), {
      duration: patience,
      orElse: () => Effect.succeed(undefined)
    })
    return Effect.map(
      Effect.catch(kept, () => Effect.succeed(undefined)),
      (kept) => {
        if (kept?.value.issuer === issuer) return remember(workspace, kept.value, justRead(asOf, kept.version))
        passedOver.set(id, now)
        return workspace
      }
    )
  }

  const lookedUp = (workspace: OpenWorkspace, now: Instant) => {
    // One that moved away may have come back, which the store says.
    if (isLost(workspace)) return open(workspace)
    return opened.get(workspace.id) === undefined ? lookedInto(workspace, now) : lookedAt(workspace, now)
  }

  const asKnown: Openings["asKnown"] = (workspace, now) =>
    Effect.catchEager(lookedUp(workspace, now), (fault) => {
      if (fault._tag === "OtherIssuer") return Effect.fail(withheld(fault))
      return isLost(workspace) ? Effect.fail(fault) : Effect.succeed(ofIts(workspace)?.workspace ?? workspace)
    })

  const change = Effect.fnUntraced(function* <A, E>(
    workspace: OpenWorkspace,
    decide: (kept: Opened) => Decision<A, E, Opened>
  ) {
    const { id, issuer } = workspace
    const outcome = yield* transact(records, entropy, id, id, (kept: Opened | undefined) =>
      decide(kept ?? { id, issuer, sealedBefore: workspace.sealedBefore === true })
    )
    // Whether it was changed here or elsewhere, every request reads it until one has.
    const found = opened.get(id)
    if (found !== undefined) opened.set(id, { ...found, changes: found.changes + 1 })
    return yield* Effect.fromResult(outcome)
  })

  const block: Openings["block"] = (workspace, next) =>
    change<boolean, never>(workspace, ({ blockedHosts = [], ...record }) => {
      const after = next(blockedHosts)
      return after === blockedHosts ? answer(false) : answerAndKeep({ ...record, blockedHosts: after }, true)
    })

  const takeDocuments: Openings["takeDocuments"] = (workspace, documents) =>
    change<boolean, never>(workspace, (kept) =>
      JSON.stringify(kept.documents) === JSON.stringify(documents)
        ? answer(false)
        : answerAndKeep({ ...kept, documents }, true)
    )

  const blockedHosts: Openings["blockedHosts"] = (workspace) =>
    Effect.map(records.get(workspace, workspace), (kept) => kept?.value.blockedHosts ?? [])

  const list: Openings["list"] = (workspace, decide) =>
    change(workspace, (kept) => {
      const decided = decide(kept.resources ?? nothing)
      return { ...decided, next: decided.next === undefined ? undefined : { ...kept, resources: decided.next } }
    })

  const trust: Openings["trust"] = (workspace, decide) =>
    change(workspace, (kept) => {
      const decided = decide(kept.issuers ?? [])
      return { ...decided, next: decided.next === undefined ? undefined : { ...kept, issuers: decided.next } }
    })

  const hasClients = ({ id }: Workspace) =>
    Effect.map(
      storage.list({ workspace: id, kind: clientKind.kind, owner: clientOwner, after: undefined, limit: 1 }),
      (page) => page.records.length > 0
    )

  const open: Openings["open"] = Effect.fnUntraced(function* (workspace) {
    const before = known(workspace)
    const now = yield* currentInstant
    if (before !== undefined) return yield* lookedAt(before, now)
    const { id, issuer } = workspace
    const asOf = asOfNow(now)
    const kept = yield* records.get(id, id)
    if (kept?.value.issuer === issuer) return remember(workspace, kept.value, justRead(asOf, kept.version))
    const sealedBefore = kept === undefined && (yield* hasClients(workspace))
    const mayTake = lost.get(id)?.issuer === issuer ? neverMoves : mayMove
    const decide = decideOpening(workspace, sealedBefore, mayTake)
    const { move, record } = yield* transactOrFail(records, entropy, id, id, decide)
    if (kept === undefined) yield* beginClientChanges(storage, id)
    if (move !== undefined) {
      const requestId = move.by === "server itself" ? "server" : move.by
      yield* note(audit, { workspace: id, requestId }, { _tag: "WorkspaceMoved", ...move, to: issuer })
    }
    return remember(workspace, record, justRead(asOf))
  })

  return { known, isDue, open, current, asKnown, list, trust, takeDocuments, block, blockedHosts }
}

/** Says that a workspace has moved; answers from where. `undefined`: no server has opened it yet, and there is nothing to move. */
export const moveWorkspace = (
  { entropy, storage }: Parts,
  id: WorkspaceId,
  to: Issuer
): Effect.Effect<Issuer | undefined, WriteFault> =>
  transactOrFail(
    makeRecords(storage, workspaceKind),
    entropy,
    id,
    id,
    (found): Decision<Issuer | undefined, never, Opened> => {
      if (found === undefined || found.issuer === to) return answer(found?.issuer)
      return answerAndKeep(moved(found, to), found.issuer)
    }
  )

/** Whose a workspace is; `undefined` where no server has opened it yet. */
export const issuerOf = (
  storage: Storage["Service"],
  id: WorkspaceId
): Effect.Effect<Issuer | undefined, StorageUnavailable> =>
  Effect.map(makeRecords(storage, workspaceKind).get(id, id), (kept) => kept?.value.issuer)
