import { Result } from "effect"
import { base64Url, hexOf, readBase64Url } from "../codec/Base64Url.ts"
import { endsIn, macLength, sha256Of } from "../codec/Sha256.ts"
import { type GrantId, grantIdBytes, grantIdOf, idLength } from "../rules/Id.ts"
import { hasPassed, type Instant } from "../rules/Instant.ts"
import { type Digest, digestOf, sameDigest } from "../rules/Secret.ts"
import { instantLength, readInstant, writeNumber } from "../token/bytes.ts"
import { keyIdLength, type Sealer, type SealKey } from "../token/KeyRing.ts"

/** What a consent page was drawn for: this session, this person, this very request. */
export interface TicketBinding {
  readonly session: string
  readonly user: string
  readonly request: string
}

/** What a ticket brings back. */
export interface Ticket {
  /** The grant that approving makes. */
  readonly grant: GrantId
  /** Of the terms that the page showed. */
  readonly shown: Digest
}

const version = 2
const shownLength = 32
const at = {
  key: 1,
  grant: 1 + keyIdLength,
  expiry: 1 + keyIdLength + idLength,
  shown: 1 + keyIdLength + idLength + instantLength
} as const
const headLength = at.shown + shownLength
const utf8 = new TextEncoder()

const bindingDigest = (binding: TicketBinding): Uint8Array =>
  sha256Of(utf8.encode(JSON.stringify([binding.session, binding.user, binding.request])))

const macOf = (
  sealer: Sealer,
  key: SealKey,
  workspace: string,
  head: Uint8Array,
  binding: TicketBinding
): Uint8Array => {
  const data = new Uint8Array(headLength + macLength)
  data.set(head)
  data.set(bindingDigest(binding), headLength)
  return sealer.mac(key, workspace, "ticket", data)
}

/**
 * A consent page's ticket: the id of the grant that approving it makes, so that approving twice meets the first time,
 * sealed together with everything that the person was shown the page for. What the page said of the request can be known
 * only by reading it again, so the ticket brings the digest of that along: it opens, or not, before anything is read.
 */
export const sealTicket = (
  sealer: Sealer,
  workspace: string,
  grant: GrantId,
  expiresAt: Instant,
  binding: TicketBinding,
  terms: string
): string => {
  const head = new Uint8Array(headLength)
  head[0] = version
  head.set(sealer.first.idBytes, at.key)
  head.set(grantIdBytes(grant), at.grant)
  writeNumber(head, at.expiry, instantLength, expiresAt)
  head.set(sha256Of(utf8.encode(terms)), at.shown)
  const bytes = new Uint8Array(headLength + macLength)
  bytes.set(head)
  bytes.set(macOf(sealer, sealer.first, workspace, head, binding), headLength)
  return base64Url(bytes)
}

export const openTicket = (
  sealer: Sealer,
  workspace: string,
  text: string,
  binding: TicketBinding,
  now: Instant
): Result.Result<Ticket, "ticket" | "expired"> => {
  const bytes = readBase64Url(text)
  if (bytes === undefined || bytes.length !== headLength + macLength || bytes[0] !== version)
    return Result.fail("ticket")
  const key = sealer.find(hexOf(bytes, at.key, at.grant))
  if (key === undefined) return Result.fail("ticket")
  if (!endsIn(bytes, macOf(sealer, key, workspace, bytes.slice(0, headLength), binding))) return Result.fail("ticket")
  return hasPassed(readInstant(bytes, at.expiry), now)
    ? Result.fail("expired")
    : Result.succeed({
        grant: grantIdOf(bytes.slice(at.grant, at.expiry)),
        // 32 bytes are 43 characters of base64url.
        shown: base64Url(bytes.slice(at.shown, headLength)) as Digest
      })
}

/** Whether the page that the ticket came from said this. */
export const wasShown = (ticket: Ticket, terms: string): boolean => sameDigest(ticket.shown, digestOf(terms))
