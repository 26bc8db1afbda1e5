import { describe, expect, test } from "bun:test"
import { createHash, createHmac } from "node:crypto"
import { endsIn, macUnder, sha256Of } from "../../core/codec/Sha256.ts"
import { readInstant, readNumber, writeNumber } from "../../core/token/bytes.ts"

const bytes = (...values: ReadonlyArray<number>) => new Uint8Array(values)

describe("numbers in bytes", () => {
  test("stand with the highest first, and touch nothing beside them", () => {
    const room = new Uint8Array(6).fill(9)
    writeNumber(room, 1, 4, 0x0102_03ff)
    expect(room).toEqual(bytes(9, 1, 2, 3, 255, 9))
    expect([readNumber(room, 1, 4), readNumber(room, 2, 2), readNumber(room, 0, 0)]).toEqual([0x0102_03ff, 0x0203, 0])
    expect(Number(readInstant(bytes(255, 255, 255, 255, 255, 255), 0))).toBe(2 ** 48 - 1)
  })
})

describe("an ending", () => {
  test("fits when every byte does, and never when it is longer than the whole", () => {
    expect(endsIn(bytes(1, 2, 3), bytes(2, 3))).toBe(true)
    expect(endsIn(bytes(1, 2, 3), bytes(1, 2, 3))).toBe(true)
    expect(endsIn(bytes(1, 2, 3), bytes())).toBe(true)
    for (const other of [bytes(2, 2), bytes(3, 3), bytes(1, 2), bytes(0, 1, 2, 3)]) {
      expect(endsIn(bytes(1, 2, 3), other)).toBe(false)
    }
    expect(endsIn(bytes(), bytes(0))).toBe(false)
  })
})

describe("hashes and MACs", () => {
  const texts = ["", "abc", "x".repeat(200)].map((text) => new TextEncoder().encode(text))

  test("are those of another library, also while others are held", () => {
    const held = texts.map(sha256Of)
    expect(held).toEqual(texts.map((text) => new Uint8Array(createHash("sha256").update(text).digest())))
    for (const key of [bytes(1), new Uint8Array(32).fill(7), new Uint8Array(100).fill(8)]) {
      const mac = macUnder(key)
      const macs = texts.map((text) => mac.of(text))
      expect(macs).toEqual(texts.map((text) => new Uint8Array(createHmac("sha256", key).update(text).digest())))
    }
  })

  test("of several keys do not get in each other's way", () => {
    const [one, two] = [macUnder(bytes(1)), macUnder(bytes(2))]
    const first = one.of(bytes(5))
    expect(two.of(bytes(5))).not.toEqual(first)
    expect(one.of(bytes(5))).toEqual(first)
  })

  test("are put behind what they are of, and hold for that alone", () => {
    const mac = macUnder(bytes(1))
    for (const text of texts) {
      const sealed = new Uint8Array([...text, ...new Uint8Array(32)])
      mac.seal(sealed)
      expect(sealed).toEqual(new Uint8Array([...text, ...mac.of(text)]))
      expect(mac.holds(sealed)).toBe(true)
      expect(macUnder(bytes(2)).holds(sealed)).toBe(false)
      for (let at = 0; at < sealed.length; at++) {
        expect(mac.holds(sealed.with(at, (sealed[at] ?? 0) ^ 1))).toBe(false)
      }
    }
    expect(mac.holds(new Uint8Array(31))).toBe(false)
  })
})
