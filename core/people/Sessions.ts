import { Effect, Redacted, Schema } from "effect"
import { base64Url } from "../codec/Base64Url.ts"
import { collectAll } from "../engine/lists.ts"
import { type Listed, makeRecords, type RecordKind } from "../engine/Records.ts"
import { transactOrFail, type WriteFault } from "../engine/transact.ts"
import { answer, answerAndKeep } from "../grant/Decision.ts"
import type { Entropy } from "../ports/Entropy.ts"
import type { Slice, Storage, StorageUnavailable } from "../ports/Storage.ts"
import { UserId } from "../rules/Id.ts"
import { hasPassed, Instant, later, type Millis, minute } from "../rules/Instant.ts"
import { Digest, digestOf } from "../rules/Secret.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"

/** A signed-in browser. The id is a digest of the cookie's secret: a copy of the store opens no session. */
export const Session = Schema.Struct({
  id: Digest,
  account: UserId,
  epoch: Schema.Int,
  createdAt: Instant,
  /** When the password was last given in this session. */
  confirmedAt: Instant,
  /** The first session of the same person in this browser, which goes on in this one: what applications know it by. */
  name: Schema.optionalKey(Digest),
  /** All that applications may know it by beside its id: several, where an earlier release named it anew each time. */
  before: Schema.optionalKey(Schema.Array(Digest)),
  /** The browser in plain words, where it named itself as one that is known. */
  browser: Schema.optionalKey(Schema.String),
  /** The last use that was noted. */
  usedAt: Schema.optionalKey(Instant),
  expiresAt: Instant
})
export type Session = typeof Session.Type

/** The names of a session, as `ResourceOwner.current` gave them to applications' grants. */
export const sessionNames = ({ before = [], id }: Session): ReadonlyArray<Digest> => [id, ...before]

/**
 * What a session hands on to the one that it goes on in. The secret is made anew, since others may know the one before;
 * the name opens nothing, and stays.
 */
const handedOn = ({ before = [], id, name = id }: Session): Required<Pick<Session, "name" | "before">> => ({
  name,
  before: before.includes(name) ? before : [name, ...before]
})

export const lastUseOf = ({ createdAt, usedAt }: Session): Instant => usedAt ?? createdAt

/** A use is written down at most this often, so that no request but the first after it writes. */
const usedEvery: Millis = 5 * minute

const isStale = (session: Session, now: Instant): boolean => hasPassed(later(lastUseOf(session), usedEvery), now)

/** What a form or a command calls a session by, which tells nothing of its name to applications. */
export const sessionMark = ({ id }: Session): string => digestOf(`session mark ${id}`).slice(0, 12)

export const sessionsOwner = (account: UserId): string => `account:${account}`

export const sessionKind: RecordKind<Session> = {
  kind: "session",
  schema: Session,
  version: 2,
  // A session of version 1 began with the password, and nothing asked for it again.
  upcast: [(body) => ({ ...body, confirmedAt: body.createdAt ?? null })],
  id: (session) => session.id,
  owner: (session) => sessionsOwner(session.account),
  expiresAt: (session) => session.expiresAt
}

/** The secret in the session cookie. */
export type SessionSecret = Redacted.Redacted<string>

export const sessionIdOf = (secret: SessionSecret): Session["id"] => digestOf(Redacted.value(secret))

type Holder = { readonly id: UserId; readonly epoch: number }

/** Whether it is in use: begun since the account's last change, and not over. */
export const isLive = ({ epoch, expiresAt }: Session, account: Holder, now: Instant): boolean =>
  epoch === account.epoch && !hasPassed(expiresAt, now)

export const lastUsedFirst = (sessions: ReadonlyArray<Session>): ReadonlyArray<Session> =>
  sessions.toSorted((one, other) => lastUseOf(other) - lastUseOf(one))

