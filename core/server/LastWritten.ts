import { LatelyUsed } from "../rules/LatelyUsed.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import type { Kept } from "./Records.ts"

interface Entry<V> {
  readonly workspace: WorkspaceId
  readonly kept: Kept<V>
}

/** Where one was wrong others write too, and a wrong one costs a swap for nothing: so many are read before the next try. */
const readAfterWrong = 64

/**
 * Records as this process wrote them last. A decision that is to be kept may be made on one without reading it, since the
 * swap asks for its version; what somebody else wrote meanwhile is found out there, and read.
 */
export class LastWritten<V> {
  private readonly entries: LatelyUsed<string, Entry<V>>
  private toRead = 0

  constructor(most: number) {
    this.entries = new LatelyUsed(most)
  }

  get(workspace: WorkspaceId, id: string): Kept<V> | undefined {
    const entry = this.entries.get(id)
    if (entry?.workspace !== workspace) return undefined
    if (this.toRead === 0) return entry.kept
    this.toRead--
    return undefined
  }

  wrote(workspace: WorkspaceId, id: string, kept: Kept<V>): void {
    this.entries.set(id, { workspace, kept })
  }

  wasWrong(workspace: WorkspaceId, id: string): void {
    this.toRead = readAfterWrong
    this.forget(workspace, id)
  }

  forget(workspace: WorkspaceId, id: string): void {
    if (this.entries.get(id)?.workspace === workspace) this.entries.delete(id)
  }
}
