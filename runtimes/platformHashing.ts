import { type Hashing, hashBy, libraryHashing, macBy } from "../core/rules/Sha256.ts"

const blockLength = 64
const digestLength = 32

const blockOf = (key: Uint8Array, pad: number): Uint8Array => {
  const block = new Uint8Array(blockLength).fill(pad)
  for (const [i, byte] of key.entries()) block[i] = byte ^ pad
  return block
}

const longestKept = 256
const kept = new Map<number, Uint8Array<ArrayBuffer>>()

/** An array to put a block and so many bytes into. Nothing here waits, so everybody may use the same. */
const behindBlock = (length: number): Uint8Array<ArrayBuffer> => {
  const bytes = kept.get(length) ?? new Uint8Array(blockLength + length)
  if (length <= longestKept) kept.set(length, bytes)
  return bytes
}

const digest = new Uint8Array(digestLength)

/** RFC 2104 by Bun's hash alone: collecting an object of Bun's for every MAC costs more than it gains. */
const macUnder: Hashing["macUnder"] = (key) => {
  if (key.length > blockLength) return libraryHashing.macUnder(key)
  const inner = blockOf(key, 0x36)
  const outer = blockOf(key, 0x5c)
  const hash = (block: Uint8Array, data: Uint8Array) => {
    const bytes = behindBlock(data.length)
    bytes.set(block)
    bytes.set(data, blockLength)
    Bun.SHA256.hash(bytes, digest)
  }
  return macBy((data) => {
    hash(inner, data)
    hash(outer, digest)
    return digest
  })
}

export const bunHashing: Hashing = {
  hash: (data, into) => {
    // Nothing that is hashed here lies in memory that threads share.
    Bun.SHA256.hash(data as Uint8Array<ArrayBuffer>, into)
  },
  macUnder
}

// A fifth of the library's time, and all of it: where only some of the hashing goes by the library, it stays a stranger
// to the compiler and takes ten times as long. Node's own takes longer than the library.
if ("Bun" in globalThis) hashBy(bunHashing)
