import { hasPassed, type Instant, later, type Millis } from "../rules/Instant.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"

interface Entry<A> {
  readonly workspace: WorkspaceId
  readonly id: string
  readonly value: A
  readonly until: Instant
}

/**
 * What was read a moment ago, by workspace and id. Looking is a plain function call, and makes no key out of two:
 * `effect`'s Cache takes a fiber's turn for each look, and this is looked at by every request.
 */
export class Recent<A> {
  private readonly entries = new Map<WorkspaceId, Map<string, Entry<A>>>()
  /** Every entry, in the order of their coming. */
  private readonly order = new Set<Entry<A>>()
  private forgettings = 0
  private readonly most: number
  private readonly keptFor: Millis

  constructor(most: number, keptFor: Millis) {
    this.most = most
    this.keptFor = keptFor
  }

  get(workspace: WorkspaceId, id: string, now: Instant): A | undefined {
    const entry = this.entries.get(workspace)?.get(id)
    return entry === undefined || hasPassed(entry.until, now) ? undefined : entry.value
  }

  /** What was read before something was forgotten may be what was forgotten: it is not to be remembered after it. */
  get forgotten(): number {
    return this.forgettings
  }

  remember(workspace: WorkspaceId, id: string, value: A, now: Instant, forgottenBefore: number): void {
    if (forgottenBefore !== this.forgettings) return
    // Last come, last gone: what is set again goes to the end.
    this.drop(this.entries.get(workspace)?.get(id))
    if (this.order.size >= this.most) this.drop(this.order.values().next().value)
    const entry = { workspace, id, value, until: later(now, this.keptFor) }
    const ofWorkspace = this.entries.get(workspace) ?? new Map<string, Entry<A>>()
    this.entries.set(workspace, ofWorkspace.set(id, entry))
    this.order.add(entry)
  }

  forget(workspace: WorkspaceId, id: string): void {
    this.forgettings++
    this.drop(this.entries.get(workspace)?.get(id))
  }

  private drop(entry: Entry<A> | undefined): void {
    if (entry === undefined) return
    this.order.delete(entry)
    const ofWorkspace = this.entries.get(entry.workspace)
    ofWorkspace?.delete(entry.id)
    if (ofWorkspace?.size === 0) this.entries.delete(entry.workspace)
  }
}
