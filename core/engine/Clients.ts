import { type Clock, Effect, Exit, Option } from "effect"
import { type Client, changed, isKnown, isOnTrial, mayGo, mayMakeRoom, proven, used } from "../client/Client.ts"
import { answer, answerAndKeep } from "../grant/Decision.ts"
import type { Entropy } from "../ports/Entropy.ts"
import { type Conflict, type Slice, type Storage, StorageUnavailable } from "../ports/Storage.ts"
import type { ClientId } from "../rules/Id.ts"
import { Instant, instantOf } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import { makeClientChanges, watchClients } from "./ClientChanges.ts"
import { TtlCache } from "./caches.ts"
import { clientKind, clientOwner, type Listed, makeRecords } from "./Records.ts"
import { cleanUpOrWarn, transactOrFail, type WriteFault } from "./transact.ts"

/** Clients are read with every request and change seldom, so they are kept in memory for a moment. */
export interface Clients {
  /** As it was a moment ago, where it is at hand; asks no store. */
  readonly cached: (workspace: WorkspaceId, id: ClientId, now: Instant) => Client | undefined
  /**
   * Where another process changed it, and nothing was read `withChanges` since, it may be as old as the policy's
   * `clientStaleness`; never over a store that answers at once.
   */
  readonly find: (
    workspace: WorkspaceId,
    id: ClientId,
    /** Of a caller that has asked the clock already. */
    now?: Instant
  ) => Effect.Effect<Client | undefined, StorageUnavailable>
  /** Reads, and learns in the same turn which clients other processes changed: none of those is `cached` afterwards. */
  readonly withChanges: <A, E>(
    workspace: WorkspaceId,
    read: Effect.Effect<A, E>
  ) => Effect.Effect<A, E | StorageUnavailable>
  /** As it is stored now, whatever is at hand. */
  readonly findStored: (workspace: WorkspaceId, id: ClientId) => Effect.Effect<Client | undefined, StorageUnavailable>
  readonly add: (workspace: WorkspaceId, client: Client) => Effect.Effect<void, Conflict | StorageUnavailable>
  /** Changes what is stored now, for every process at once; `undefined` where there is no such client. */
  readonly change: (
    workspace: WorkspaceId,
    id: ClientId,
    change: (client: Client) => Client
  ) => Effect.Effect<Client | undefined, WriteFault>
  readonly markProven: (workspace: WorkspaceId, client: Client, now: Instant) => Effect.Effect<void, WriteFault>
  /** For one that acted without a person; seldom a write. */
  readonly markUsed: (workspace: WorkspaceId, client: Client, now: Instant) => Effect.Effect<void, WriteFault>
  /** For every process at once. */
  readonly remove: (workspace: WorkspaceId, id: ClientId) => Effect.Effect<void, StorageUnavailable>
  /** The same, for good: where its identifier would bring it back, the record stays, as that of a client whose time is over. */
  readonly end: (workspace: WorkspaceId, client: Client, now: Instant) => Effect.Effect<void, StorageUnavailable>
  /** Removes one on trial as if its time were over, with no audit event; not one that a person lets in meanwhile. */
  readonly letGo: (workspace: WorkspaceId, id: ClientId, now: Instant) => Effect.Effect<"gone" | "stays", WriteFault>
  readonly list: (workspace: WorkspaceId, slice: Slice) => Effect.Effect<Listed<Client>, StorageUnavailable>
}

/** Behind a read `withChanges` in the same request: at hand as a rule, with nothing to learn anew. */
export const findAgain = (
  clients: Pick<Clients, "cached" | "find">,
  workspace: WorkspaceId,
  id: ClientId,
  now: Instant
): Effect.Effect<Client | undefined, StorageUnavailable> => {
  const client = clients.cached(workspace, id, now)
  return client === undefined ? clients.find(workspace, id, now) : Effect.succeed(client)
}

/** Before the clock of every process. */
const over = Instant.make(0)

/** Half as many are never missed: one of each of ten thousand workspaces. */
const cachedClients = 20_000
/** Some tell a lot of themselves: those are read every time, so that no stranger decides how much is kept. */
const longest = 4096

const isShort = (client: Client): boolean => JSON.stringify(client).length <= longest

/** The store says that nothing was written. To tell of what was not changed costs others a read, and no more. */
const changedNothing = (exit: Exit.Exit<unknown, WriteFault>): boolean => {
  const fault = Option.getOrUndefined(Exit.findErrorOption(exit))
  return fault?._tag === "StorageUnavailable" && fault.outcome === "not_done"
}

