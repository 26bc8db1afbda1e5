import { Effect, Exit, Fiber, Option, Result, Schema, Semaphore } from "effect"
import { LruMap } from "../cache/LruMap.ts"
import { answerAndKeep } from "../grant/Decision.ts"
import type { Entropy } from "../ports/Entropy.ts"
import {
  type RecordKey,
  type Storage,
  StorageUnavailable,
  type StoredRecord,
  type Written,
  writtenKept
} from "../ports/Storage.ts"
import { ClientId } from "../rules/Id.ts"
import { WorkspaceId, workspacesKept } from "../workspace/Workspace.ts"
import { decodeBody, makeRecords, type RecordKind } from "./Records.ts"
import { transactOrFail, type WriteFault } from "./transact.ts"

/** The changes to a workspace's clients that other processes have to know of, before they take a client from memory. */
const Changes = Schema.Struct({
  workspace: WorkspaceId,
  /** Of all that there ever were. */
  count: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)),
  /** Whom the last of them were about, the last one last. */
  clients: Schema.Array(ClientId)
})
type Changes = typeof Changes.Type

/** Stores keep the parsed body of a record of up to a kilobyte: this is half of that. */
const told = 16

const idOf = (workspace: WorkspaceId): string => `clients of ${workspace}`

/** It lies among the grants, so that a store that reads several records of a kind at once reads it with a grant. */
export const clientChangesKind: RecordKind<Changes> = {
  kind: "grant",
  schema: Changes,
  version: 1,
  upcast: [],
  id: ({ workspace }) => idOf(workspace),
  owner: () => clientChangesOwner,
  expiresAt: () => null
}

/** In whose list these records stand, which is no grant's. */
export const clientChangesOwner = "clients"

const noChanges = (workspace: WorkspaceId): Changes => ({ workspace, count: 0, clients: [] })

/** Made with the workspace, since what is not there is not kept at hand. Without it, only a little time is lost. */
export const beginClientChanges = (storage: Storage["Service"], workspace: WorkspaceId): Effect.Effect<void> =>
  storage.written !== undefined
    ? Effect.void
    : Effect.ignore(makeRecords(storage, clientChangesKind).insert(workspace, noChanges(workspace), "begin"))

const decode = decodeBody(clientChangesKind)

const changesIn = ({ body }: StoredRecord): Result.Result<Changes, StorageUnavailable> =>
  Result.mapBoth(decode(body), {
    onSuccess: ({ value }) => value,
    onFailure: (why) => new StorageUnavailable({ outcome: "not_done", message: `a record of changed clients ${why}` })
  })

/** Which clients to forget: those, or all of the workspace. */
type Forget = (workspace: WorkspaceId, clients: ReadonlyArray<ClientId> | "all") => void

/** How processes over one store tell each other which clients they changed. */
export interface ClientChanges {
  /** Learns what others told where the store answers at once, and otherwise asks nothing. */
  readonly learnAtOnce: (workspace: WorkspaceId) => Effect.Effect<void, StorageUnavailable>
  /** Reads, and learns meanwhile what others told: both leave in one turn, so that it costs no round trip of its own. */
  readonly learnWith: <A, E>(
    workspace: WorkspaceId,
    read: Effect.Effect<A, E>
  ) => Effect.Effect<A, E | StorageUnavailable>
  /** To be told after the change: a process that has learnt of it reads the client as it is by then. */
  readonly tell: (workspace: WorkspaceId, client: ClientId) => Effect.Effect<void, WriteFault>
}

/** What a process has learnt of a workspace. Every request looks at it, so everything that looking takes is made once. */
interface Watched {
  readonly key: RecordKey
  version: number
  /** Of nothing yet, before it has learnt at all: what was read by then is as old as can be. */
  count: number | undefined
  readonly learn: (found: Option.Option<StoredRecord>) => Effect.Effect<void, StorageUnavailable>
}

/** A store that answers at once has answered as soon as it is called. */
export const isThere = (answer: Effect.Effect<unknown, unknown>): boolean => Exit.isExit(answer)

