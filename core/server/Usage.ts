import { Effect, Option, Schema } from "effect"
import { answer, answerAndKeep } from "../grant/Decision.ts"
import type { Entropy } from "../ports/Entropy.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { Instant, later } from "../rules/Instant.ts"
import type { Contended } from "../rules/Refusal.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import type { RecordKind, Records } from "./Records.ts"
import { transact } from "./transact.ts"
import { UnwrittenUses, type Use, type UsedThing } from "./UnwrittenUses.ts"
import { writeAll } from "./writeAll.ts"

/** When something was last used. Apart from the thing itself, so that looking at a token never writes its grant. */
const LastUse = Schema.Struct({ id: Schema.String, usedAt: Instant })
export type LastUse = typeof LastUse.Type

/** Kept this long after the last use; what has not been used for longer is "not lately". */
const keptFor = 400 * 24 * 60 * 60 * 1000
/** Noted at most this often for one thing. */
const granularity = 60_000
/** More than this many things at once, and some are noted later than they might be. */
const unwrittenMost = 100_000

export const usageKind: RecordKind<LastUse> = {
  kind: "usage",
  schema: LastUse,
  version: 1,
  upcast: [],
  id: (use) => use.id,
  owner: () => "usage",
  expiresAt: (use) => later(use.usedAt, keptFor)
}

/** What was used since the last flush, in memory: a token check stays one read and no write. */
export interface Usage {
  readonly saw: (thing: UsedThing, workspace: WorkspaceId, id: string, now: Instant) => void
  readonly lastUse: (
    thing: UsedThing,
    workspace: WorkspaceId,
    id: string
  ) => Effect.Effect<Option.Option<Instant>, StorageUnavailable>
  /** Writes what was seen. What cannot be written now is kept for the next time. */
  readonly flush: Effect.Effect<number, StorageUnavailable | Contended>
}

export const makeUsage = (records: Records<LastUse>, entropy: Entropy["Service"]): Usage => {
  const uses = new UnwrittenUses()
  const recordId = (thing: UsedThing, id: string) => `${thing}:${id}`

  const note = ({ id: name, thing, usedAt, workspace }: Use) => {
    const id = recordId(thing, name)
    return transact(records, entropy, workspace, id, (stored) =>
      stored !== undefined && stored.usedAt >= usedAt ? answer(undefined) : answerAndKeep({ id, usedAt }, undefined)
    )
  }

  return {
    saw: (thing, workspace, id, now) => {
      const before = uses.get(thing, workspace, id)
      if (before !== undefined && now - before < granularity) return
      if (before === undefined && uses.size >= unwrittenMost) return
      uses.set({ thing, workspace, id, usedAt: now })
    },
    lastUse: (thing, workspace, id) => {
      const unwritten = uses.get(thing, workspace, id)
      return unwritten !== undefined
        ? Effect.succeedSome(unwritten)
        : Effect.map(records.get(workspace, recordId(thing, id)), (kept) => Option.fromUndefinedOr(kept?.value.usedAt))
    },
    flush: Effect.suspend(() =>
      writeAll(
        uses.snapshot(),
        (use) => Effect.tap(note(use), () => Effect.sync(() => uses.written(use))),
        (use) => uses.postpone(use)
      )
    )
  }
}
