import { Schema } from "effect"
import type { DocumentFault } from "../ports/Documents.ts"
import { ClientId, UserId } from "../rules/Id.ts"
import { day, hasPassed, Instant, later, type Millis, minute, second } from "../rules/Instant.ts"
import { Digest, digestOf } from "../rules/Secret.ts"
import type { Issuer } from "../workspace/Workspace.ts"
import type { RecordKind } from "./Records.ts"

/*
 * The outbox of logout calls (OpenID Connect Back-Channel Logout): a record for each call that a client is due, in the
 * order of their ids, and one queue for each client, which says which process delivers them and when. A process that
 * adds a call writes it first and wakes the queue after; one that finds no call puts the queue to sleep, unless it was
 * woken meanwhile.
 */

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** `Call`: one session of one client has ended. `Queue`: the calls of a client. `Ending`: a session whose end has begun. */
export const LogoutRecord = Schema.TaggedUnion({
  Call: { id: Schema.String, client: ClientId, user: UserId, sid: Digest, at: Instant },
  Ending: { id: Digest, at: Instant },
  Queue: {
    client: ClientId,
    /** Whether there may be calls. */
    waiting: Schema.Boolean,
    /** Who delivers now, and until when no other process does. */
    lease: Schema.NullOr(Schema.Struct({ by: Schema.String, until: Instant })),
    /** Whether a call came since the lease began. */
    woken: Schema.Boolean,
    /** How often the call has failed that failed last. */
    failures: Count,
    /** Which one that is; the first, where an earlier release wrote it. */
    failing: Schema.optionalKey(Schema.String),
    dueAt: Instant,
    wokenAt: Instant
  }
})
export type LogoutRecord = typeof LogoutRecord.Type
export type LogoutCall = typeof LogoutRecord.cases.Call.Type
export type LogoutQueue = typeof LogoutRecord.cases.Queue.Type
type Ending = typeof LogoutRecord.cases.Ending.Type

export const isCall = LogoutRecord.guards.Call
export const isQueue = LogoutRecord.guards.Queue
const isEnding = LogoutRecord.guards.Ending

export const queuesOwner = "queues"
export const callsOf = (client: ClientId): string => `client:${client}`
export const queueId = (client: ClientId): string => `queue:${client}`

/** For so long a call is tried. */
export const triedFor: Millis = day

/** Where no process runs for so long, no client waits for the calls any more. */
const keptFor: Millis = 8 * day

/** One that sleeps says no more than none does, and every round reads all that there are. */
const sleepsFor: Millis = 60 * minute

/** So long a session that is there still may be about to go. After that its end did not come about. */
const endsWithin: Millis = minute

export const logoutKind: RecordKind<LogoutRecord> = {
  kind: "logout",
  schema: LogoutRecord,
  version: 1,
  upcast: [],
  id: (record) => (isQueue(record) ? queueId(record.client) : record.id),
  owner: (record) => (isCall(record) ? callsOf(record.client) : isQueue(record) ? queuesOwner : "endings"),
  expiresAt: (record) => {
    if (isEnding(record)) return later(record.at, endsWithin)
    if (isCall(record)) return later(record.at, keptFor)
    return later(record.wokenAt, record.waiting || record.lease !== null ? keptFor : sleepsFor)
  }
}

export const endingId = (user: UserId, session: string): Digest => digestOf(JSON.stringify(["ending", user, session]))

export const endingOf = (id: Digest, at: Instant): Ending => ({ _tag: "Ending", id, at })

export const isBegun = (record: LogoutRecord, now: Instant): boolean =>
  isEnding(record) && !hasPassed(later(record.at, endsWithin), now)

/** 13 digits last until the year 2286, so the ids of one client's calls are in the order of their time. */
const digits = 13

/** `place`: tells calls of one millisecond apart, and puts those of one process in their order. */
export const callOf = (client: ClientId, user: UserId, sid: Digest, at: Instant, place: string): LogoutCall => ({
  _tag: "Call",
  id: `call:${client}:${String(at).padStart(digits, "0")}:${place}`,
  client,
  user,
  sid,
  at
})

/** The same however often it is tried, or the session was ended. */
export const jtiOf = (issuer: Issuer, { sid }: LogoutCall): Digest => digestOf(JSON.stringify(["logout", issuer, sid]))

/** Longer than one call may take, so that no two processes call at once. */
export const leaseFor: Millis = minute

/** One call, with its answer. */
export const calledWithin: Millis = 5000

/** What is left of a lease before another call begins. */
const leaseLeft: Millis = 3 * calledWithin

const isOwn = ({ lease }: LogoutQueue, by: string): boolean => lease?.by === by

