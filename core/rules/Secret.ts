import { Redacted, Schema } from "effect"
import { Base64Url } from "effect/encoding"
import { sha256Of } from "./Sha256.ts"

/** SHA-256 of a secret's text, as base64url: all that is kept of it. */
export const Digest = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{43}$/)).pipe(Schema.brand("Digest"))
export type Digest = typeof Digest.Type

const utf8 = new TextEncoder()

/** Secrets here are random and long, so one hash is enough; passwords are another matter. */
export const digestOf = (text: string): Digest =>
  // 32 bytes are 43 characters of base64url.
  Base64Url.encode(sha256Of(utf8.encode(text))) as Digest

/** Digests all have one length, so the time taken says nothing about where two of them differ. */
export const sameDigest = (a: string, b: string): boolean => {
  let difference = a.length ^ b.length
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i)
  return difference === 0
}

/** Freshly drawn: the text is handed over once, the digest is all that is kept. */
export interface Credential {
  readonly text: Redacted.Redacted<string>
  readonly digest: Digest
}

/** A credential's text is its prefix, by which people and scanners know it, and the bytes as base64url. */
export const credential = (prefix: string, bytes: Uint8Array): Credential => {
  const text = withChecksum(prefix + Base64Url.encode(bytes))
  return { text: Redacted.make(text, { label: "credential" }), digest: digestOf(text) }
}

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  return crc
})

/** CRC-32 (IEEE 802.3) of ASCII text. */
const crc32 = (text: string, end: number): number => {
  let crc = 0xffffffff
  for (let i = 0; i < end; i++) crc = (crc >>> 8) ^ (crcTable[(crc ^ text.charCodeAt(i)) & 0xff] ?? 0)
  return (crc ^ 0xffffffff) >>> 0
}

export const checksumLength = 6

/** The CRC-32 as six digits of base 62: a scanner can tell a real secret from a lookalike without asking us. */
const checksum = (text: string, end: number): string => {
  let rest = crc32(text, end)
  let digits = ""
  for (let i = 0; i < checksumLength; i++) {
    digits = base62.charAt(rest % 62) + digits
    rest = Math.floor(rest / 62)
  }
  return digits
}

export const withChecksum = (text: string): string => text + checksum(text, text.length)

/** Whether the last six characters fit those before them. It finds cut and mistyped texts, not forged ones. */
export const hasValidChecksum = (text: string): boolean => {
  const end = text.length - checksumLength
  return end > 0 && text.endsWith(checksum(text, end))
}
