import { type Clock, Effect, Exit, Result } from "effect"
import { type Client, identifierOf, isKnown } from "../client/Client.ts"
import { idTokenAlgorithmOf, logoutAddressOf } from "../client/openIdMembers.ts"
import { hexOf } from "../codec/Base64Url.ts"
import { sidOf } from "../grant/Authentication.ts"
import { answer, answerAndKeep, type Decision } from "../grant/Decision.ts"
import { type Grant, sidIn } from "../grant/Grant.ts"
import type { Audit } from "../ports/Audit.ts"
import type { Documents } from "../ports/Documents.ts"
import type { Entropy } from "../ports/Entropy.ts"
import { Signatures } from "../ports/Signatures.ts"
import type { Storage, StorageUnavailable } from "../ports/Storage.ts"
import type { ClientId, UserId } from "../rules/Id.ts"
import { hasPassed, type Instant, instantOf, later, minute, secondsOf } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import { offersOpenId } from "../rules/Scope.ts"
import { scopesOf, type Workspace, type WorkspaceId } from "../workspace/Workspace.ts"
import { note } from "./AuditContext.ts"
import type { Clients } from "./Clients.ts"
import type { Grants } from "./Grants.ts"
import { forEachItem } from "./lists.ts"
import {
  type Attempted,
  calledWithin,
  callOf,
  callsOf,
  emptied,
  endingId,
  endingOf,
  failed,
  isBegun,
  isCall,
  isQueue,
  jtiOf,
  judged,
  type LogoutCall,
  type LogoutQueue,
  type LogoutRecord,
  logoutKind,
  placePause,
  prolonged,
  queueId,
  queuesOwner,
  rested,
  taken,
  takenFrom,
  turnFor,
  woken
} from "./logoutCalls.ts"
import { makeRecords } from "./Records.ts"
import type { Signing } from "./Signing.ts"
import { cleanUpOrWarn, transactOrFail, type WriteFault } from "./transact.ts"

/** Sessions of one person that are about to end. */
export interface EndingSessions {
  readonly user: UserId
  /** By the names that `ResourceOwner.current` gives them. */
  readonly sessions: ReadonlyArray<string>
  readonly why: "by_user" | "by_owner"
  /** Told of each grant that ended with them. */
  readonly ended?: (grant: Grant["id"]) => Effect.Effect<void>
}

/** What the end of a session brings with it (OpenID Connect Back-Channel Logout). */
export interface Logouts {
  /**
   * Writes down whom to tell, and ends the grants that are not to outlive their session. It comes before the sessions
   * themselves end: where a process dies in between they have not ended, and ending them again loses no call.
   */
  readonly end: (workspace: Workspace, ending: EndingSessions) => Effect.Effect<void, WriteFault>
  /** The same, then the end of the sessions themselves. Until that is done, `isEnding` tells of them. */
  readonly endWith: <A, E>(
    workspace: Workspace,
    ending: EndingSessions,
    over: Effect.Effect<A, E>
  ) => Effect.Effect<A, E | WriteFault>
  /**
   * Whether a session is about to end. Who writes a grant that names one asks after it, and whether it is there still:
   * either `endWith` finds the grant, or its writer finds this.
   */
  readonly isEnding: (
    workspace: WorkspaceId,
    user: UserId,
    session: string,
    now: Instant
  ) => Effect.Effect<boolean, StorageUnavailable>
  /** Delivers what is due in a workspace, from any process; answers when to look again, if something waits. */
  readonly deliver: (workspace: Workspace) => Effect.Effect<Instant | undefined, WriteFault>
  /** A turn for each client whose calls are due, as far as this process knows. Asks no store where it knows of none. */
  readonly deliverKnown: Effect.Effect<void>
}

interface Parts {
  readonly storage: Storage["Service"]
  readonly entropy: Entropy["Service"]
  readonly clients: Clients
  readonly grants: Grants
  readonly signing: Signing
  readonly signatures: Signatures["Service"]
  readonly documents: Documents["Service"]
  readonly audit: Audit["Service"]
  readonly policy: Policy
  readonly clock: Clock.Clock
}

