import { Effect, Option, Schema } from "effect"
import { answer, answerAndKeep } from "../grant/Decision.ts"
import type { Entropy } from "../ports/Entropy.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { Instant, later } from "../rules/Instant.ts"
import type { Contended } from "../rules/Refusal.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import type { RecordKind, Records } from "./Records.ts"
import { toTheEnd } from "./toTheEnd.ts"
import { transact } from "./transact.ts"

/** When something was last used. Apart from the thing itself, so that looking at a token never writes its grant. */
export const LastUse = Schema.Struct({ id: Schema.String, usedAt: Instant })
export type LastUse = typeof LastUse.Type

export type UsedThing = "grant" | "client"

/** Kept this long after the last use; what has not been used for longer is "not lately". */
const keptFor = 400 * 24 * 60 * 60 * 1000
/** Noted at most this often for one thing. */
const granularity = 60_000
/** More than this many things at once, and some are noted later than they might be. */
const pendingMost = 100_000

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

interface Seen {
  readonly workspace: WorkspaceId
  readonly id: string
  readonly at: Instant
}

export const makeUsage = (records: Records<LastUse>, entropy: Entropy["Service"]): Usage => {
  const pending = new Map<string, Seen>()
  const recordId = (thing: UsedThing, id: string) => `${thing}:${id}`

  const note = (seen: Seen) =>
    transact(records, entropy, seen.workspace, seen.id, (stored) =>
      stored !== undefined && stored.usedAt >= seen.at
        ? answer(undefined)
        : answerAndKeep({ id: seen.id, usedAt: seen.at }, undefined)
    )

  return {
    saw: (thing, workspace, id, now) => {
      const key = `${workspace} ${thing}:${id}`
      const before = pending.get(key)
      if (before !== undefined && now - before.at < granularity) return
      if (before === undefined && pending.size >= pendingMost) return
      pending.set(key, { workspace, id: recordId(thing, id), at: now })
    },
    lastUse: (thing, workspace, id) => {
      const unwritten = pending.get(`${workspace} ${thing}:${id}`)
      return unwritten !== undefined
        ? Effect.succeedSome(unwritten.at)
        : Effect.map(
            records.get(workspace, recordId(thing, id)),
            Option.map((kept) => kept.value.usedAt)
          )
    },
    flush: Effect.gen(function* () {
      let written = 0
      for (const [key, seen] of [...pending]) {
        yield* note(seen).pipe(Effect.tapError(() => Effect.sync(() => toTheEnd(pending, key, seen))))
        if (pending.get(key) === seen) pending.delete(key)
        written++
      }
      return written
    })
  }
}
