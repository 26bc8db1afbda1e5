import { Redacted, Schema } from "effect"
import { base64Url, isBase64UrlOf, textLength, writeBase64Url } from "../codec/Base64Url.ts"
import { crc32Of } from "../codec/Crc32.ts"
import { sha256Of } from "../codec/Sha256.ts"

/** RFC 6750 §2.1, `b64token`: what an Authorization header can carry. */
export const isBearerToken = (text: string): boolean => /^[A-Za-z0-9._~+/-]+=*$/.test(text)

const initialLength = 16

export const initialTokenExpected = `at least ${initialLength} characters of base64 or its like (A-Z a-z 0-9 - . _ ~ + /)`

/** RFC 7591 §3: what an operator chose for registrants to show, so it must not be guessed. */
export const isInitialToken = (text: string): boolean => text.length >= initialLength && isBearerToken(text)

/** SHA-256 of a secret's text, as base64url: all that is kept of it. */
export const Digest = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{43}$/)).pipe(Schema.brand("Digest"))
export type Digest = typeof Digest.Type

const utf8 = new TextEncoder()

/** SHA-256 of a text. */
export const hashOf = (text: string): Uint8Array => sha256Of(utf8.encode(text))

/** Secrets here are random and long, so one hash is enough; passwords are another matter. */
export const digestOf = (text: string): Digest =>
  // 32 bytes are 43 characters of base64url.
  base64Url(hashOf(text)) as Digest

/** Whether a hash is the one that a digest tells, without making its text, which is for keeping. */
export const isDigestOf = (hash: Uint8Array, digest: string): boolean => isBase64UrlOf(hash, digest)

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
  const text = checkedText(prefix, bytes)
  return { text: Redacted.make(text, { label: "credential" }), digest: digestOf(text) }
}

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

export const checksumLength = 6

const ascii = new TextDecoder()

interface Writing {
  readonly text: Uint8Array<ArrayBuffer>
  /** Of the text, what the checksum is of. */
  readonly checked: Uint8Array<ArrayBuffer>
}

const longestKept = 256
const kept = new Map<number, Writing>()

/** Room for a text of this length and its checksum. Nothing here waits, so all callers may use the same. */
const writingOf = (length: number): Writing => {
  const known = kept.get(length)
  if (known !== undefined) return known
  const text = new Uint8Array(length + checksumLength)
  const made = { text, checked: text.subarray(0, length) }
  if (length <= longestKept) kept.set(length, made)
  return made
}

/**
 * A prefix and bytes as base64url, with their CRC-32 behind as six digits of base 62: a scanner can tell a real secret
 * from a lookalike without asking us.
 */
export const checkedText = (prefix: string, bytes: Uint8Array): string => {
  const { checked, text } = writingOf(prefix.length + textLength(bytes.length))
  for (let i = 0; i < prefix.length; i++) text[i] = prefix.charCodeAt(i)
  const end = writeBase64Url(bytes, text, prefix.length)
  let rest = crc32Of(checked)
  for (let i = text.length - 1; i >= end; i--) {
    text[i] = base62.charCodeAt(rest % 62)
    rest = Math.floor(rest / 62)
  }
  return ascii.decode(text)
}

/** Whether the last six characters fit those before them. It finds cut and mistyped texts, not forged ones. */
export const hasValidChecksum = (text: string): boolean => {
  const end = text.length - checksumLength
  if (end <= 0) return false
  let rest = crc32Of(text.slice(0, end))
  for (let i = text.length - 1; i >= end; i--) {
    if (text.charCodeAt(i) !== base62.charCodeAt(rest % 62)) return false
    rest = Math.floor(rest / 62)
  }
  return true
}
