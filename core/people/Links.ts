import { Effect, Redacted, Schema } from "effect"
import { base64Url } from "../codec/Base64Url.ts"
import { type Listed, makeRecords, type RecordKind } from "../engine/Records.ts"
import { transactOrFail, type WriteFault } from "../engine/transact.ts"
import { answer, answerAndKeep } from "../grant/Decision.ts"
import type { Entropy } from "../ports/Entropy.ts"
import type { Slice, Storage, StorageUnavailable } from "../ports/Storage.ts"
import { UserId } from "../rules/Id.ts"
import { hasPassed, Instant } from "../rules/Instant.ts"
import { Digest, digestOf } from "../rules/Secret.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import { Email, Role } from "./Account.ts"

const linkFields = {
  /** The digest of the secret in the link. */
  id: Digest,
  /** The one account that the link can open: an id opens one account, so the link works once. */
  account: UserId,
  createdAt: Instant,
  expiresAt: Instant
}

/** A one-time link that opens one account. */
export const Link = Schema.TaggedUnion({
  SetUp: linkFields,
  Invitation: {
    ...linkFields,
    role: Role,
    /** The only email accepted; `null` if the recipient may choose. */
    email: Schema.NullOr(Email),
    invitedBy: Schema.String
  }
})
export type Link = typeof Link.Type
export type Invitation = typeof Link.cases.Invitation.Type

const linksOwner = (tag: Link["_tag"]): string => (tag === "SetUp" ? "set-up" : "invitations")

export const linkKind: RecordKind<Link> = {
  kind: "link",
  schema: Link,
  version: 1,
  upcast: [],
  id: (link) => link.id,
  owner: (link) => linksOwner(link._tag),
  expiresAt: (link) => link.expiresAt
}

export interface Links {
  /** The secret belongs in the link, which is shown once. */
  readonly make: (
    workspace: WorkspaceId,
    link: (id: Digest) => Link
  ) => Effect.Effect<{ readonly secret: Redacted.Redacted<string>; readonly link: Link }, WriteFault>
  /** `undefined` if the link never existed, was withdrawn or has expired. */
  readonly find: (
    workspace: WorkspaceId,
    secret: string,
    now: Instant
  ) => Effect.Effect<Link | undefined, StorageUnavailable>
  readonly byId: (workspace: WorkspaceId, id: Digest) => Effect.Effect<Link | undefined, StorageUnavailable>
  readonly remove: (workspace: WorkspaceId, id: Digest) => Effect.Effect<void, StorageUnavailable>
  readonly list: (
    workspace: WorkspaceId,
    tag: Link["_tag"],
    slice: Slice
  ) => Effect.Effect<Listed<Link>, StorageUnavailable>
}

const secretLength = 32
const isLinkSecret = (text: string): boolean => /^[A-Za-z0-9_-]{43}$/.test(text)

export const makeLinks = (storage: Storage["Service"], entropy: Entropy["Service"]): Links => {
  const records = makeRecords(storage, linkKind)
  const byId = (workspace: WorkspaceId, id: Digest) => Effect.map(records.get(workspace, id), (kept) => kept?.value)

  return {
    make: Effect.fn("people.makeLink")(function* (workspace, make) {
      const secret = base64Url(entropy.bytes(secretLength))
      const link = make(digestOf(secret))
      yield* transactOrFail(records, entropy, workspace, link.id, (found: Link | undefined) =>
        found === undefined ? answerAndKeep(link, undefined) : answer(undefined)
      )
      return { secret: Redacted.make(secret, { label: "link" }), link }
    }),
    find: (workspace, secret, now) =>
      isLinkSecret(secret)
        ? Effect.map(byId(workspace, digestOf(secret)), (link) =>
            link === undefined || hasPassed(link.expiresAt, now) ? undefined : link
          )
        : Effect.succeed(undefined),
    byId,
    remove: (workspace, id) => records.remove(workspace, id),
    list: (workspace, tag, slice) => records.list(workspace, linksOwner(tag), slice)
  }
}