const rewokenAfter: Millis = day

/** After a call was added; `undefined` where the queue says so already. */
export const woken = (queue: LogoutQueue | undefined, client: ClientId, now: Instant): LogoutQueue | undefined => {
  if (queue === undefined || (!queue.waiting && queue.lease === null)) {
    return { _tag: "Queue", client, waiting: true, lease: null, woken: true, failures: 0, dueAt: now, wokenAt: now }
  }
  // The process that takes the lease lists the calls after that.
  const isAwake = queue.lease === null ? queue.waiting : queue.woken
  return isAwake && !hasPassed(later(queue.wokenAt, rewokenAfter), now)
    ? undefined
    : { ...queue, waiting: true, woken: true, wokenAt: now }
}

/** When a process may take the queue: its pause is over, and no lease lasts. `undefined`: it sleeps. */
export const takenFrom = ({ dueAt, lease, waiting }: LogoutQueue): Instant | undefined => {
  if (!waiting) return undefined
  return lease !== null && lease.until > dueAt ? lease.until : dueAt
}

/** The queue with a lease for the caller; `undefined` where there is nothing to do yet, or another process does it. */
export const taken = (queue: LogoutQueue, by: string, now: Instant): LogoutQueue | undefined => {
  const from = takenFrom(queue)
  return from === undefined || !hasPassed(from, now)
    ? undefined
    : { ...queue, lease: { by, until: later(now, leaseFor) }, woken: false }
}

/** Before a call: `undefined` where the lease is another's by now; the queue itself where enough of the lease is left. */
export const prolonged = (queue: LogoutQueue, by: string, now: Instant): LogoutQueue | undefined => {
  if (!isOwn(queue, by) || queue.lease === null) return undefined
  return hasPassed(later(now, leaseLeft), queue.lease.until)
    ? queue
    : { ...queue, lease: { by, until: later(now, leaseFor) } }
}

/** So long one client's calls go on: one that answers slowly keeps those of others, and other workspaces, waiting no longer. */
export const turnFor: Millis = calledWithin

/** A turn is over, and calls are left for the next, at once or `from` then on. `undefined`: it is another's. */
export const rested = (queue: LogoutQueue, by: string, from: Instant = queue.dueAt): LogoutQueue | undefined =>
  isOwn(queue, by) ? { ...queue, lease: null, dueAt: from } : undefined

/** No call was found: the queue sleeps, but where it was woken since the lease began. `undefined`: it is another's. */
export const emptied = (queue: LogoutQueue, by: string): LogoutQueue | undefined => {
  if (!isOwn(queue, by)) return undefined
  return queue.woken ? { ...queue, woken: false, failures: 0 } : { ...queue, waiting: false, lease: null, failures: 0 }
}

/** The client was not asked, because this process had no place left for its host: that is no failure of the client's. */
export const placePause: Millis = second

const firstPause = 10 * second
const longestPause = 60 * minute

/** Twice as long each time, up to an hour. */
export const pauseAfter = (failures: number): Millis => Math.min(longestPause, firstPause * 2 ** (failures - 1))

/**
 * The first call failed: all wait, so that none passes it. Failures count for that call alone, whichever process saw
 * them and whatever was delivered meanwhile.
 */
export const failed = (queue: LogoutQueue, by: string, { id }: LogoutCall, now: Instant): LogoutQueue | undefined => {
  if (!isOwn(queue, by)) return undefined
  const { failing = id } = queue
  const failures = (failing === id ? queue.failures : 0) + 1
  return { ...queue, lease: null, woken: false, failures, failing: id, dueAt: later(now, pauseAfter(failures)) }
}

/** Why a call was given up. */
type GivenUp = "refused" | "not_delivered" | "no_address"

/** What came of one attempt: the status of an answer, or why there is none. */
export type Attempted =
  | { readonly status: number }
  | { readonly fault: DocumentFault["reason"] | "unsigned" | "no_address" }

/**
 * OpenID Connect Back-Channel Logout §2.8: 400 is how a client says that its logout failed. Whatever else comes, a 404
 * while it is deployed or no answer, may be otherwise soon, and is tried for a day. `undefined`: it is tried again.
 */
export const judged = (attempted: Attempted, call: LogoutCall, now: Instant): "delivered" | GivenUp | undefined => {
  if ("fault" in attempted) {
    if (attempted.fault === "no_address") return "no_address"
  } else {
    if (attempted.status >= 200 && attempted.status < 300) return "delivered"
    if (attempted.status === 400) return "refused"
  }
  return hasPassed(later(call.at, triedFor), now) ? "not_delivered" : undefined
}
