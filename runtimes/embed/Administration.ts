import type { Effect } from "effect"
import type { Parts } from "../../core/http/Parts.ts"
import type { OwnersOccasion } from "../../core/server/Occasion.ts"
import type { Workspace } from "../../core/workspace/Workspace.ts"

/** What looking after grants, clients and keys takes. */
export interface Administration {
  readonly parts: Parts
  readonly workspace: Workspace
  readonly occasion: OwnersOccasion
  /** Runs it where the server's own services are. Rejects with the tagged error that the effect fails with. */
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>
}

const by = "host program"

/** The host's own code does it, in no request of Tessera's. */
export const occasionAt = ({ id }: Workspace): OwnersOccasion => ({ workspace: id, by, requestId: by })

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
