import { type Clock, Effect, Option } from "effect"
import { type Client, proven, used } from "../client/Client.ts"
import { answer, answerAndKeep } from "../grant/Decision.ts"
import type { Entropy } from "../ports/Entropy.ts"
import type { Conflict, Slice, StorageUnavailable } from "../ports/Storage.ts"
import type { ClientId } from "../rules/Id.ts"
import { type Instant, instantOf } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import type { Contended } from "../rules/Refusal.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import { TtlCache } from "./caches.ts"
import { clientOwner, type Listed, type Records } from "./Records.ts"
import { transact } from "./transact.ts"

/** Clients are read with every request and change seldom, so they are kept in memory for a moment. */
export interface Clients {
  /** As it was a moment ago, where it is at hand; asks nobody. */
  readonly cached: (workspace: WorkspaceId, id: ClientId, now: Instant) => Client | undefined
  /** May be as old as the policy's `clientStaleness`, where another process changed it; never where this one did. */
  readonly find: (
    workspace: WorkspaceId,
    id: ClientId,
    /** Of whoever has asked the clock already. */
    now?: Instant
  ) => Effect.Effect<Client | undefined, StorageUnavailable>
  /** As it is stored now, whatever is at hand. */
  readonly findStored: (workspace: WorkspaceId, id: ClientId) => Effect.Effect<Client | undefined, StorageUnavailable>
  readonly add: (workspace: WorkspaceId, client: Client) => Effect.Effect<void, Conflict | StorageUnavailable>
  /** Changes what is stored now; `undefined` where there is no such client. */
  readonly change: (
    workspace: WorkspaceId,
    id: ClientId,
    change: (client: Client) => Client
  ) => Effect.Effect<Client | undefined, StorageUnavailable | Contended>
  readonly markProven: (
    workspace: WorkspaceId,
    client: Client,
    now: Instant
  ) => Effect.Effect<void, StorageUnavailable | Contended>
  /** For one that acted without a person; seldom a write. */
  readonly markUsed: (
    workspace: WorkspaceId,
    client: Client,
    now: Instant
  ) => Effect.Effect<void, StorageUnavailable | Contended>
  readonly remove: (workspace: WorkspaceId, id: ClientId) => Effect.Effect<void, StorageUnavailable>
  readonly list: (workspace: WorkspaceId, slice: Slice) => Effect.Effect<Listed<Client>, StorageUnavailable>
}

const cachedClients = 10_000
/** Some tell a lot of themselves: those are read every time, so that no stranger decides how much is kept. */
const longest = 4096

const isShort = (client: Client): boolean => JSON.stringify(client).length <= longest

export const makeClients = (
  records: Records<Client>,
  entropy: Entropy["Service"],
  policy: Policy,
  clock: Clock.Clock
): Clients => {
  const recent = new TtlCache<Client>(cachedClients, policy.clientStaleness)
  const forget = (workspace: WorkspaceId, id: ClientId) => Effect.sync(() => recent.forget(workspace, id))

  /**
   * Counted from when it was asked for: whoever came before the answer did, and looks after it, is not to take it for one
   * from the future, nor ask again.
   */
  const read = (workspace: WorkspaceId, id: ClientId, asked?: Instant) =>
    Effect.suspend(() => {
      const before = recent.forgotten
      const since = asked ?? instantOf(clock)
      return Effect.map(records.get(workspace, id), (kept) => {
        const client = kept?.value
        // What is not there is not remembered: made-up ids must neither fill the memory nor hide a client to come.
        if (client !== undefined && isShort(client)) recent.remember(workspace, id, client, since, before)
        return client
      })
    })

  const change: Clients["change"] = (workspace, id, change) =>
    transact(records, entropy, workspace, id, (client) => {
      if (client === undefined) return answer(undefined)
      const next = change(client)
      return next === client ? answer(client) : answerAndKeep(next, next)
    }).pipe(Effect.flatMap(Effect.fromResult), Effect.ensuring(forget(workspace, id)))

  /** Nothing is read where the copy at hand needs no change. */
  const mark = (workspace: WorkspaceId, client: Client, marked: (client: Client) => Option.Option<Client>) =>
    Option.isNone(marked(client))
      ? Effect.void
      : Effect.asVoid(change(workspace, client.id, (stored) => Option.getOrElse(marked(stored), () => stored)))

  const cached: Clients["cached"] = (workspace, id, now) => recent.get(workspace, id, now)

  return {
    cached,
    find: (workspace, id, now = instantOf(clock)) => {
      const client = cached(workspace, id, now)
      return client === undefined ? read(workspace, id, now) : Effect.succeed(client)
    },
    findStored: (workspace, id) =>
      Effect.tap(read(workspace, id), (client) => (client === undefined ? forget(workspace, id) : Effect.void)),
    add: (workspace, client) => records.insert(workspace, client, "add"),
    change,
    markProven: (workspace, client, now) => mark(workspace, client, (known) => proven(known, now)),
    markUsed: (workspace, client, now) => mark(workspace, client, (known) => used(known, now, policy)),
    remove: (workspace, id) => Effect.ensuring(records.remove(workspace, id), forget(workspace, id)),
    list: (workspace, slice) => records.list(workspace, clientOwner, slice)
  }
}
