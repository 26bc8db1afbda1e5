import { Effect, Schema } from "effect"
import { LruMap } from "../cache/LruMap.ts"
import { answer, answerAndKeep, type Decision, refuse } from "../grant/Decision.ts"
import type { Audit } from "../ports/Audit.ts"
import type { Entropy } from "../ports/Entropy.ts"
import type { Storage, StorageUnavailable } from "../ports/Storage.ts"
import type { Contended } from "../rules/Refusal.ts"
import { Issuer, type OpenWorkspace, type Workspace, WorkspaceId, workspacesKept } from "../workspace/Workspace.ts"
import { note } from "./AuditContext.ts"
import { beginClientChanges } from "./ClientChanges.ts"
import { clientKind, clientOwner, makeRecords, type RecordKind } from "./Records.ts"
import { transact } from "./transact.ts"

/** What the store says of a workspace: who speaks for it. */
const Opened = Schema.Struct({
  id: WorkspaceId,
  issuer: Issuer,
  /** There were clients before there was this record, and they may hold what an earlier release sealed. */
  sealedBefore: Schema.Boolean
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

/** Whether a workspace may be taken over from the issuer that its record names, because it is known to have moved. */
export type MayMove = (from: Issuer, workspace: Workspace) => boolean

export const neverMoves: MayMove = () => false

/** The workspaces that this process has opened: read once each, so that no request pays for it again. */
export interface Openings {
  readonly known: (workspace: Workspace) => OpenWorkspace | undefined
  readonly open: (workspace: Workspace) => Effect.Effect<OpenWorkspace, OtherIssuer | StorageUnavailable | Contended>
}

/** What the store has from now on, and from whom it was taken over. */
interface Decided {
  readonly record: Opened
  readonly from?: Issuer
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
    return mayMove(found.issuer, workspace)
      ? moved(found, issuer)
      : refuse(new OtherIssuer({ workspace: id, issuer, recorded: found.issuer }))
  }

/** What was sealed before the record was made is the former issuer's, and opens no more either. */
const moved = (found: Opened, issuer: Issuer): Decision<Decided, never, Opened> => {
  const record = { id: found.id, issuer, sealedBefore: false }
  return answerAndKeep(record, { record, from: found.issuer })
}

interface Parts {
  readonly storage: Storage["Service"]
  readonly entropy: Entropy["Service"]
}

export const makeOpenings = (
  { audit, entropy, storage }: Parts & { readonly audit: Audit["Service"] },
  mayMove: MayMove
): Openings => {
  const records = makeRecords(storage, workspaceKind)
  const opened = new LruMap<WorkspaceId, { readonly from: Workspace; readonly workspace: OpenWorkspace }>(
    workspacesKept
  )

  const remember = (from: Workspace, sealedBefore: boolean): OpenWorkspace => {
    const workspace = { ...from, sealedBefore }
    opened.set(from.id, { from, workspace })
    return workspace
  }

  const known: Openings["known"] = (workspace) => {
    const found = opened.get(workspace.id)
    if (found === undefined || found.from.issuer !== workspace.issuer) return undefined
    // A host may make its workspaces anew for each request, and give them another name.
    return found.from === workspace ? found.workspace : remember(workspace, found.workspace.sealedBefore === true)
  }

  const hasClients = ({ id }: Workspace) =>
    Effect.map(
      storage.list({ workspace: id, kind: clientKind.kind, owner: clientOwner, after: undefined, limit: 1 }),
      (page) => page.records.length > 0
    )

  const open: Openings["open"] = Effect.fnUntraced(function* (workspace) {
    const before = known(workspace)
    if (before !== undefined) return before
    const { id, issuer } = workspace
    const kept = yield* records.get(id, id)
    if (kept?.value.issuer === issuer) return remember(workspace, kept.value.sealedBefore)
    const sealedBefore = kept === undefined && (yield* hasClients(workspace))
    const outcome = yield* transact(records, entropy, id, id, decideOpening(workspace, sealedBefore, mayMove))
    const { from, record } = yield* Effect.fromResult(outcome)
    if (kept === undefined) yield* beginClientChanges(storage, id)
    if (from !== undefined) {
      yield* note(audit, { workspace: id, requestId: by }, { _tag: "WorkspaceMoved", from, to: issuer, by })
    }
    return remember(workspace, record.sealedBefore)
  })

  return { known, open }
}

const by = "host program"

/** Says that a workspace has moved; answers from where. `undefined`: no server has opened it yet, and there is nothing to move. */
export const moveWorkspace = (
  { entropy, storage }: Parts,
  id: WorkspaceId,
  to: Issuer
): Effect.Effect<Issuer | undefined, StorageUnavailable | Contended> =>
  transact(
    makeRecords(storage, workspaceKind),
    entropy,
    id,
    id,
    (found): Decision<Issuer | undefined, never, Opened> => {
      if (found === undefined || found.issuer === to) return answer(found?.issuer)
      const { next } = moved(found, to)
      return next === undefined ? answer(found.issuer) : answerAndKeep(next, found.issuer)
    }
  ).pipe(Effect.flatMap(Effect.fromResult))

/** Whose a workspace is; `undefined` where no server has opened it yet. */
export const issuerOf = (
  storage: Storage["Service"],
  id: WorkspaceId
): Effect.Effect<Issuer | undefined, StorageUnavailable> =>
  Effect.map(makeRecords(storage, workspaceKind).get(id, id), (kept) => kept?.value.issuer)
