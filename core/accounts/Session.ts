import { Schema } from "effect"
import { UserId } from "../rules/Id.ts"
import { Instant } from "../rules/Instant.ts"
import { Digest } from "../rules/Secret.ts"
import type { RecordKind } from "../server/Records.ts"

/** A browser that signed in. Its id is the digest of the cookie's secret: a copy of the store opens no session. */
export const Session = Schema.Struct({
  id: Digest,
  account: UserId,
  epoch: Schema.Int,
  createdAt: Instant,
  expiresAt: Instant
})
export type Session = typeof Session.Type

export const sessionsOwner = (account: UserId): string => `account:${account}`

export const sessionKind: RecordKind<Session> = {
  kind: "session",
  schema: Session,
  version: 1,
  upcast: [],
  id: (session) => session.id,
  owner: (session) => sessionsOwner(session.account),
  expiresAt: (session) => session.expiresAt
}
