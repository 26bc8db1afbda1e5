import { Effect } from "effect"
import { type Client, hasGrant, isKnown } from "../client/Client.ts"
import { isVouchedFor } from "../grant/check.ts"
import { type Connected, type Grant, isConnected, placeOf } from "../grant/Grant.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import type { ClientId, PlaceId } from "../rules/Id.ts"
import type { Instant } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import { type Resources, withinResources } from "../rules/Resource.ts"
import { reaches, type ScopeName, type ScopeRegistry } from "../rules/Scope.ts"
import type { TrustedIssuers } from "../rules/TrustedIssuer.ts"
import { forEachItem, type GrantList, lookedAtMost } from "./lists.ts"

/**
 * What connects an application with a person, at one of their places where they have several: each time that it came back
 * for more, a person allowed another grant. They are one connection, shown as one and ended together.
 */
export interface Connection {
  /** The first of its grants in the list, by which it is known. */
  readonly id: Connected["id"]
  readonly client: ClientId
  readonly place?: PlaceId
  readonly grants: ReadonlyArray<Connected>
}

/** Of a connection's grants, those that its client has as it is now: what it had before it ended, or came anew, is dead. */
export const grantsHeldBy = (
  client: Client | undefined,
  grants: ReadonlyArray<Connected>,
  now: Instant
): ReadonlyArray<Connected> =>
  client === undefined || !isKnown(client, now) ? [] : grants.filter((grant) => hasGrant(client, grant))

/** What decides now whether a grant still connects. */
interface Standards {
  readonly policy: Policy
  readonly now: Instant
  /** Whom the workspace trusts; asked about grants that an issuer asserted, and about no others. */
  readonly trusted: Effect.Effect<TrustedIssuers | undefined, StorageUnavailable>
}

interface Found {
  readonly connections: ReadonlyArray<Connection>
  /** The last id that was looked at, where there may be more behind it. */
  readonly last: string | undefined
}

const batch = 100

/** The connections among the first grants behind `after`: of one page, as many as one request may look at. */
export const connectionsIn = Effect.fnUntraced(function* (
  list: GrantList,
  { now, policy, trusted }: Standards,
  after?: string,
  most: number = lookedAtMost
): Effect.fn.Return<Found, StorageUnavailable> {
  const found = new Map<string, Omit<Connection, "grants"> & { readonly grants: Array<Connected> }>()
  let start = after
  for (let lookedAt = 0; lookedAt < most; lookedAt += batch) {
    const page = yield* list({ after: start, limit: Math.min(batch, most - lookedAt) })
    for (const grant of page.values) {
      if (!isConnected(grant, policy, now)) continue
      const asserted = grant._tag === "Standing" ? grant.asserted : undefined
      if (asserted !== undefined && !isVouchedFor(asserted, yield* trusted)) continue
      const { client, id, place } = grant
      // No id holds a space.
      const name = place === undefined ? client : `${client} ${place}`
      const known = found.get(name)
      if (known === undefined) found.set(name, { id, client, ...placeOf(grant), grants: [grant] })
      else known.grants.push(grant)
    }
    start = page.next
    if (start === undefined) break
  }
  return { connections: [...found.values()], last: start }
})

/** One page of connections, in the order by which they are known; `next` is the id behind which another follows. */
export const connectionsPage = Effect.fnUntraced(function* (
  list: GrantList,
  standards: Standards,
  after: string | undefined,
  limit: number
): Effect.fn.Return<
  { readonly connections: ReadonlyArray<Connection>; readonly next: string | undefined },
  StorageUnavailable
> {
  const first = yield* connectionsIn(list, standards)
  // Behind so many grants as one request looks at, each page looks at a few by themselves.
  const isBehind = after !== undefined && first.last !== undefined && after >= first.last
  const { connections, last } = isBehind ? yield* connectionsIn(list, standards, after, limit) : first
  const rest = connections.filter(({ id }) => after === undefined || id > after)
  return rest.length > limit
    ? { connections: rest.slice(0, limit), next: rest[limit - 1]?.id }
    : { connections: rest, next: last }
})

/** A client's own grant has none. */
const placeIn = (grant: Grant): PlaceId | undefined => ("place" in grant ? grant.place : undefined)

/** All grants of the connection that one of them belongs to, however many there are. */
export const grantsBeside = Effect.fnUntraced(function* (
  list: GrantList,
  one: Grant
): Effect.fn.Return<ReadonlyArray<Grant>, StorageUnavailable> {
  if (one._tag === "Key" || one.client === null) return [one]
  const all: Array<Grant> = []
  yield* forEachItem(list, (grant) =>
    Effect.sync(() => {
      if (grant._tag === "Key" || grant._tag === "Revoked" || grant.client !== one.client) return
      if (placeIn(grant) === placeIn(one)) all.push(grant)
    })
  )
  return all
})

/** Of the scopes that a client asks for, those that its person let it have before for the same resources. */
export const allowedBefore = (
  grants: ReadonlyArray<Connected>,
  registry: ScopeRegistry,
  asked: { readonly scope: ReadonlyArray<ScopeName>; readonly resources: Resources | null }
): ReadonlyArray<ScopeName> => {
  const before = grants
    .filter(({ resources }) => withinResources(asked.resources, resources))
    .flatMap(({ scope }) => scope)
  return asked.scope.filter((name) => reaches(registry, before, [name]))
}
