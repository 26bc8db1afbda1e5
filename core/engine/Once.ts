import { Effect, Fiber, Schema } from "effect"
import type { Fault } from "../http/Fault.ts"
import type { Storage, StorageUnavailable } from "../ports/Storage.ts"
import { type GoodOnce, Purpose } from "../rules/GoodOnce.ts"
import { Instant, later, type Millis } from "../rules/Instant.ts"
import type { Refusal } from "../rules/Refusal.ts"
import { Digest, digestOf } from "../rules/Secret.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import { isThere } from "./ClientChanges.ts"
import { makeRecords, type RecordKind } from "./Records.ts"

/** Something that was taken. It is only ever inserted, so that of two that take it the store tells one. */
const Taken = Schema.Struct({
  id: Digest,
  purpose: Purpose,
  /** By what it was taken: the same taker may come again, as after an answer of the store that was lost. */
  by: Schema.String,
  expiresAt: Instant
})
type Taken = typeof Taken.Type

/** The clocks of two processes differ by less: what one has swept, the other too refuses for its age. */
const clocksDiffer: Millis = 60 * 1000

export const onceKind: RecordKind<Taken> = {
  kind: "once",
  schema: Taken,
  version: 1,
  upcast: [],
  id: (taken) => taken.id,
  owner: (taken) => taken.purpose,
  expiresAt: (taken) => later(taken.expiresAt, clocksDiffer)
}

/** What is good once, whichever process is asked. */
export interface Once {
  /** Whether `by` has it now: as the first that takes the value, or as the one that took it before. */
  readonly take: (
    workspace: WorkspaceId,
    purpose: Purpose,
    value: string,
    by: string,
    /** When it is no good any more. A minute later it may be swept, and is free again. */
    expiresAt: Instant
  ) => Effect.Effect<boolean, StorageUnavailable>
  /** Takes what a request shows; fails with its refusal where another request has it. */
  readonly spend: <E extends Refusal>(
    workspace: WorkspaceId,
    shown: GoodOnce<E>,
    by: string
  ) => Effect.Effect<void, E | StorageUnavailable>
}

export const makeOnce = (storage: Storage["Service"]): Once => {
  const records = makeRecords(storage, onceKind)
  const take: Once["take"] = (workspace, purpose, value, by, expiresAt) => {
    const id = digestOf(`${purpose} ${value}`)
    const inserted = Effect.mapEager(records.insert(workspace, { id, purpose, by, expiresAt }, "take"), () => true)
    return Effect.catchEager(inserted, (fault) =>
      fault._tag === "Conflict"
        ? Effect.mapEager(records.get(workspace, id), (kept) => kept?.value.by === by)
        : Effect.fail(fault)
    )
  }
  return {
    take,
    spend: (workspace, { purpose, refusal, until, value }, by) =>
      Effect.flatMapEager(take(workspace, purpose, value, by, until), (isFirst) =>
        isFirst ? Effect.void : Effect.fail(refusal)
      )
  }
}

/** Ends once a request has what it spends: succeeded, and it may write and hand out. `undefined`: it spends nothing. */
export type Spent<E = Fault> = Effect.Effect<void, E> | undefined

/**
 * Spends beside the rest of a request, so that it costs no round trip of its own: what the rest reads leaves in the same
 * turn. The rest awaits `spent` before it writes; whatever it comes to, it is answered only if all was spent.
 */
export const beside = <A, E, R>(
  spending: Spent<R>,
  rest: (spent: Spent<R>) => Effect.Effect<A, E>
): Effect.Effect<A, E | R> => {
  if (spending === undefined) return rest(undefined)
  if (isThere(spending)) return Effect.flatMapEager(spending, () => rest(undefined))
  return Effect.flatMap(Effect.forkChild(spending, { startImmediately: true }), (fiber): Effect.Effect<A, E | R> => {
    const spent = Fiber.join(fiber)
    return Effect.flatMap(Effect.exit(rest(spent)), (answer) => Effect.flatMap(spent, () => answer))
  })
}
