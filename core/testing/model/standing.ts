import type { Presented, Ref } from "../script/Command.ts"
import { standingOfClient } from "./answerClient.ts"
import type { Worth } from "./Expectation.ts"
import type { Facts } from "./Rule.ts"
import { type Access, type Grant, isAlive, type RefreshToken, type State } from "./State.ts"
import type { WorkspaceNumber } from "./World.ts"

/** How a token stands when it is presented in a workspace. */
export type Standing =
  | { readonly _tag: "nothing" }
  | { readonly _tag: "access"; readonly access: Access; readonly grant: Grant }
  | {
      readonly _tag: "refresh"
      readonly token: RefreshToken
      readonly grant: Grant
      readonly line: "current" | "retriable" | "superseded"
    }

/** Whose a token is: of an exchanged one, the last that exchanged. */
export const holderOf = (standing: Exclude<Standing, { readonly _tag: "nothing" }>): Ref =>
  (standing._tag === "access" ? standing.access.actors[0]?.client : undefined) ?? standing.grant.client

/** What a caller that may know of a token is told of it. */
export const worthOf = (standing: Exclude<Standing, { readonly _tag: "nothing" }>, issuer: string): Worth => {
  const { grant } = standing
  const own = standing._tag === "access" ? standing.access : { ...grant, actors: [], boundTo: null }
  return {
    client: holderOf(standing),
    actors: own.actors.map(({ client }) => client),
    user: grant.user,
    scope: own.scope,
    resource: own.resource,
    issuer,
    boundTo: own.boundTo,
    place: grant.place ?? null
  }
}

/** Where it is for the workspace: whether an owner still lets its client act for that. */
const isStillLet = ({ state, world }: Facts, { client, user }: Grant): boolean => {
  const own = state.clients.get(client)
  return user !== null || own === undefined || standingOfClient(own, world) === "allowed"
}

/** Neither it nor one that it was exchanged for was revoked, and who exchanged is there and still may. */
const lives = (facts: Facts, grant: Grant, { actors, isRevoked }: Access): boolean =>
  !isRevoked &&
  isStillLet(facts, grant) &&
  actors.every(({ client, showed }) => {
    const { access, clients } = facts.state
    const by = clients.get(client)
    return access.get(showed)?.isRevoked !== true && by?.isDeleted === false && by.serves !== null
  })

const nothing: Standing = { _tag: "nothing" }

const ownIn = (state: State, grant: Grant | undefined, workspace: WorkspaceNumber): grant is Grant =>
  grant !== undefined && isAlive(state, grant) && state.clients.get(grant.client)?.workspace === workspace

const lineOf = (token: RefreshToken, grant: Grant, { state, world }: Facts) => {
  if (token.generation === grant.generation) return "current"
  const isLast = token.generation === grant.generation - 1
  return isLast && state.now < grant.turnedAt + world.refreshGrace ? "retriable" : "superseded"
}

export const standingOf = (
  facts: Facts,
  presented: Presented | null,
  workspace: WorkspaceNumber,
  /**
   * Where it is to be ended: for how long a refresh token still counts when it refreshes no more. An access token does
   * where its client may no longer exchange, or act for the workspace, since an owner may allow it again.
   */
  afterwards = 0
): Standing => {
  const { state } = facts
  if (presented?.kind === "access") {
    const access = state.access.get(presented.ref)
    const grant = access === undefined ? undefined : state.grants.get(access.grant)
    if (access === undefined || !ownIn(state, grant, workspace)) return nothing
    const counts =
      (afterwards > 0 || lives(facts, grant, access)) && state.keys.includes(access.key) && state.now < access.expiresAt
    return counts ? { _tag: "access", access, grant } : nothing
  }
  if (presented?.kind === "refresh") {
    const token = state.refresh.get(presented.ref)
    const grant = token === undefined ? undefined : state.grants.get(token.grant)
    if (token === undefined || !ownIn(state, grant, workspace)) return nothing
    const counts = state.keys.includes(token.key) && state.now < token.expiresAt + afterwards
    return counts ? { _tag: "refresh", token, grant, line: lineOf(token, grant, facts) } : nothing
  }
  return nothing
}
