import { Effect, Option, Schema } from "effect"
import { displayName } from "../../core/client/Client.ts"
import { endGrant } from "../../core/engine/administration.ts"
import { type Connection, connectionsPage, grantsBeside } from "../../core/engine/connections.ts"
import { behindMark, cursorOf, findMarked, forEachItem, type GrantList } from "../../core/engine/lists.ts"
import type { Grant } from "../../core/grant/Grant.ts"
import { grantMark, UserId } from "../../core/rules/Id.ts"
import { currentInstant } from "../../core/rules/Instant.ts"
import { type Administration, type PageOf, type Paging, pageAsked } from "./Administration.ts"

/** What a person allowed an application, however often it came back for more: one connection. */
export interface UserGrant {
  /** Good for `revoke`, and for nothing else. */
  readonly id: string
  readonly client: { readonly id: string; readonly name: string }
  /** Where, where the person has places. */
  readonly place?: string
  readonly scopes: ReadonlyArray<string>
  /** What it is for; `null`: all that is the workspace's. */
  readonly resources: ReadonlyArray<string> | null
  readonly createdAt: Date
  readonly lastUsedAt: Date | undefined
}

export interface GrantsApi {
  /** The applications that a person lets in. A page may hold fewer than its limit and still have a `next`. */
  readonly list: (user: string, paging?: Paging) => Promise<PageOf<UserGrant>>
  /** With everything that was ever issued from it, at the next check. `false`: this person has no such grant. */
  readonly revoke: (user: string, id: string) => Promise<boolean>
  /** All of a person's, as when they leave; how many there were. */
  readonly revokeAll: (user: string) => Promise<number>
}

const readUser = Schema.decodeUnknownOption(UserId)

const everybodys: GrantList = () => Effect.succeed({ values: [], next: undefined })

export const grantsApi = (administration: Administration): GrantsApi => {
  const { auditContext, services, run, workspace } = administration

  const grantsOf = (user: string): GrantList => {
    const id = readUser(user)
    return Option.isNone(id) ? everybodys : (page) => services.grants.ofUser(workspace.id, id.value, page)
  }

  const told = ({ client: clientId, grants, id, place }: Connection) =>
    Effect.gen(function* () {
      const client = yield* services.clients.find(workspace.id, clientId)
      // Without its client nothing that it issued is accepted.
      if (client === undefined) return []
      const uses = yield* Effect.forEach(grants, (grant) => services.usage.lastUse("grant", workspace.id, grant.id))
      const lastUse = Math.max(...uses.map(Option.getOrElse(() => Number.NEGATIVE_INFINITY)))
      const resources = grants.some((grant) => grant.resources === null)
        ? null
        : [...new Set(grants.flatMap((grant) => grant.resources ?? []))]
      const shown: UserGrant = {
        id: grantMark(id),
        client: { id: client.id, name: displayName(client) },
        ...(place === undefined ? {} : { place }),
        scopes: [...new Set(grants.flatMap(({ scope }) => scope))],
        resources,
        createdAt: new Date(Math.min(...grants.map(({ createdAt }) => createdAt))),
        lastUsedAt: Number.isFinite(lastUse) ? new Date(lastUse) : undefined
      }
      return [shown]
    })

  const revoke = (grant: Grant) =>
    Effect.map(endGrant(services, auditContext, grant.id), (outcome) => outcome === "revoked")

  return {
    list: (user, paging = {}) =>
      run(
        Effect.gen(function* () {
          const now = yield* currentInstant
          const { after, limit } = yield* pageAsked("grants.list", paging)
          const start = behindMark(after)
          const page = yield* connectionsPage(grantsOf(user), services.policy, now, start, limit)
          const items = yield* Effect.forEach(page.connections, told)
          return { items: items.flat(), next: cursorOf(page.next) }
        })
      ),
    revoke: (user, id) =>
      run(
        Effect.gen(function* () {
          const grant = yield* findMarked(grantsOf(user), id)
          if (grant === undefined) return false
          let revoked = false
          for (const one of yield* grantsBeside(grantsOf(user), grant)) revoked = (yield* revoke(one)) || revoked
          return revoked
        })
      ),
    revokeAll: (user) =>
      run(
        Effect.gen(function* () {
          let count = 0
          yield* forEachItem(grantsOf(user), (grant) =>
            Effect.map(revoke(grant), (revoked) => {
              if (revoked) count++
            })
          )
          return count
        })
      )
  }
}
