import type { Instant } from "../rules/Instant.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"

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
 * found by their id alone; where somebody copied one into another workspace, the second stands under its full name.
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
   * A use that could not be written comes last the next time, behind all of its workspace and kind, and those behind
   * everything else: what one cannot do the others often cannot do either, and they are to keep nobody waiting.
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
