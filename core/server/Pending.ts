import type { Instant } from "../rules/Instant.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"

export type UsedThing = "grant" | "client"

export interface Use {
  readonly workspace: WorkspaceId
  readonly thing: UsedThing
  readonly id: string
  readonly usedAt: Instant
}

interface Table {
  readonly workspace: WorkspaceId
  readonly thing: UsedThing
  readonly uses: Map<string, Instant>
}

type Tables = { readonly [thing in UsedThing]: Table }

/**
 * Last uses that are not written down yet. A table for each workspace and kind of thing, because every request asks, and
 * one key made out of three costs more than three looks.
 */
export class Pending {
  private readonly tables = new Map<WorkspaceId, Tables>()
  private readonly order = new Set<Table>()
  private count = 0

  get size(): number {
    return this.count
  }

  get(thing: UsedThing, workspace: WorkspaceId, id: string): Instant | undefined {
    return this.tables.get(workspace)?.[thing].uses.get(id)
  }

  set({ id, thing, usedAt, workspace }: Use): void {
    const { uses } = this.tablesOf(workspace)[thing]
    const before = uses.size
    uses.set(id, usedAt)
    this.count += uses.size - before
  }

  /** All of them now, in the order in which they are to be written. */
  snapshot(): ReadonlyArray<Use> {
    const all: Array<Use> = []
    for (const { thing, uses, workspace } of this.order) {
      for (const [id, usedAt] of uses) all.push({ workspace, thing, id, usedAt })
    }
    return all
  }

  /** A use that was written. One that was seen meanwhile stays. */
  written({ id, thing, usedAt, workspace }: Use): void {
    const uses = this.tables.get(workspace)?.[thing].uses
    if (uses?.get(id) === usedAt && uses.delete(id)) this.count--
  }

  /** A use that could not be written comes last the next time, so that it keeps no other one waiting. */
  postpone({ id, thing, workspace }: Use): void {
    const table = this.tables.get(workspace)?.[thing]
    const usedAt = table?.uses.get(id)
    if (table === undefined || usedAt === undefined) return
    table.uses.delete(id)
    table.uses.set(id, usedAt)
    this.order.delete(table)
    this.order.add(table)
  }

  private tablesOf(workspace: WorkspaceId): Tables {
    const known = this.tables.get(workspace)
    if (known !== undefined) return known
    const made: Tables = {
      grant: { workspace, thing: "grant", uses: new Map() },
      client: { workspace, thing: "client", uses: new Map() }
    }
    this.tables.set(workspace, made)
    this.order.add(made.grant).add(made.client)
    return made
  }
}
