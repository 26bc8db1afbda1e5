import { describe, expect, test } from "bun:test"
import { createHash, createHmac } from "node:crypto"
import { crc32 } from "node:zlib"
import { crc32ByTable } from "../../core/codec/Crc32.ts"
import { type Hashing, libraryHashing } from "../../core/codec/Sha256.ts"
import { bunCrc32, bunHashing } from "../../runtimes/serve/platformHashing.ts"

const bytesFrom = (first: number, length: number) => Uint8Array.from({ length }, (_, n) => (first + n * 7) & 255)

const candidates: ReadonlyArray<readonly [string, Hashing]> = [
  ["the library", libraryHashing],
  ["Bun", bunHashing]
]

describe.each(candidates)("SHA-256 by %s", (_, { hash, macUnder: mac }) => {
  test("is the standard one, for each length", () => {
    const into = new Uint8Array(32)
    for (let length = 0; length < 200; length++) {
      // A part of a larger array, as readers of a body cut them.
      const data = bytesFrom(length, length + 9).subarray(5, 5 + length)
      hash(data, into)
      expect([length, Buffer.from(into).toString("hex")]).toEqual([
        length,
        createHash("sha256").update(data).digest("hex")
      ])
    }
  })

  test("makes the standard MAC, for each length of a key and of what is told apart by it", () => {
    for (const keyLength of [1, 31, 32, 33, 63, 64, 65, 200]) {
      const key = bytesFrom(keyLength, keyLength)
      const made = mac(key)
      for (const length of [0, 1, 43, 55, 56, 63, 64, 65, 128, 129, 256, 257, 5000]) {
        const data = bytesFrom(length, length)
        const expected = createHmac("sha256", key).update(data).digest("hex")
        expect([keyLength, length, Buffer.from(made.of(data)).toString("hex")]).toEqual([keyLength, length, expected])
      }
    }
  })

  test("seals what it then finds whole, and finds every changed bit", () => {
    const made = mac(bytesFrom(1, 32))
    const other = mac(bytesFrom(2, 32))
    const sealed = new Uint8Array(43 + 32)
    sealed.set(bytesFrom(3, 43))
    made.seal(sealed)
    expect([made.holds(sealed), other.holds(sealed), made.holds(sealed)]).toEqual([true, false, true])
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const changed = sealed.slice()
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect([bit, made.holds(changed)]).toEqual([bit, false])
    }
    expect(made.holds(new Uint8Array(31))).toBe(false)
  })

  test("gives copies: what one gave is the same after the next", () => {
    const made = mac(bytesFrom(1, 32))
    const first = made.of(bytesFrom(1, 10))
    const text = Buffer.from(first).toString("hex")
    made.of(bytesFrom(2, 10))
    expect(Buffer.from(first).toString("hex")).toBe(text)
  })
})

test.each([
  ["the table", crc32ByTable],
  ["Bun", bunCrc32]
] as const)("CRC-32 by %s is the standard one, for each length of a text", (_, crc32Of) => {
  for (let length = 0; length < 200; length++) {
    const text = String.fromCharCode(...bytesFrom(length, length).map((byte) => byte & 127))
    expect([text, crc32Of(text), crc32Of(new TextEncoder().encode(text))]).toEqual([text, crc32(text), crc32(text)])
  }
})
