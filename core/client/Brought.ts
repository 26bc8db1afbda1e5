import { Schema, Struct } from "effect"
import type { GrantId } from "../rules/Id.ts"
import { day, Instant, later } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import { Digest } from "../rules/Secret.ts"
import { Client, isKnown, isPublic, Origin, serving } from "./Client.ts"
import { clientKey } from "./ClientIdentifier.ts"
import { securityProfile, stricter } from "./Profile.ts"

/**
 * A client that has no record yet: what it says of itself, as it was read where its identifier leads. A request carries it
 * under seal, and the first person who lets it in makes a record of it.
 */
export const Brought = Schema.Struct({
  ...Struct.pick(Client.fields, ["about", "credential", "redirectUris", "grantTypes", "scope", "members"]),
  ...Struct.omit(Origin.fields, ["since", "asSealed"]),
  /** Of one that registered: when, and the digest of its registration access token. */
  createdAt: Schema.optionalKey(Instant),
  registration: Schema.optionalKey(Digest)
})
export type Brought = typeof Brought.Type

/** No token has it, so RFC 7592 changes nothing that is written elsewhere. */
const noToken = Digest.make("A".repeat(43))

/** The clocks of two processes that let a client in at once are no further apart. */
const skew = 5000

/** Beyond its freshness, a copy serves what people granted already, so that no client depends on its host's good days. */
export const servesStaleFor = 7 * day

/**
 * Longer than any of its grants lasts unused: a client that brings its identifier goes with the last of them. One may be
 * refreshed while a document is fresh, and then while it is away, before the record is written again.
 */
const goesAt = ({ refreshIdleTtl, unusedClientTtl }: Policy, now: Instant, until = now, away = 0): Instant => {
  const unwritten = day + away
  const unused = later(now, Math.max(refreshIdleTtl, unusedClientTtl) + unwritten)
  return until > unused ? until : unused
}

/** As a client like any other. `workspaceGrant` is drawn: a grant of its own that it may come to have. */
export const clientOf = (
  { createdAt, document, identifier, registration = noToken, until, ...said }: Brought,
  workspaceGrant: GrantId,
  now: Instant,
  policy: Policy
): Client => ({
  ...said,
  id: clientKey(identifier),
  registration,
  workspaceGrant,
  createdAt: createdAt ?? now,
  madeBy: "itself",
  provenAt: null,
  expiresAt: goesAt(policy, now, until, document && servesStaleFor),
  disabled: false,
  origin: { identifier, since: later(now, -skew), ...(document && { document }), ...(until !== undefined && { until }) }
})

/** What a client brought, read back from it; `undefined` for one that was registered. */
export const broughtAs = ({ origin, ...client }: Client): Brought | undefined => {
  if (origin === undefined) return undefined
  const { asSealed: _asSealed, since: _since, ...from } = origin
  const { about, createdAt, credential, grantTypes, members, redirectUris, registration, scope } = client
  const said = { about, createdAt, credential, grantTypes, redirectUris, registration, scope }
  return { ...said, ...(members && { members }), ...from }
}

/** Whether what was read is newer than what the record was written from. */
export const isNewer = ({ document }: Brought, { origin }: Client): boolean =>
  document !== undefined && origin?.document !== undefined && document.fetchedAt > origin.document.fetchedAt

/** The profile of a client stays: a document may ask for a stricter one, and an owner alone takes it away. */
const heldTo = (stored: Client, fresh: Client): Client => {
  const before = securityProfile.of(stored)
  if (before === undefined) return fresh
  const profile = stricter(before, securityProfile.of(fresh) ?? "standard")
  return { ...fresh, members: { ...fresh.members, [securityProfile.name]: profile } }
}

/** Whether less is asked of the bearer of a token of the client than was asked before. */
const asksLess = (fresh: Client, stored: Client): boolean => isPublic(fresh) && !isPublic(stored)

/**
 * The record, brought up to date. Of a document that asks for less proof than before, what was granted against more ends:
 * the holder of a refresh token could use it otherwise.
 */
export const renewed = (stored: Client, brought: Brought, now: Instant, policy: Policy): Client => {
  const fresh = clientOf(brought, stored.workspaceGrant, now, policy)
  const { origin } = fresh
  if (origin === undefined || stored.origin === undefined) return stored
  // Its time was over, so what comes now is another client.
  if (!isKnown(stored, now)) return { ...fresh, disabled: stored.disabled }
  const { accessTokenFormat, createdAt, disabled, provenAt, serves } = stored
  const since = asksLess(fresh, stored) ? now : stored.origin.since
  const held = heldTo(stored, fresh)
  return {
    // An owner lets no client exchange that proves nothing.
    ...(serves === undefined || isPublic(fresh) ? held : serving(held, serves)),
    createdAt,
    provenAt,
    disabled,
    expiresAt: disabled ? null : fresh.expiresAt,
    ...(accessTokenFormat && { accessTokenFormat }),
    origin: { ...origin, since }
  }
}
