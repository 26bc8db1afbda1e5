import { Effect } from "effect"
import type { Parts } from "../../core/http/Parts.ts"
import type { AuditEvent } from "../../core/ports/Audit.ts"
import { currentInstant } from "../../core/rules/Instant.ts"
import type { Workspace } from "../../core/workspace/Workspace.ts"

/** What looking after grants, clients and keys takes. */
export interface Administration {
  readonly parts: Parts
  readonly workspace: Workspace
  /** Runs it where the server's own services are. Rejects with the tagged error that the effect fails with. */
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>
}

/** Who the audit stream says it was: the host's own code, in no request of Tessera's. */
export const by = "host"

export const note = ({ parts, workspace }: Administration, event: AuditEvent): Effect.Effect<void> =>
  Effect.flatMap(currentInstant, (at) => parts.audit.record({ at, workspace: workspace.id, requestId: by, event }))

/** One page of a list. */
export interface PageOf<A> {
  readonly items: ReadonlyArray<A>
  /** What to pass as `after` for the page that follows; `undefined` where there is none. */
  readonly next: string | undefined
}

export interface Paging {
  /** The `next` of the page before. Default: from the start. */
  readonly after?: string | undefined
  /** The most that one page holds. Default: 100. */
  readonly limit?: number
}

const mostAtOnce = 1000

export const limitOf = ({ limit = 100 }: Paging): number => Math.max(1, Math.min(mostAtOnce, Math.floor(limit)))