/** Back-Channel Logout §2.4: of another type than ID tokens, so that neither is taken for the other. */
const logoutTokenType = "logout+jwt"

const logoutEvent = "http://schemas.openid.net/event/backchannel-logout"

/** So long a client may take a token for fresh. */
const tokenLife = 2 * minute

const limits = { within: calledWithin }

const page = 20
/** Two rounds at once fill the places that the adapter of documents has for forms. */
const clientsAtOnce = 8

/** So long a round begins with one client after the other: those that hang keep the next workspace waiting no longer. */
const roundFor = turnFor

/** So long one workspace keeps the next one waiting, where its clients leave calls for another turn. */
const roundsFor = minute

/** Of a client that is there: the record of one that left may stay. */
const addressOf = (client: Client | undefined, now: Instant): string | undefined =>
  client !== undefined && isKnown(client, now) ? logoutAddressOf(client) : undefined

const done: Effect.Effect<Exit.Exit<void, WriteFault>> = Effect.succeed(Exit.void)

export const makeLogouts = ({
  audit,
  clients,
  clock,
  documents,
  entropy,
  grants,
  policy,
  signatures,
  signing,
  storage
}: Parts): Logouts => {
  const records = makeRecords(storage, logoutKind)
  /** This process, for as long as it runs. */
  const self = hexOf(entropy.bytes(8))
  /** Workspaces with calls that are due some time, as far as this process knows. */
  const known = new Map<WorkspaceId, { readonly workspace: Workspace; readonly from: Instant }>()

  /** Calls of this process in one millisecond. */
  let lately = { at: 0, calls: 0 }
  const placeAt = (at: Instant): string => {
    lately = { at, calls: lately.at === at ? lately.calls + 1 : 0 }
    return String(lately.calls).padStart(6, "0") + hexOf(entropy.bytes(8))
  }

  const knows = (workspace: Workspace, from: Instant) => {
    const before = known.get(workspace.id)
    known.set(workspace.id, { workspace, from: before === undefined || from < before.from ? from : before.from })
  }

  const changeQueue = (
    workspace: WorkspaceId,
    client: ClientId,
    change: (queue: LogoutQueue | undefined) => LogoutQueue | undefined
  ): Effect.Effect<LogoutQueue | undefined, WriteFault> =>
    transactOrFail(
      records,
      entropy,
      workspace,
      queueId(client),
      (found): Decision<LogoutQueue | undefined, never, LogoutRecord> => {
        const queue = found !== undefined && isQueue(found) ? found : undefined
        const next = change(queue)
        return next === undefined || next === queue ? answer(next) : answerAndKeep(next, next)
      }
    )

  /** A change of a queue whose lease this process has; `undefined` where it has it no more. */
  const changeOwn = (
    workspace: WorkspaceId,
    client: ClientId,
    change: (queue: LogoutQueue) => LogoutQueue | undefined
  ) => changeQueue(workspace, client, (queue) => queue && change(queue))

  /** Whether an ID token may have told of sessions. */
  const tellsOf = (workspace: Workspace, sessions: ReadonlyArray<string>): boolean =>
    sessions.length > 0 && signatures !== Signatures.none && offersOpenId(scopesOf(policy, workspace))

  const end: Logouts["end"] = Effect.fnUntraced(function* (workspace, { ended, sessions, user, why }) {
    if (!tellsOf(workspace, sessions)) return
    const now = instantOf(clock)
    const sids = new Map<ClientId, ReadonlySet<string>>()
    const sidsOf = (client: ClientId): ReadonlySet<string> => {
      const made = sids.get(client) ?? new Set(sessions.map((session) => sidOf(workspace.issuer, client, session)))
      sids.set(client, made)
      return made
    }
    const due = new Map<string, LogoutCall>()
    const ending: Array<Grant["id"]> = []
    yield* forEachItem(
      (slice) => grants.ofUser(workspace.id, user, slice),
      Effect.fnUntraced(function* (grant) {
        const sid = sidIn(grant)
        if (sid === undefined || grant._tag === "Key" || grant.client === null || !sidsOf(grant.client).has(sid)) return
        const isTold = addressOf(yield* clients.find(workspace.id, grant.client, now), now) !== undefined
        // A code that comes back later would name a session that is over. A device is elsewhere, and goes on all the same.
        const isCode = grant._tag === "Pending" && grant.redirectUri !== undefined
        const isOnline = grant._tag === "Active" && grant.authentication?.offline !== true
        if (isCode || (isTold && isOnline)) ending.push(grant.id)
        if (isTold) due.set(sid, callOf(grant.client, user, sid, now, placeAt(now)))
      })
    )
    for (const call of due.values()) {
      yield* Effect.catchTag(records.insert(workspace.id, call, self), "Conflict", () => Effect.void)
    }
    for (const client of new Set([...due.values()].map(({ client }) => client))) {
      yield* changeQueue(workspace.id, client, (queue) => woken(queue, client, now))
    }
    if (due.size > 0) knows(workspace, now)
    for (const id of ending) {
      const outcome = yield* grants.revokeGrant(workspace.id, id, why)
      if (outcome === "revoked" && ended !== undefined) yield* ended(id)
    }
  })

  const endWith: Logouts["endWith"] = (workspace, ending, over) =>
    Effect.gen(function* () {
      const { sessions, user } = ending
      const marks = tellsOf(workspace, sessions) ? sessions.map((session) => endingId(user, session)) : []
      const now = instantOf(clock)
      for (const id of marks) {
        const begun = answerAndKeep(endingOf(id, now), undefined)
        yield* transactOrFail(records, entropy, workspace.id, id, () => begun)
      }
      yield* end(workspace, ending)
      const done = yield* over
      yield* cleanUpOrWarn(
        workspace.id,
        Effect.forEach(marks, (id) => records.remove(workspace.id, id), { discard: true }),
        "sessions that have ended are still told of as ending, for a minute",
        { user }
      )
      return done
    })

  const isEnding: Logouts["isEnding"] = (workspace, user, session, now) =>
    Effect.map(
      records.get(workspace, endingId(user, session)),
      (kept) => kept !== undefined && isBegun(kept.value, now)
    )

  const attempt = Effect.fnUntraced(function* (
    workspace: Workspace,
    call: LogoutCall,
    now: Instant
  ): Effect.fn.Return<Attempted, StorageUnavailable> {
    const client = yield* clients.find(workspace.id, call.client, now)
    const address = addressOf(client, now)
    if (client === undefined || address === undefined) return { fault: "no_address" }
    const asked = { algorithm: idTokenAlgorithmOf(client, policy), life: tokenLife }
    const signed = yield* Effect.result(
      Effect.flatMap(signing.ready(workspace, asked, now), (sign) =>
        sign(
          { typ: logoutTokenType },
          {
            iss: workspace.issuer,
            sub: call.user,
            aud: identifierOf(client),
            iat: secondsOf(now),
            exp: secondsOf(later(now, tokenLife)),
            jti: jtiOf(workspace.issuer, call),
            sid: call.sid,
            events: { [logoutEvent]: {} }
          }
        )
      )
    )
    if (Result.isFailure(signed)) return { fault: "unsigned" }
    return yield* Effect.match(documents.post(address, `logout_token=${signed.success}`, limits), {
      onFailure: ({ reason }): Attempted => ({ fault: reason }),
      onSuccess: (status): Attempted => ({ status })
    })
  })

  /** The calls of one client for one turn, up to the first that fails: those behind it wait for it. */
  const deliverTo = Effect.fnUntraced(function* (
    workspace: Workspace,
    client: ClientId
  ): Effect.fn.Return<void, WriteFault> {
    const { id } = workspace
    const from = instantOf(clock)
    const began = yield* changeOwn(id, client, (queue) => taken(queue, self, from))
    if (began === undefined) return
    for (;;) {
      const { values } = yield* records.list(id, callsOf(client), { after: undefined, limit: page })
      if (values.length === 0) {
        const slept = yield* changeOwn(id, client, (queue) => emptied(queue, self))
        if (slept === undefined || !slept.waiting) return
        continue
      }
      for (const call of values) {
        if (!isCall(call)) continue
        const own = yield* changeOwn(id, client, (queue) => prolonged(queue, self, instantOf(clock)))
        if (own === undefined) return
        const attempted = yield* attempt(workspace, call, instantOf(clock))
        const now = instantOf(clock)
        const outcome = judged(attempted, call, now)
        if (outcome === undefined) {
          const wasAsked = !("fault" in attempted && attempted.fault === "busy")
          yield* changeOwn(id, client, (queue) =>
            wasAsked ? failed(queue, self, call, now) : rested(queue, self, later(now, placePause))
          )
          return
        }
        if (outcome !== "delivered") {
          // Told first: a process that is stopped in between gives it up again, and tells it twice rather than never.
          const why = outcome === "not_delivered" && "fault" in attempted ? attempted.fault : outcome
          yield* note(audit, { workspace: id, requestId: "logout" }, { _tag: "LogoutCallGivenUp", client, why })
        }
        yield* records.remove(id, call.id)
        if (hasPassed(later(from, turnFor), instantOf(clock))) {
          yield* changeOwn(id, client, (queue) => rested(queue, self))
          return
        }
      }
    }
  })

  /** A turn for each client that is due, as far as a round comes: the next one begins with those that are left. */
  const round = Effect.fnUntraced(function* (workspace: Workspace): Effect.fn.Return<Instant | undefined, WriteFault> {
    const { id } = workspace
    known.delete(id)
    const due: Array<LogoutQueue> = []
    let from: Instant | undefined
    const waits = (queue: LogoutRecord, now: Instant) => {
      const begins = isQueue(queue) ? takenFrom(queue) : undefined
      if (!isQueue(queue) || begins === undefined) return
      if (hasPassed(begins, now)) due.push(queue)
      if (from === undefined || begins < from) from = begins
    }
    const look = Effect.suspend(() => {
      due.length = 0
      from = undefined
      return forEachItem(
        (slice) => records.list(id, queuesOwner, slice),
        (queue) => Effect.sync(() => waits(queue, instantOf(clock)))
      )
    })
    yield* look
    if (due.length > 0) {
      const until = later(instantOf(clock), roundFor)
      // A client that failed before may do so again, and the others do not wait for it.
      const inTurn = [...due].sort((one, other) => one.failures - other.failures || one.dueAt - other.dueAt)
      const exits = yield* Effect.forEach(
        inTurn,
        ({ client }) => (hasPassed(until, instantOf(clock)) ? done : Effect.exit(deliverTo(workspace, client))),
        { concurrency: clientsAtOnce }
      )
      yield* look
      if (from !== undefined) knows(workspace, from)
      yield* Effect.forEach(exits, (exit) => exit, { discard: true })
    } else if (from !== undefined) knows(workspace, from)
    return from
  })

  const deliver: Logouts["deliver"] = Effect.fnUntraced(function* (workspace) {
    const until = later(instantOf(clock), roundsFor)
    for (;;) {
      const from = yield* round(workspace)
      const now = instantOf(clock)
      if (from === undefined || !hasPassed(from, now) || hasPassed(until, now)) return from
    }
  })

  return {
    end,
    endWith,
    isEnding,
    deliver,
    deliverKnown: Effect.suspend(() => {
      if (known.size === 0) return Effect.void
      const now = instantOf(clock)
      const due = [...known.values()].filter(({ from }) => hasPassed(from, now))
      return Effect.forEach(
        due,
        ({ workspace }) =>
          Effect.catchCause(round(workspace), (cause) =>
            Effect.logWarning("logout calls could not be delivered, and are tried again", cause)
          ),
        { discard: true }
      )
    })
  }
}
