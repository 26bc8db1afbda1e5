import { Effect, Option, Redacted } from "effect"
import { answer, answerAndKeep } from "../grant/Decision.ts"
import type { Entropy } from "../ports/Entropy.ts"
import type { Storage, StorageUnavailable } from "../ports/Storage.ts"
import { base64Url } from "../rules/Base64Url.ts"
import type { UserId } from "../rules/Id.ts"
import { hasPassed, type Instant, later, type Millis } from "../rules/Instant.ts"
import type { Contended } from "../rules/Refusal.ts"
import { digestOf } from "../rules/Secret.ts"
import { recordsOf } from "../server/Records.ts"
import { transact } from "../server/transact.ts"
import { eachOf } from "../server/wholeList.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import { type Session, sessionKind, sessionsOwner } from "./Session.ts"

/** The secret of a cookie, as it travels. */
export type SessionSecret = Redacted.Redacted<string>

export interface Sessions {
  /** Always a new one: whoever knew what the browser held before knows nothing of it. */
  readonly start: (
    workspace: WorkspaceId,
    account: { readonly id: UserId; readonly epoch: number },
    now: Instant
  ) => Effect.Effect<SessionSecret, StorageUnavailable | Contended>
  readonly find: (
    workspace: WorkspaceId,
    secret: SessionSecret,
    now: Instant
  ) => Effect.Effect<Option.Option<Session>, StorageUnavailable>
  readonly end: (workspace: WorkspaceId, secret: SessionSecret) => Effect.Effect<void, StorageUnavailable>
  /** All of an account's, or only those of the epochs before one. */
  readonly endAll: (
    workspace: WorkspaceId,
    account: UserId,
    before?: Session["epoch"]
  ) => Effect.Effect<void, StorageUnavailable>
}

const secretLength = 32

export const makeSessions = (storage: Storage["Service"], entropy: Entropy["Service"], ttl: Millis): Sessions => {
  const records = recordsOf(storage, sessionKind)

  return {
    start: Effect.fnUntraced(function* (workspace, account, now) {
      const secret = base64Url(entropy.bytes(secretLength))
      const session: Session = {
        id: digestOf(secret),
        account: account.id,
        epoch: account.epoch,
        createdAt: now,
        expiresAt: later(now, ttl)
      }
      const kept = yield* transact(records, entropy, workspace, session.id, (found) =>
        found === undefined ? answerAndKeep(session, undefined) : answer(undefined)
      )
      yield* Effect.fromResult(kept)
      return Redacted.make(secret, { label: "session" })
    }),
    find: (workspace, secret, now) =>
      Effect.map(records.get(workspace, digestOf(Redacted.value(secret))), (kept) =>
        Option.filter(Option.fromUndefinedOr(kept?.value), (session) => !hasPassed(session.expiresAt, now))
      ),
    end: (workspace, secret) => records.remove(workspace, digestOf(Redacted.value(secret))),
    endAll: (workspace, account, before = Number.POSITIVE_INFINITY) =>
      eachOf(
        (slice) => records.list(workspace, sessionsOwner(account), slice),
        ({ epoch, id }) => (epoch < before ? records.remove(workspace, id) : Effect.void)
      )
  }
}
