import { Effect, Schema } from "effect"
import { answer, answerAndKeep } from "../grant/Decision.ts"
import type { Entropy } from "../ports/Entropy.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { day, Instant, later, minute } from "../rules/Instant.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import { writeAll } from "./lists.ts"
import type { RecordKind, Records } from "./Records.ts"
import { transact, type WriteFault } from "./transact.ts"

export type UsedThing = "grant" | "client"

export interface Use {
  readonly workspace: WorkspaceId
  readonly thing: UsedThing
  readonly id: string
  readonly usedAt: Instant
}

const isOf = (use: Use, thing: UsedThing, workspace: WorkspaceId): boolean =>
  use.thing === thing && use.workspace === workspace

/** No id has a space in it. */
const fullName = (thing: UsedThing, workspace: WorkspaceId, id: string): string => `${workspace} ${thing} ${id}`

/**
 * Last uses that are not written down yet, in the order in which they are to be written. Every request asks, so they are
 * found by their id alone; where one was copied into another workspace, the second stands under its full name.
 */
export class UnwrittenUses {
  private readonly uses = new Map<string, Use>()

  get size(): number {
    return this.uses.size
  }

  get(thing: UsedThing, workspace: WorkspaceId, id: string): Instant | undefined {
    const use = this.uses.get(id)
    return use !== undefined && isOf(use, thing, workspace)
      ? use.usedAt
      : this.uses.get(fullName(thing, workspace, id))?.usedAt
  }

  set(use: Use): void {
    this.uses.set(this.nameOf(use), use)
  }

  /** All of them now. */
  snapshot(): ReadonlyArray<Use> {
    return [...this.uses.values()]
  }

  /** A use that was written. One that was seen meanwhile stays. */
  written(use: Use): void {
    const name = this.nameOf(use)
    if (this.uses.get(name)?.usedAt === use.usedAt) this.uses.delete(name)
  }

  /**
   * Puts a use that could not be written behind all of its workspace and kind, and those behind every other use: where
   * one write fails, the others of its kind often fail too, and the rest does not wait for them.
   */
  postpone({ id, thing, workspace }: Use): void {
    const kin = [...this.uses].filter(([, use]) => isOf(use, thing, workspace))
    const isIt = ([, use]: (typeof kin)[number]) => use.id === id
    for (const [name, use] of [...kin.filter((one) => !isIt(one)), ...kin.filter(isIt)]) {
      this.uses.delete(name)
      this.uses.set(name, use)
    }
  }

  private nameOf({ id, thing, workspace }: Use): string {
    const first = this.uses.get(id)
    if (first !== undefined && isOf(first, thing, workspace)) return id
    const full = fullName(thing, workspace, id)
    return first !== undefined || this.uses.has(full) ? full : id
  }
}

/** When something was last used. Apart from the thing itself, so that looking at a token never writes its grant. */
const LastUse = Schema.Struct({ id: Schema.String, usedAt: Instant })
type LastUse = typeof LastUse.Type

/** Kept this long after the last use; what has not been used for longer is "not lately". */
const keptFor = 400 * day
/** Noted at most this often for one thing. */
const granularity = minute
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
  ) => Effect.Effect<Instant | undefined, StorageUnavailable>
  /** Writes what was seen. What cannot be written now is kept for the next time. */
  readonly flush: Effect.Effect<number, WriteFault>
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
        ? Effect.succeed(unwritten)
        : Effect.map(records.get(workspace, recordId(thing, id)), (kept) => kept?.value.usedAt)
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