/** The sessions of an account that are in use, the last used first. */
export const liveSessions = (
  sessions: Pick<Sessions, "list">,
  workspace: WorkspaceId,
  account: Holder,
  now: Instant
): Effect.Effect<ReadonlyArray<Session>, StorageUnavailable> =>
  Effect.map(
    collectAll((slice: Slice) => sessions.list(workspace, account.id, slice)),
    (all) => lastUsedFirst(all.filter((session) => isLive(session, account, now)))
  )

export interface Sessions {
  /** Always a new session: an earlier cookie of the browser, which others may know, does not open it. */
  readonly start: (
    workspace: WorkspaceId,
    account: Holder,
    now: Instant,
    browser?: Session["browser"]
  ) => Effect.Effect<SessionSecret, WriteFault>
  readonly find: (
    workspace: WorkspaceId,
    secret: SessionSecret,
    now: Instant
  ) => Effect.Effect<Session | undefined, StorageUnavailable>
  /** Notes that it is in use, where the last note is some minutes old. */
  readonly use: (workspace: WorkspaceId, session: Session, now: Instant) => Effect.Effect<void, WriteFault>
  /** Notes when the password was given again; `false` where the session has ended. */
  readonly confirm: (
    workspace: WorkspaceId,
    id: Session["id"],
    confirmedAt: Session["confirmedAt"]
  ) => Effect.Effect<boolean, WriteFault>
  /** What the former session was to applications, this one is from now on. */
  readonly takeOver: (workspace: WorkspaceId, id: Session["id"], former: Session) => Effect.Effect<void, WriteFault>
  /** The sessions of an account, in no particular order; some may have expired. */
  readonly list: (
    workspace: WorkspaceId,
    account: UserId,
    slice: Slice
  ) => Effect.Effect<Listed<Session>, StorageUnavailable>
  /** Nothing but the record: `endSessions` tells the applications first. */
  readonly remove: (workspace: WorkspaceId, id: Session["id"]) => Effect.Effect<void, StorageUnavailable>
}

const secretLength = 32

export const makeSessions = (storage: Storage["Service"], entropy: Entropy["Service"], ttl: Millis): Sessions => {
  const records = makeRecords(storage, sessionKind)

  return {
    start: Effect.fn("people.startSession")(function* (workspace, account, now, browser) {
      const secret = base64Url(entropy.bytes(secretLength))
      const session: Session = {
        id: digestOf(secret),
        account: account.id,
        epoch: account.epoch,
        createdAt: now,
        confirmedAt: now,
        ...(browser === undefined ? {} : { browser }),
        expiresAt: later(now, ttl)
      }
      yield* transactOrFail(records, entropy, workspace, session.id, (found) =>
        found === undefined ? answerAndKeep(session, undefined) : answer(undefined)
      )
      return Redacted.make(secret, { label: "session" })
    }),
    find: (workspace, secret, now) =>
      Effect.map(records.get(workspace, sessionIdOf(secret)), (kept) =>
        kept === undefined || hasPassed(kept.value.expiresAt, now) ? undefined : kept.value
      ),
    use: (workspace, session, now) =>
      isStale(session, now)
        ? transactOrFail(records, entropy, workspace, session.id, (found) =>
            found === undefined || !isStale(found, now)
              ? answer(undefined)
              : answerAndKeep({ ...found, usedAt: now }, undefined)
          )
        : Effect.void,
    confirm: (workspace, id, confirmedAt) =>
      transactOrFail(records, entropy, workspace, id, (found) =>
        found === undefined ? answer(false) : answerAndKeep({ ...found, confirmedAt }, true)
      ),
    takeOver: (workspace, id, former) =>
      transactOrFail(records, entropy, workspace, id, (found) =>
        found === undefined ? answer(undefined) : answerAndKeep({ ...found, ...handedOn(former) }, undefined)
      ),
    list: (workspace, account, slice) => records.list(workspace, sessionsOwner(account), slice),
    remove: (workspace, id) => records.remove(workspace, id)
  }
}
