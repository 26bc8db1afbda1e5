import { Effect, Option, Schema } from "effect"
import { displayName, identifierOf } from "../../core/client/Client.ts"
import { readClientKey } from "../../core/client/ClientIdentifier.ts"
import { note } from "../../core/engine/AuditContext.ts"
import { type Ending, endAll, endGrant } from "../../core/engine/administerGrants.ts"
import { type Connection, connectionsPage, grantsBeside, grantsHeldBy } from "../../core/engine/connections.ts"
import { behindMark, cursorOf, findMarked, type GrantList } from "../../core/engine/lists.ts"
import type { Grant } from "../../core/grant/Grant.ts"
import { type GrantId, grantMark, PlaceId, readUserId, UserId } from "../../core/rules/Id.ts"
import { currentInstant } from "../../core/rules/Instant.ts"
import type { NamesOf } from "../serve/options.ts"
import { type Administration, namesKnown, type PageOf, type Paging, pageAsked } from "./Administration.ts"
import { sessionOf } from "./hostOwner.ts"
import { badArgument } from "./Options.ts"

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
  /**
   * All that a person, a place and an application, as far as they are named, share: what a person had who left an
   * organisation (`user` and `place`), or everything at one that is no more (`place`). Answers how many ended by this call;
   * after an error, call it again. Take the person out of the place first. Without a `user`, all grants of the store are
   * read, and the storage has to be one of Tessera's own.
   */
  readonly endAll: (which: EndAll) => Promise<number>
  /**
   * Before you end a session of a person's, named as `owner.signedIn` does: writes down which applications to tell of it
   * (OpenID Connect Back-Channel Logout), and ends what they were allowed for that session alone. Call it once more after
   * the session has ended, for a consent that was given in between: a client that is told twice knows it by the `jti`.
   */
  readonly endSession: (user: string, session: string) => Promise<void>
}

export interface EndAll {
  readonly user?: string
  readonly place?: string
  /** Its id as `clients` and guards tell it. */
  readonly client?: string
}

const endAllNames: NamesOf<EndAll> = { user: true, place: true, client: true }

const readPerson = Schema.decodeUnknownOption(
  Schema.Struct({ user: Schema.optional(UserId), place: Schema.optional(PlaceId) })
)

const readIds = ({ client, ...person }: EndAll): Option.Option<Ending> =>
  Option.flatMap(readPerson(person), (ending) =>
    client === undefined
      ? Option.some(ending)
      : Option.map(readClientKey(client), (key) => ({ ...ending, client: key }))
  )

/** Nothing named would end everything, and a name that is misspelt as much as that: neither is meant. */
const readEnding = Effect.fnUntraced(function* (method: string, which: EndAll) {
  yield* namesKnown(method, which, endAllNames)
  if (Object.values(which).every((id) => id === undefined)) {
    return yield* badArgument(method, "has to name a user, a place or a client")
  }
  return Option.getOrUndefined(readIds(which))
})

const noGrants: GrantList = () => Effect.succeed({ values: [], next: undefined })

export const grantsApi = (administration: Administration): GrantsApi => {
  const { auditContext, run, scan, services, steps, workspace } = administration

  const grantsOf = (user: string): GrantList => {
    const id = readUserId(user)
    return Option.isNone(id) ? noGrants : (page) => services.grants.ofUser(workspace.id, id.value, page)
  }

  const told = ({ client: clientId, grants: all, id, place }: Connection) =>
    Effect.gen(function* () {
      const client = yield* services.clients.find(workspace.id, clientId)
      const grants = grantsHeldBy(client, all, yield* currentInstant)
      // Without its client nothing that it issued is accepted.
      if (client === undefined || grants.length === 0) return []
      const uses = yield* Effect.forEach(grants, (grant) => services.usage.lastUse("grant", workspace.id, grant.id))
      const lastUse = Math.max(...uses.map((at) => at ?? Number.NEGATIVE_INFINITY))
      const resources = grants.some((grant) => grant.resources === null)
        ? null
        : [...new Set(grants.flatMap((grant) => grant.resources ?? []))]
      const shown: UserGrant = {
        id: grantMark(id),
        client: { id: identifierOf(client), name: displayName(client) },
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

  const end = (method: string, which: EndAll) =>
    steps(function* () {
      const ending = yield* readEnding(method, which)
      // An id that no person can have is no person's.
      if (ending === undefined) return 0
      const ended = yield* endAll(services, auditContext, ending, ending.user === undefined ? yield* scan : undefined)
      return ended === "needs_user"
        ? yield* badArgument(`${method} user`, "has to be named: this storage cannot be read as a whole")
        : ended
    })

  return {
    list: (user, paging = {}) =>
      steps(function* () {
        const now = yield* currentInstant
        const { after, limit } = yield* pageAsked("grants.list", paging)
        const start = behindMark(after)
        const opened = yield* services.openings.open(workspace)
        const trusted = Effect.map(services.openings.current(opened, now), ({ trustedIssuers }) => trustedIssuers)
        const page = yield* connectionsPage(grantsOf(user), { policy: services.policy, now, trusted }, start, limit)
        const items = yield* Effect.forEach(page.connections, told)
        return { items: items.flat(), next: cursorOf(page.next) }
      }),
    revoke: (user, id) =>
      steps(function* () {
        const grant = yield* findMarked(grantsOf(user), id)
        if (grant === undefined) return false
        let revoked = false
        for (const one of yield* grantsBeside(grantsOf(user), grant)) revoked = (yield* revoke(one)) || revoked
        return revoked
      }),
    revokeAll: (user) => end("grants.revokeAll", { user }),
    endAll: (which) => end("grants.endAll", which),
    endSession: (user, session) => {
      const given: unknown = session
      if (typeof given !== "string") {
        return run(Effect.fail(badArgument("grants.endSession session", "has to be the text that `signedIn` gives")))
      }
      const id = readUserId(user)
      if (Option.isNone(id)) return Promise.resolve()
      const why = "by_user"
      const ended = (grant: GrantId) =>
        note(services.audit, auditContext, { _tag: "GrantRevoked", grant: grantMark(grant), why, by: auditContext.by })
      return run(services.logouts.end(workspace, { user: id.value, sessions: [sessionOf(session)], why, ended }))
    }
  }
}