export const makeClients = (
  storage: Storage["Service"],
  entropy: Entropy["Service"],
  policy: Policy,
  clock: Clock.Clock
): Clients => {
  const records = makeRecords(storage, clientKind)
  const recent = new TtlCache<Client>(cachedClients, policy.clientStaleness)
  const forget = (workspace: WorkspaceId, id: ClientId) => Effect.sync(() => recent.forget(workspace, id))
  const told = makeClientChanges(storage, entropy, (workspace, clients) => {
    if (clients === "all") recent.forgetAll(workspace)
    else for (const id of clients) recent.forget(workspace, id)
  })
  const written = storage.written?.(clientKind.kind)
  const changes =
    written === undefined
      ? told
      : watchClients(written, told, {
          one: (workspace, id) => recent.forget(workspace, id),
          everything: () => recent.forgetEverything()
        })

  /**
   * Counted from when it was asked for: a request that came before the answer, and looks after it, is not to take it
   * for one from the future, nor ask again.
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

  const rewrite: Clients["change"] = (workspace, id, change) =>
    transactOrFail(records, entropy, workspace, id, (client) => {
      if (client === undefined) return answer(undefined)
      const next = change(client)
      return next === client ? answer(client) : answerAndKeep(next, next)
    }).pipe(Effect.ensuring(forget(workspace, id)))

  /** Nothing is read where the copy at hand needs no change. */
  const mark = (workspace: WorkspaceId, client: Client, marked: (client: Client) => Client | undefined) =>
    marked(client) === undefined
      ? Effect.void
      : Effect.asVoid(rewrite(workspace, client.id, (stored) => marked(stored) ?? stored))

  const cached: Clients["cached"] = (workspace, id, now) => recent.get(workspace, id, now)

  /** The change is kept by then, so what cannot be told is left to the time that clients are kept in memory. */
  const tellOthers = (workspace: WorkspaceId, id: ClientId) =>
    cleanUpOrWarn(
      workspace,
      changes.tell(workspace, id),
      "other processes could not be told of a changed client, and may take it as it was for a moment",
      { client: id }
    )

  const removeStored = (workspace: WorkspaceId, id: ClientId) =>
    Effect.ensuring(records.remove(workspace, id), forget(workspace, id))

  const change: Clients["change"] = (workspace, id, change) =>
    Effect.suspend(() => {
      let writes = false
      const watched = (client: Client): Client => {
        const next = change(client)
        if (next === client) return client
        writes = true
        return changed(next)
      }
      return Effect.onExit(rewrite(workspace, id, watched), (exit) =>
        writes && !changedNothing(exit) ? tellOthers(workspace, id) : Effect.void
      )
    })

  const remove: Clients["remove"] = (workspace, id) =>
    Effect.onExit(removeStored(workspace, id), (exit) =>
      changedNothing(exit) ? Effect.void : tellOthers(workspace, id)
    )

  const end: Clients["end"] = (workspace, client, now) =>
    mayGo(client, now)
      ? remove(workspace, client.id)
      : change(workspace, client.id, (stored) => (isKnown(stored, now) ? { ...stored, expiresAt: over } : stored)).pipe(
          Effect.asVoid,
          Effect.catchTag("Contended", () =>
            Effect.fail(new StorageUnavailable({ outcome: "not_done", message: "too many changed a client at once" }))
          )
        )

  return {
    cached,
    find: (workspace, id, now = instantOf(clock)) =>
      Effect.flatMapEager(changes.learnAtOnce(workspace), () => {
        const client = cached(workspace, id, now)
        return client === undefined ? read(workspace, id, now) : Effect.succeed(client)
      }),
    withChanges: changes.learnWith,
    findStored: (workspace, id) =>
      Effect.tap(read(workspace, id), (client) => (client === undefined ? forget(workspace, id) : Effect.void)),
    add: (workspace, client) => records.insert(workspace, client, "add"),
    change,
    markProven: (workspace, client, now) => mark(workspace, client, (known) => proven(known, now)),
    markUsed: (workspace, client, now) => mark(workspace, client, (known) => used(known, now, policy)),
    remove,
    end,
    letGo: (workspace, id, now) =>
      rewrite(workspace, id, (client) =>
        isOnTrial(client) && isKnown(client, now) && mayMakeRoom(client, now) ? { ...client, expiresAt: now } : client
      ).pipe(
        Effect.flatMap((left) =>
          left !== undefined && (isKnown(left, now) || !mayMakeRoom(left, now))
            ? Effect.succeed("stays" as const)
            : // Nothing brings back what is forgotten, so it can go without being looked at again.
              Effect.as(removeStored(workspace, id), "gone" as const)
        )
      ),
    list: (workspace, slice) => records.list(workspace, clientOwner, slice)
  }
}
