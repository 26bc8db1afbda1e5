import { hmac } from "@noble/hashes/hmac.js"
import { sha256 } from "@noble/hashes/sha2.js"

const length = 32

// Making a hash object costs more than hashing a short text, so there is one of each to work with, started anew for
// every use. Nothing here waits, so nobody ever sees it half used; what is handed out is a copy.
const start = sha256.create()
const work = sha256.create()
const result = new Uint8Array(new ArrayBuffer(length))

export const sha256Of = (data: Uint8Array): Uint8Array => {
  start._cloneInto(work)
  work.update(data)
  work.digestInto(result)
  return result.slice()
}

/** HMAC-SHA-256 under one key, prepared once. */
export type Mac = (data: Uint8Array) => Uint8Array

export const macUnder = (key: Uint8Array): Mac => {
  const prepared = hmac.create(sha256, key)
  const own = prepared.clone()
  return (data) => {
    prepared._cloneInto(own)
    own.update(data)
    own.digestInto(result)
    return result.slice()
  }
}
