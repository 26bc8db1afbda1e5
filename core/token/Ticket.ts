import { sha256 } from "@noble/hashes/sha2.js"
import { Result } from "effect"
import { Base64Url, Hex } from "effect/encoding"
import { type GrantId, grantIdBytes, grantIdOf, idLength } from "../rules/Id.ts"
import { hasPassed, type Instant } from "../rules/Instant.ts"
import { instantLength, readInstant, sameBytes, writeInstant } from "./bytes.ts"
import { keyIdLength, type Sealer, type SealKey } from "./KeyRing.ts"

/** What a consent page was drawn for: this session, this person, this very request. */
export interface TicketBinding {
  readonly session: string
  readonly user: string
  readonly request: string
}

const version = 1
const headLength = 1 + keyIdLength + idLength + instantLength
const macLength = 32
const utf8 = new TextEncoder()

const bindingDigest = (binding: TicketBinding): Uint8Array =>
  sha256(utf8.encode(JSON.stringify([binding.session, binding.user, binding.request])))

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
 * sealed together with everything that the person was shown the page for.
 */
export const sealTicket = (
  sealer: Sealer,
  workspace: string,
  grant: GrantId,
  expiresAt: Instant,
  binding: TicketBinding
): string => {
  const bytes = new Uint8Array(headLength + macLength)
  const view = new DataView(bytes.buffer)
  bytes[0] = version
  bytes.set(sealer.first.idBytes, 1)
  bytes.set(grantIdBytes(grant), 1 + keyIdLength)
  writeInstant(view, headLength - instantLength, expiresAt)
  bytes.set(macOf(sealer, sealer.first, workspace, bytes.subarray(0, headLength), binding), headLength)
  return Base64Url.encode(bytes)
}

export const openTicket = (
  sealer: Sealer,
  workspace: string,
  text: string,
  binding: TicketBinding,
  now: Instant
): Result.Result<GrantId, "ticket" | "expired"> => {
  const decoded = Base64Url.decode(text)
  if (Result.isFailure(decoded)) return Result.fail("ticket")
  const bytes = decoded.success
  if (bytes.length !== headLength + macLength || bytes[0] !== version) return Result.fail("ticket")
  const key = sealer.find(Hex.encode(bytes.subarray(1, 1 + keyIdLength)))
  if (key === undefined) return Result.fail("ticket")
  const head = bytes.subarray(0, headLength)
  const expected = macOf(sealer, key, workspace, head, binding)
  if (!sameBytes(expected, bytes.subarray(headLength))) return Result.fail("ticket")
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const expiresAt = readInstant(view, headLength - instantLength)
  return hasPassed(expiresAt, now)
    ? Result.fail("expired")
    : Result.succeed(grantIdOf(bytes.subarray(1 + keyIdLength, 1 + keyIdLength + idLength)))
}
