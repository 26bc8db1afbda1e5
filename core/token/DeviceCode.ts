import { Result } from "effect"
import { base64Url, hexOf, readBase64Url, readBase64UrlInto, textLength } from "../codec/Base64Url.ts"
import { macLength } from "../codec/Sha256.ts"
import { type AuthorizationRequestId, authorizationRequestIdOf, idLength } from "../rules/Id.ts"
import { checkedText, checksumLength, type Digest, digestOf, hasValidChecksum, sameDigest } from "../rules/Secret.ts"
import type { UserCode } from "../rules/UserCode.ts"
import { holdsAt, keyIdLength, type Place, type Sealer, type SealKey } from "./KeyRing.ts"
import type { TokenFault } from "./Token.ts"

/** RFC 8628 §3.2: what a device polls with. `secret`: of its request, whose record has the digest alone. */
export interface DeviceCode {
  readonly id: AuthorizationRequestId
  readonly secret: Digest
}

export const deviceSecretLength = 32

/** RFC 8628 §3.3.1: in the address of the page that takes a code. */
export const userCodeParameter = "user_code"

const prefix = "tsr_dc_"
const version = 1
const at = { key: 1, id: 5, secret: 21 } as const
const headLength = 53
const sealedLength = textLength(headLength + macLength)
const wholeLength = prefix.length + sealedLength + checksumLength

const secretOf = (bytes: Uint8Array): Digest => digestOf(base64Url(bytes.subarray(at.secret, headLength)))

/**
 * Version, key id, the record's id, the secret, and a MAC over these: what was never given out does not reach the
 * store.
 */
export const sealDeviceCode = (
  sealer: Sealer,
  place: Place,
  id: AuthorizationRequestId,
  secret: Uint8Array
): { readonly text: string; readonly secret: Digest } => {
  const bytes = new Uint8Array(headLength + macLength)
  bytes[0] = version
  bytes.set(sealer.first.idBytes, at.key)
  readBase64UrlInto(id, 0, id.length, bytes, at.id)
  bytes.set(secret, at.secret)
  sealer.under(sealer.first, place, "device").seal(bytes)
  return { text: checkedText(prefix, bytes), secret: secretOf(bytes) }
}

export const openDeviceCode = (sealer: Sealer, place: Place, text: string): Result.Result<DeviceCode, TokenFault> => {
  if (text.length !== wholeLength || !text.startsWith(prefix) || !hasValidChecksum(text))
    return Result.fail("malformed")
  const bytes = readBase64Url(text.slice(0, -checksumLength), prefix.length)
  if (bytes === undefined || bytes[0] !== version) return Result.fail("malformed")
  const key = sealer.find(hexOf(bytes, at.key, at.key + keyIdLength))
  if (key === undefined) return Result.fail("unknown_key")
  if (!holdsAt(sealer, key, place, "device", bytes)) return Result.fail("forged")
  const id = authorizationRequestIdOf(bytes.slice(at.id, at.id + idLength))
  return Result.succeed({ id, secret: secretOf(bytes) })
}

const utf8 = new TextEncoder()

const idUnder = (sealer: Sealer, place: Place, code: UserCode, key: SealKey): AuthorizationRequestId =>
  authorizationRequestIdOf(sealer.mac(key, place, "user_code", utf8.encode(code)).slice(0, idLength))

/** The id of the record that a user code stands for: a copy of the store holds no code, nor what one can be tried at. */
export const idOfUserCode = (sealer: Sealer, place: Place, code: UserCode): AuthorizationRequestId =>
  idUnder(sealer, place, code, sealer.first)

/** The same under each key of the ring: the code may be older than the key that seals now. */
export const idsOfUserCode = (sealer: Sealer, place: Place, code: UserCode): ReadonlyArray<AuthorizationRequestId> =>
  sealer.keys.map((key) => idUnder(sealer, place, code, key))

export const isOfUserCode = (sealer: Sealer, place: Place, code: UserCode, id: AuthorizationRequestId): boolean =>
  idsOfUserCode(sealer, place, code).some((mac) => sameDigest(mac, id))
