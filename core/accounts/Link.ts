import { Schema } from "effect"
import { UserId } from "../rules/Id.ts"
import { Instant } from "../rules/Instant.ts"
import { Digest } from "../rules/Secret.ts"
import type { RecordKind } from "../server/Records.ts"
import { Role } from "./Account.ts"
import { Email } from "./Email.ts"

const born = {
  /** The digest of the secret in its address. */
  id: Digest,
  /** The one account that it can open: that there is one per id makes the link work once. */
  account: UserId,
  createdAt: Instant,
  expiresAt: Instant
}

/** An address that opens one account. */
export const Link = Schema.TaggedUnion({
  SetUp: born,
  Invitation: {
    ...born,
    role: Role,
    /** No other is accepted; `null`: whoever has the link may choose. */
    email: Schema.NullOr(Email),
    invitedBy: Schema.String
  }
})
export type Link = typeof Link.Type
export type Invitation = typeof Link.cases.Invitation.Type

export const linksOwner = (tag: Link["_tag"]): string => (tag === "SetUp" ? "set-up" : "invitations")

export const linkKind: RecordKind<Link> = {
  kind: "link",
  schema: Link,
  version: 1,
  upcast: [],
  id: (link) => link.id,
  owner: (link) => linksOwner(link._tag),
  expiresAt: (link) => link.expiresAt
}
