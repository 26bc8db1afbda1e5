import { Effect } from "effect"
import type { OwnerAuditContext } from "../../core/engine/AuditContext.ts"
import type { Services } from "../../core/http/Route.ts"
import type { StorageScan, StorageUnavailable } from "../../core/ports/Storage.ts"
import type { Workspace } from "../../core/workspace/Workspace.ts"
import { type NamesOf, strangerIn } from "../serve/options.ts"
import { type BadOption, badArgument } from "./Options.ts"

/** What looking after grants, clients and keys takes. */
export interface Administration {
  readonly services: Services
  readonly workspace: Workspace
  readonly auditContext: OwnerAuditContext
  /** Reads the whole store, where it can be read so. */
  readonly scan: Effect.Effect<StorageScan["Service"] | undefined, StorageUnavailable>
  /** Runs it where the server's own services are. Rejects with the tagged error that the effect fails with. */
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>
}

const by = "host program"

/** The host's own code does it, in no request of Tessera's. */
export const auditContextAt = ({ id }: Workspace): OwnerAuditContext => ({ workspace: id, by, requestId: by })

/** One page of a list. */
export interface PageOf<A> {
  readonly items: ReadonlyArray<A>
  /** What to pass as `after` for the page that follows; `undefined` where there is none. */
  readonly next: string | undefined
}

/** Rejects with `BadOption` where one of them cannot be. */
export interface Paging {
  /** The `next` of the page before. Default: from the start. */
  readonly after?: string | undefined
  /** The most that one page holds. Default: 100. */
  readonly limit?: number
}

const pagingNames: NamesOf<Paging> = { after: true, limit: true }

const mostAtOnce = 1000

interface Page {
  readonly after: string | undefined
  readonly limit: number
}

/** Stores differ in what they make of null and NaN, so that they get neither. `list`: the method that was called. */
export const pageAsked = (list: string, paging: Paging | null): Effect.Effect<Page, BadOption> => {
  const stranger = strangerIn(paging ?? {}, pagingNames)
  // Without its `after`, each page is the first: a host that asks until there is no `next` would never end.
  if (stranger !== undefined) return Effect.fail(badArgument(`${list} ${stranger}`, "is nothing that it knows"))
  const after: unknown = paging?.after ?? undefined
  const limit: unknown = paging?.limit ?? 100
  if (after !== undefined && typeof after !== "string") {
    return Effect.fail(badArgument(`${list} after`, "has to be the `next` of a page"))
  }
  return typeof limit !== "number" || Number.isNaN(limit)
    ? Effect.fail(badArgument(`${list} limit`, "has to be a number"))
    : Effect.succeed({ after, limit: Math.max(1, Math.min(mostAtOnce, Math.floor(limit))) })
}
