import { Effect } from "effect"
import type { OwnerAuditContext } from "../../core/engine/AuditContext.ts"
import type { Services } from "../../core/http/Route.ts"
import type { StorageScan, StorageUnavailable } from "../../core/ports/Storage.ts"
import type { Workspace } from "../../core/workspace/Workspace.ts"
import { isObject, type NamesOf, strangerIn } from "../serve/options.ts"
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
  /** The same, step by step. */
  readonly steps: <A>(body: () => Generator<Effect.Effect<unknown, unknown>, A, never>) => Promise<A>
}

/** What is given to a method under names. A misspelt one must not be passed over: what it was to say would not count. */
export const namesKnown = (method: string, given: object, names: object): Effect.Effect<void, BadOption> => {
  if (!isObject(given)) return Effect.fail(badArgument(method, "has to be given an object"))
  const stranger = strangerIn(given, names)
  return stranger === undefined
    ? Effect.void
    : Effect.fail(badArgument(`${method} ${stranger}`, "is nothing that it knows"))
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

/** Stores differ in what they make of null and NaN, so that they get neither. `list`: the method that was called. */
export const pageAsked = Effect.fnUntraced(function* (list: string, paging: Paging | null) {
  // Without its `after`, each page is the first: a host that asks until there is no `next` would never end.
  yield* namesKnown(list, paging ?? {}, pagingNames)
  const after: unknown = paging?.after ?? undefined
  const limit: unknown = paging?.limit ?? 100
  if (after !== undefined && typeof after !== "string") {
    return yield* badArgument(`${list} after`, "has to be the `next` of a page")
  }
  if (typeof limit !== "number" || Number.isNaN(limit)) {
    return yield* badArgument(`${list} limit`, "has to be a number")
  }
  return { after, limit: Math.max(1, Math.min(mostAtOnce, Math.floor(limit))) }
})
