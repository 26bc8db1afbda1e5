import { randomFillSync } from "node:crypto"
import { hmac } from "@noble/hashes/hmac.js"
import { sha256 } from "@noble/hashes/sha2.js"

/**
 * The same seal as Tessera's (`core/token/FORMAT.md`), written for itself: what it costs must not move when the
 * product's does. Everything that makes it cheap is allowed, everything that makes it safe to take apart is left out.
 */

const key = new Uint8Array(32).fill(7)
const keyId = sha256(key).slice(0, 4)

// One object of each kind to work with: the cheapest way to use the library.
const started = sha256.create()
const working = sha256.create()
const prepared = hmac.create(sha256, key)
const own = prepared.clone()
const digest = new Uint8Array(32)

const hashByLibrary = (text: string): Uint8Array => {
  started._cloneInto(working)
  working.update(Buffer.from(text, "latin1"))
  working.digestInto(digest)
  return digest
}

/** As Tessera's: Bun's own hash is quicker than the library, Node's is not. */
const hashByBun = (text: string): Uint8Array => {
  Bun.SHA256.hash(text, digest)
  return digest
}

const isBun = "Bun" in globalThis

export const sha256Of = isBun ? hashByBun : hashByLibrary

const macByLibrary = (data: Uint8Array): Uint8Array => {
  prepared._cloneInto(own)
  own.update(data)
  own.digestInto(digest)
  return digest
}

const inner = Buffer.alloc(64, 0x36)
const outer = Buffer.alloc(64 + 32, 0x5c)
for (const [i, byte] of key.entries()) {
  inner[i] = byte ^ 0x36
  outer[i] = byte ^ 0x5c
}
const scratch = new Map<number, Uint8Array<ArrayBuffer>>()

const macByBun = (data: Uint8Array): Uint8Array => {
  const bytes = scratch.get(data.length) ?? new Uint8Array(64 + data.length)
  scratch.set(data.length, bytes)
  bytes.set(inner)
  bytes.set(data, 64)
  Bun.SHA256.hash(bytes, digest)
  outer.set(digest, 64)
  Bun.SHA256.hash(outer, digest)
  return digest
}

const mac = isBun ? macByBun : macByLibrary

export const kinds = { code: 1, access: 2, refresh: 3 } as const
const prefixes = ["", "tsr_ac_", "tsr_at_", "tsr_rt_"] as const
const headLength = 32
const claimLength = 11
const claimHeadLength = 3
const macLength = 32
const checksumLength = 6

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  return crc
})

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

const checksum = (text: string): string => {
  let crc = 0xffffffff
  for (let i = 0; i < text.length; i++) crc = (crc >>> 8) ^ (crcTable[(crc ^ text.charCodeAt(i)) & 0xff] ?? 0)
  let rest = (crc ^ 0xffffffff) >>> 0
  let digits = ""
  for (let i = 0; i < checksumLength; i++) {
    digits = base62.charAt(rest % 62) + digits
    rest = Math.floor(rest / 62)
  }
  return digits
}

/** A sealed token for a grant's sixteen bytes. `scope` is the claim that a client's own access tokens carry. */
export const seal = (kind: 1 | 2 | 3, grant: Uint8Array, number: number, expiresAt: number, scope = ""): string => {
  const claimed = kind === kinds.access ? headLength + claimLength : headLength
  const bodyLength = scope === "" ? claimed : claimed + claimHeadLength + scope.length
  const bytes = Buffer.allocUnsafe(bodyLength + macLength)
  bytes[0] = 1
  bytes.set(keyId, 1)
  bytes[5] = kind
  bytes.set(grant, 6)
  bytes.writeUInt32BE(number, 22)
  bytes.writeUIntBE(expiresAt, 26, 6)
  if (kind === kinds.access) {
    bytes[headLength] = 1
    bytes.writeUInt16BE(8, headLength + 1)
    randomFillSync(bytes, headLength + 3, 8)
  }
  if (scope !== "") {
    bytes[claimed] = 2
    bytes.writeUInt16BE(scope.length, claimed + 1)
    bytes.write(scope, claimed + claimHeadLength, "latin1")
  }
  bytes.set(mac(bytes.subarray(0, bodyLength)), bodyLength)
  const text = prefixes[kind] + bytes.toString("base64url")
  return text + checksum(text)
}

export interface Opened {
  readonly grant: Uint8Array
  readonly number: number
  readonly expiresAt: number
}

const prefixLength = 7

/** What a seal says, if it holds. */
export const open = (text: string): Opened | undefined => {
  const bytes = Buffer.from(text.slice(prefixLength, -checksumLength), "base64url")
  const bodyLength = bytes.length - macLength
  const expected = mac(bytes.subarray(0, bodyLength))
  let difference = 0
  for (let i = 0; i < macLength; i++) difference |= (bytes[bodyLength + i] ?? 0) ^ (expected[i] ?? 0)
  if (difference !== 0) return undefined
  return { grant: bytes.subarray(6, 22), number: bytes.readUInt32BE(22), expiresAt: bytes.readUIntBE(26, 6) }
}
