import { Effect } from "effect"
import type { Logouts } from "../engine/Logouts.ts"
import { collectAll } from "../engine/lists.ts"
import type { WriteFault } from "../engine/transact.ts"
import type { Grant } from "../grant/Grant.ts"
import { noteOf } from "../http/audit.ts"
import type { Call, Services } from "../http/Route.ts"
import { grantMark, type UserId } from "../rules/Id.ts"
import type { Workspace } from "../workspace/Workspace.ts"
import { type Session, type Sessions, sessionNames } from "./Sessions.ts"

/** What the end of a session brings with it, as the caller passes it on. */
export interface Farewell {
  readonly logouts: Logouts
  readonly why: "by_user" | "by_owner"
  /** Told of each grant that ends with its session. */
  readonly ended?: (grant: Grant["id"]) => Effect.Effect<void>
}

/** Of a person who ends their own. */
export const farewellBy = (services: Pick<Services, "audit" | "logouts">, call: Call, by: UserId): Farewell => ({
  logouts: services.logouts,
  why: "by_user",
  ended: (id) => noteOf(services, call, { _tag: "GrantRevoked", grant: grantMark(id), why: "by_user", by })
})

/**
 * Ends sessions of an account, or those that `which` finds among all. The applications' calls are written down before the
 * sessions go, so a process that is stopped in between finds them there, and ends them again.
 */
export const endSessions = Effect.fn("people.endSessions")(function* (
  sessions: Pick<Sessions, "list" | "remove">,
  workspace: Workspace,
  user: UserId,
  which: ReadonlyArray<Session["id"]> | ((session: Session) => boolean),
  { logouts, ...telling }: Farewell
): Effect.fn.Return<number, WriteFault> {
  const all = yield* collectAll((slice) => sessions.list(workspace.id, user, slice))
  const ending = all.filter((session) => (typeof which === "function" ? which(session) : which.includes(session.id)))
  const removed = Effect.forEach(ending, ({ id }) => sessions.remove(workspace.id, id), { discard: true })
  yield* logouts.endWith(workspace, { user, sessions: ending.flatMap(sessionNames), ...telling }, removed)
  return ending.length
})
