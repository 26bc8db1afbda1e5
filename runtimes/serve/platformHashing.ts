import { type Crc32, crc32By } from "../../core/codec/Crc32.ts"
import { type Hashing, hashBy, libraryHashing, Mac } from "../../core/codec/Sha256.ts"

const blockLength = 64
const digestLength = 32
/** A key of ours is no longer. */
const longestKey = 32

interface Message {
  readonly bytes: Uint8Array<ArrayBuffer>
  /** Of the block, the words. */
  readonly block: Uint32Array
}

const longestKept = 256
const kept = new Map<number, Message>()

/** A block and so many bytes behind it. Nothing here waits, so all callers may use the same. */
const behindBlock = (length: number): Message => {
  const known = kept.get(length)
  if (known !== undefined) return known
  const bytes = new Uint8Array(blockLength + length)
  const made = { bytes, block: new Uint32Array(bytes.buffer, 0, blockLength / 4) }
  if (length <= longestKept) kept.set(length, made)
  return made
}

const digest = new Uint8Array(digestLength)

const innerPad = 0x36363636
const outerPad = 0x5c5c5c5c

/**
 * RFC 2104 by Bun's hash alone: collecting an object of Bun's for every MAC costs more than it gains. The key stands in
 * the object itself, as words: every workspace has keys, and an array would be more memory to fetch for each.
 */
class BunMac extends Mac {
  private readonly word0: number
  private readonly word1: number
  private readonly word2: number
  private readonly word3: number
  private readonly word4: number
  private readonly word5: number
  private readonly word6: number
  private readonly word7: number

  constructor(key: Uint8Array) {
    super()
    const bytes = new Uint8Array(longestKey)
    bytes.set(key)
    const words = new Int32Array(bytes.buffer)
    const wordAt = (n: number): number => words[n] ?? 0
    this.word0 = wordAt(0)
    this.word1 = wordAt(1)
    this.word2 = wordAt(2)
    this.word3 = wordAt(3)
    this.word4 = wordAt(4)
    this.word5 = wordAt(5)
    this.word6 = wordAt(6)
    this.word7 = wordAt(7)
  }

  protected digest(data: Uint8Array): Uint8Array {
    this.hash(innerPad, data)
    this.hash(outerPad, digest)
    return digest
  }

  private hash(pad: number, data: Uint8Array): void {
    const { block, bytes } = behindBlock(data.length)
    block[0] = this.word0 ^ pad
    block[1] = this.word1 ^ pad
    block[2] = this.word2 ^ pad
    block[3] = this.word3 ^ pad
    block[4] = this.word4 ^ pad
    block[5] = this.word5 ^ pad
    block[6] = this.word6 ^ pad
    block[7] = this.word7 ^ pad
    for (let n = longestKey / 4; n < blockLength / 4; n++) block[n] = pad
    bytes.set(data, blockLength)
    Bun.SHA256.hash(bytes, digest)
  }
}

const macUnder: Hashing["macUnder"] = (key) =>
  key.length > longestKey ? libraryHashing.macUnder(key) : new BunMac(key)

export const bunHashing: Hashing = {
  hash: (data, into) => {
    // Nothing that is hashed here lies in memory that threads share.
    Bun.SHA256.hash(data as Uint8Array<ArrayBuffer>, into)
  },
  macUnder
}

export const bunCrc32: Crc32 = (text) => Bun.hash.crc32(text)

// A fifth of the library's time, and all of it: where only some of the hashing goes by the library, it stays a stranger
// to the compiler and takes ten times as long. Node's own takes longer than the library.
if ("Bun" in globalThis) {
  hashBy(bunHashing)
  crc32By(bunCrc32)
}
