import { Effect, Redacted } from "effect"
import { answer, answerAndKeep } from "../grant/Decision.ts"
import type { Entropy } from "../ports/Entropy.ts"
import type { Slice, Storage, StorageUnavailable } from "../ports/Storage.ts"
import { base64Url } from "../rules/Base64Url.ts"
import { hasPassed, type Instant } from "../rules/Instant.ts"
import type { Contended } from "../rules/Refusal.ts"
import { type Digest, digestOf } from "../rules/Secret.ts"
import { type Listed, recordsOf } from "../server/Records.ts"
import { transact } from "../server/transact.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import { type Link, linkKind, linksOwner } from "./Link.ts"

export interface Links {
  /** The secret is for the address that is shown once. */
  readonly make: (
    workspace: WorkspaceId,
    link: (id: Digest) => Link
  ) => Effect.Effect<
    { readonly secret: Redacted.Redacted<string>; readonly link: Link },
    StorageUnavailable | Contended
  >
  /** Nothing where it never was, was taken back, or has expired. */
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
  const records = recordsOf(storage, linkKind)
  const byId = (workspace: WorkspaceId, id: Digest) => Effect.map(records.get(workspace, id), (kept) => kept?.value)

  return {
    make: Effect.fnUntraced(function* (workspace, make) {
      const secret = base64Url(entropy.bytes(secretLength))
      const link = make(digestOf(secret))
      const kept = yield* transact(records, entropy, workspace, link.id, (found: Link | undefined) =>
        found === undefined ? answerAndKeep(link, undefined) : answer(undefined)
      )
      yield* Effect.fromResult(kept)
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
