import { Effect, Schema } from "effect"
import type { Storage, StorageUnavailable } from "../ports/Storage.ts"
import { Instant } from "../rules/Instant.ts"
import { Digest, digestOf } from "../rules/Secret.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import { makeRecords, type RecordKind } from "./Records.ts"

/** What something is good once for. A value that was taken for one purpose is free for every other. */
const Purpose = Schema.Literals(["set-up", "client-assertion"])
export type Purpose = typeof Purpose.Type

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
  expiresAt: (taken) => taken.expiresAt
}

/** What is good once, whichever process is asked. */
export interface Once {
  /** Whether `by` has it now: as the first that takes the value, or as the one that took it before. */
  readonly take: (
    workspace: WorkspaceId,
    purpose: Purpose,
    value: string,
    by: string,
    /** From then on it is free again, as soon as it is swept. */
    expiresAt: Instant
  ) => Effect.Effect<boolean, StorageUnavailable>
}

export const makeOnce = (storage: Storage["Service"]): Once => {
  const records = makeRecords(storage, onceKind)
  return {
    take: (workspace, purpose, value, by, expiresAt) => {
      const id = digestOf(`${purpose} ${value}`)
      return records.insert(workspace, { id, purpose, by, expiresAt }, "take").pipe(
        Effect.as(true),
        Effect.catchTag("Conflict", () => Effect.map(records.get(workspace, id), (kept) => kept?.value.by === by))
      )
    }
  }
}
