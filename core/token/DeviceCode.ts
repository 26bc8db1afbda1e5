import { Result } from "effect"
import { base64Url, readBase64Url, textLength } from "../codec/Base64Url.ts"
import { type AuthorizationRequestId, authorizationRequestIdOf, idBytes, idLength } from "../rules/Id.ts"
import { checkedText, checksumLength, type Digest, digestOf, hasValidChecksum, sameDigest } from "../rules/Secret.ts"
import type { UserCode } from "../rules/UserCode.ts"
import { envelopeLength, openEnvelope, sealEnvelope } from "./Envelope.ts"
import type { Place, Sealer, SealKey } from "./KeyRing.ts"
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
const sealedLength = textLength(envelopeLength(idLength + deviceSecretLength))
const wholeLength = prefix.length + sealedLength + checksumLength

/** The record's id and the secret: what was never given out does not reach the store. */
export const sealDeviceCode = (
  sealer: Sealer,
  place: Place,
  id: AuthorizationRequestId,
  secret: Uint8Array
): { readonly text: string; readonly secret: Digest } => ({
  text: checkedText(prefix, sealEnvelope(sealer, place, "device", version, idBytes(id), secret)),
  secret: digestOf(base64Url(secret))
})

export const openDeviceCode = (sealer: Sealer, place: Place, text: string): Result.Result<DeviceCode, TokenFault> => {
  if (text.length !== wholeLength || !text.startsWith(prefix) || !hasValidChecksum(text))
    return Result.fail("malformed")
  const bytes = readBase64Url(text.slice(0, -checksumLength), prefix.length)
  return Result.map(openEnvelope(sealer, place, "device", [version], bytes), ({ body }) => ({
    id: authorizationRequestIdOf(body.subarray(0, idLength)),
    secret: digestOf(base64Url(body.subarray(idLength)))
  }))
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
