import { hmac } from "@noble/hashes/hmac.js"
import { sha256 } from "@noble/hashes/sha2.js"

/** Whether `bytes` ends in `end`, found in a time that says nothing about where they differ. */
export const endsIn = (bytes: Uint8Array, end: Uint8Array): boolean => {
  const start = bytes.length - end.length
  let difference = start < 0 ? 1 : 0
  for (let i = 0; i < end.length; i++) difference |= (bytes[start + i] ?? 0) ^ (end[i] ?? 0)
  return difference === 0
}

const length = 32

/** SHA-256 as a platform makes it. */
export interface Hashing {
  /** Writes the hash into 32 bytes. */
  readonly hash: (data: Uint8Array, into: Uint8Array<ArrayBuffer>) => void
  readonly macUnder: (key: Uint8Array) => Mac
}

const result = new Uint8Array(new ArrayBuffer(length))

const copyOf = (digest: Uint8Array): Uint8Array => {
  const copy = new Uint8Array(length)
  for (let i = 0; i < length; i++) copy[i] = digest[i] ?? 0
  return copy
}

export const sha256Of = (data: Uint8Array): Uint8Array => {
  hashing.hash(data, result)
  return copyOf(result)
}

export const macLength = length

const longestCopied = 128
const copies = new Map<number, Uint8Array>()

/** A part of an array is an object that costs more than copying a few bytes into one that is there already. */
const copyOfStart = (bytes: Uint8Array, end: number): Uint8Array => {
  if (end > longestCopied) return bytes.subarray(0, end)
  const copy = copies.get(end) ?? new Uint8Array(end)
  copies.set(end, copy)
  for (let i = 0; i < end; i++) copy[i] = bytes[i] ?? 0
  return copy
}

/** HMAC-SHA-256 under one key, prepared once: a workspace has several, so each is no more than what it knows. */
export abstract class Mac {
  /** What it gives back may be written over by the next call. */
  protected abstract digest(data: Uint8Array): Uint8Array

  of(data: Uint8Array): Uint8Array {
    return copyOf(this.digest(data))
  }

  /** Writes the MAC of everything before the last 32 bytes into those. */
  seal(bytes: Uint8Array): void {
    const start = bytes.length - length
    const made = this.digest(copyOfStart(bytes, start))
    for (let i = 0; i < length; i++) bytes[start + i] = made[i] ?? 0
  }

  /** Whether the last 32 bytes are the MAC of what stands before them, in a time that says nothing of where they differ. */
  holds(bytes: Uint8Array): boolean {
    const start = bytes.length - length
    return start >= 0 && endsIn(bytes, this.digest(copyOfStart(bytes, start)))
  }
}

// Making a hash object costs more than hashing a short text, so there is one of each to work with, started anew for
// every use. Nothing here waits, so no caller ever sees it half used; what is handed out is a copy.
const start = sha256.create()
const work = sha256.create()
const own = hmac.create(sha256, new Uint8Array(length))

class LibraryMac extends Mac {
  private readonly prepared: ReturnType<typeof hmac.create>

  constructor(key: Uint8Array) {
    super()
    this.prepared = hmac.create(sha256, key)
  }

  protected digest(data: Uint8Array): Uint8Array {
    this.prepared._cloneInto(own)
    own.update(data)
    own.digestInto(result)
    return result
  }
}

/** By the library, which every platform has. */
export const libraryHashing: Hashing = {
  hash: (data, into) => {
    start._cloneInto(work)
    work.update(data)
    work.digestInto(into)
  },
  macUnder: (key) => new LibraryMac(key)
}

let hashing = libraryHashing

/** Puts a platform's own hashing in the library's place, for the whole process. Both make the same of everything. */
export const hashBy = (platform: Hashing): void => {
  hashing = platform
}

export const macUnder = (key: Uint8Array): Mac => hashing.macUnder(key)