/** Over a store that says what was written to it: no request asks it, whichever workspace it is for. */
export const watchClients = (
  written: Written,
  { tell }: Pick<ClientChanges, "tell">,
  forget: { readonly one: (workspace: string, client: string) => void; readonly everything: () => void }
): ClientChanges => {
  let known = written.count
  const learn = (): void => {
    const missed = written.count - known
    if (missed === 0) return
    known = written.count
    if (missed > writtenKept) forget.everything()
    else for (const { id, workspace } of written.last.slice(-missed)) forget.one(workspace, id)
  }
  return {
    learnAtOnce: () => {
      learn()
      return Effect.void
    },
    learnWith: (_, read) => {
      learn()
      return read
    },
    tell
  }
}

export const makeClientChanges = (
  storage: Storage["Service"],
  entropy: Entropy["Service"],
  forget: Forget
): ClientChanges => {
  const records = makeRecords(storage, clientChangesKind)
  const watched = new LruMap<WorkspaceId, Watched>(workspacesKept)

  const learn = (watch: Watched, workspace: WorkspaceId, found: StoredRecord | undefined) => {
    const version = found?.version ?? 0
    if (version === watch.version) return Effect.void
    const read = found === undefined ? Result.succeed(noChanges(workspace)) : changesIn(found)
    if (Result.isFailure(read)) return Effect.fail(read.failure)
    const { clients, count } = read.success
    const before = watch.count
    watch.version = version
    watch.count = count
    const missed = count - (before ?? 0)
    if (missed === 0) return Effect.void
    const last = clients.slice(-missed)
    // Of another length where they were too many, and where a store was put back or an answer was overtaken.
    forget(workspace, before !== undefined && last.length === missed ? last : "all")
    return Effect.void
  }

  const watchOf = (workspace: WorkspaceId): Watched => {
    const known = watched.get(workspace)
    if (known !== undefined) return known
    const watch: Watched = {
      key: { workspace, kind: clientChangesKind.kind, id: idOf(workspace) },
      version: -1,
      count: undefined,
      learn: (found) => learn(watch, workspace, Option.getOrUndefined(found))
    }
    watched.set(workspace, watch)
    return watch
  }

  const write = (workspace: WorkspaceId, changed: ReadonlySet<ClientId>) =>
    transactOrFail<Changes, void, never>(
      records,
      entropy,
      workspace,
      idOf(workspace),
      (known = noChanges(workspace)) => {
        const clients = [...known.clients, ...changed].slice(-told)
        return answerAndKeep({ workspace, count: known.count + changed.size, clients }, undefined)
      }
    )

  const untold = new Map<WorkspaceId, Set<ClientId>>()
  const oneByOne = Semaphore.makeUnsafe(1)

  const willTell = (workspace: WorkspaceId, clients: Iterable<ClientId>): void => {
    untold.set(workspace, new Set([...(untold.get(workspace) ?? []), ...clients]))
  }

  /** Of those that waited together, the first tells for all. */
  const tellUntold = (workspace: WorkspaceId) =>
    Effect.suspend(() => {
      const changed = untold.get(workspace)
      if (changed === undefined) return Effect.void
      untold.delete(workspace)
      return Effect.onError(write(workspace, changed), () => Effect.sync(() => willTell(workspace, changed)))
    })

  return {
    learnAtOnce: (workspace) => {
      const watch = watchOf(workspace)
      const found = storage.get(watch.key)
      return isThere(found) ? Effect.flatMapEager(found, watch.learn) : Effect.void
    },
    learnWith: (workspace, read) => {
      const watch = watchOf(workspace)
      const looked = Effect.flatMapEager(storage.get(watch.key), watch.learn)
      if (isThere(looked)) return Effect.flatMapEager(looked, () => read)
      return Effect.flatMap(Effect.forkChild(looked, { startImmediately: true }), (looking) =>
        Effect.flatMap(read, (found) => Effect.as(Fiber.join(looking), found))
      )
    },
    tell: (workspace, client) =>
      Effect.suspend(() => {
        willTell(workspace, [client])
        return oneByOne.withPermits(1)(tellUntold(workspace))
      })
  }
}
