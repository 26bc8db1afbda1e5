import { Result } from "effect"
import { hexOf } from "../codec/Base64Url.ts"
import { macLength } from "../codec/Sha256.ts"
import { holdsAt, keyIdLength, type Place, type Sealer, type SealKey, type SealPurpose } from "./KeyRing.ts"

/*
 * What the server gives away and takes back unread: version, key id, a body, and a MAC over these, so that nothing that
 * was never given out is believed or looked for. Tokens have the same head and a reader of their own, for speed.
 */

const keyAt = 1
const bodyAt = keyAt + keyIdLength

/** How long the whole is around a body of so many bytes. */
export const envelopeLength = (body: number): number => bodyAt + body + macLength

export const sealEnvelope = (
  sealer: Sealer,
  place: Place,
  purpose: SealPurpose,
  version: number,
  ...body: ReadonlyArray<Uint8Array>
): Uint8Array => {
  const bytes = new Uint8Array(envelopeLength(body.reduce((sum, part) => sum + part.length, 0)))
  bytes[0] = version
  bytes.set(sealer.first.idBytes, keyAt)
  let at = bodyAt
  for (const part of body) {
    bytes.set(part, at)
    at += part.length
  }
  sealer.under(sealer.first, place, purpose).seal(bytes)
  return bytes
}

/** Under which key it says that it was sealed: the key's id. */
export const keyIdIn = (bytes: Uint8Array): string => hexOf(bytes, keyAt, bodyAt)

export interface Opened {
  readonly version: number
  readonly key: SealKey
  readonly body: Uint8Array
}

export const openEnvelope = (
  sealer: Sealer,
  place: Place,
  purpose: SealPurpose,
  versions: ReadonlyArray<number>,
  bytes: Uint8Array | undefined
): Result.Result<Opened, "malformed" | "unknown_key" | "forged"> => {
  if (bytes === undefined || bytes.length < envelopeLength(0)) return Result.fail("malformed")
  const [version = 0] = bytes
  if (!versions.includes(version)) return Result.fail("malformed")
  const key = sealer.find(keyIdIn(bytes))
  if (key === undefined) return Result.fail("unknown_key")
  if (!holdsAt(sealer, key, place, purpose, bytes)) return Result.fail("forged")
  return Result.succeed({ version, key, body: bytes.subarray(bodyAt, bytes.length - macLength) })
}
