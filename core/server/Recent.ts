import { hasPassed, type Instant, later, type Millis } from "../rules/Instant.ts"
import { LatelyUsed } from "../rules/LatelyUsed.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"

interface Entry<A> {
  readonly workspace: WorkspaceId
  readonly value: A
  readonly until: Instant
  /** When it was asked for: a clock that shows less was set back, and does not tell for how long it has been. */
  readonly since: Instant
}

/**
 * What was read a moment ago, by workspace and id. Ids are random, so two workspaces never have one in common but where
 * somebody copied it, and then the last that was read is at hand. Looking is a plain function call, and makes no key out
 * of two: `effect`'s Cache takes a fiber's turn for each look, and this is looked at by every request.
 */
export class Recent<A> {
  private readonly entries: LatelyUsed<string, Entry<A>>
  private forgettings = 0
  private readonly keptFor: Millis

  constructor(most: number, keptFor: Millis) {
    this.entries = new LatelyUsed(most)
    this.keptFor = keptFor
  }

  get(workspace: WorkspaceId, id: string, now: Instant): A | undefined {
    const entry = this.entries.get(id)
    if (entry === undefined || entry.workspace !== workspace) return undefined
    return hasPassed(entry.until, now) || now < entry.since ? undefined : entry.value
  }

  /** What was read before something was forgotten may be what was forgotten: it is not to be remembered after it. */
  get forgotten(): number {
    return this.forgettings
  }

  remember(workspace: WorkspaceId, id: string, value: A, now: Instant, forgottenBefore: number): void {
    if (forgottenBefore !== this.forgettings) return
    this.entries.set(id, { workspace, value, until: later(now, this.keptFor), since: now })
  }

  forget(workspace: WorkspaceId, id: string): void {
    this.forgettings++
    if (this.entries.get(id)?.workspace === workspace) this.entries.delete(id)
  }
}
