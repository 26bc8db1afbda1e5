import { Effect, Schema } from "effect"
import type { Storage, StorageUnavailable } from "../ports/Storage.ts"
import { type GoodOnce, Purpose } from "../rules/GoodOnce.ts"
import { clocksDiffer, Instant, later } from "../rules/Instant.ts"
import type { Refusal } from "../rules/Refusal.ts"
import { Digest, digestOf } from "../rules/Secret.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import { makeRecords, newRecord, type RecordKind } from "./Records.ts"
import { Held, type Spending } from "./Spending.ts"

/** Something that was taken. It is only ever inserted, so that of two that take it the store tells one. */
const Taken = Schema.Struct({
  id: Digest,
  purpose: Purpose,
  /** By what it was taken: the same taker may come again, as after an answer of the store that was lost. */
  by: Schema.String,
  expiresAt: Instant
})
type Taken = typeof Taken.Type

export const onceKind: RecordKind<Taken> = {
  kind: "once",
  schema: Taken,
  version: 1,
  upcast: [],
  id: (taken) => taken.id,
  owner: (taken) => taken.purpose,
  // What one process has swept, another too refuses for its age.
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
  /**
   * The same, begun with what the request reads or writes; over a store that makes one step of no two verbs, at once.
   * `refuse`: what another request with the same gets.
   */
  readonly spending: <E extends Refusal, R>(
    workspace: WorkspaceId,
    shown: GoodOnce<E>,
    by: string,
    refuse: (refusal: E) => Effect.Effect<never, R>
  ) => Spending<R | StorageUnavailable>
}

export const makeOnce = (storage: Storage["Service"]): Once => {
  const records = makeRecords(storage, onceKind)
  const takenBy = (purpose: Purpose, value: string, by: string, expiresAt: Instant): Taken => ({
    id: digestOf(`${purpose} ${value}`),
    purpose,
    by,
    expiresAt
  })
  const take: Once["take"] = (workspace, purpose, value, by, expiresAt) => {
    const taken = takenBy(purpose, value, by, expiresAt)
    const inserted = Effect.mapEager(records.insert(workspace, taken, "take"), () => true)
    return Effect.catchEager(inserted, (fault) =>
      fault._tag === "Conflict"
        ? Effect.mapEager(records.get(workspace, taken.id), (kept) => kept?.value.by === by)
        : Effect.fail(fault)
    )
  }
  const spendOr = <E extends Refusal, R>(
    workspace: WorkspaceId,
    { purpose, refusal, until, value }: GoodOnce<E>,
    by: string,
    refuse: (refusal: E) => Effect.Effect<never, R>
  ): Effect.Effect<void, R | StorageUnavailable> =>
    Effect.flatMapEager(
      take(workspace, purpose, value, by, until),
      (isFirst): Effect.Effect<void, R> => (isFirst ? Effect.void : refuse(refusal))
    )
  return {
    take,
    spend: (workspace, shown, by) => spendOr(workspace, shown, by, Effect.fail),
    spending: (workspace, shown, by, refuse) => {
      const spend = () => spendOr(workspace, shown, by, refuse)
      if (storage.insertAndReplace === undefined) return { held: [], spent: spend() }
      const { purpose, refusal, until, value } = shown
      const record = newRecord(onceKind, workspace, takenBy(purpose, value, by, until), "take")
      const refused = Effect.suspend(() => refuse(refusal))
      const held = new Held(record, Effect.suspend(spend), refused)
      return { held: [held], spent: held.spent }
    }
  }
}
