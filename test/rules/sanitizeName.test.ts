import { describe, expect, test } from "bun:test"
import { sanitizeName, spellOut } from "../../core/rules/sanitizeName.ts"
import { pick, seeded } from "../pages/seeded.ts"

type Range = readonly [low: number, high: number]

describe("sanitizeName", () => {
  test("keeps names of every script, and emoji", () => {
    for (const name of [
      "Claude",
      "Ünïcode & Söhne",
      "שלום",
      "محمد",
      "日本語アプリ",
      "👩‍🚀 Rocket ❤️",
      "नमस्ते",
      "می‌خواهم",
      "a/b"
    ]) {
      expect(sanitizeName(name, 60)).toBe(name)
    }
  })

  test("takes out what steers or hides text", () => {
    expect(sanitizeName("abc\u202edef\u2066g\u200fh", 60)).toBe("abc def g h")
    expect(sanitizeName("Northwind\u200b Admin\u00ad\ufeff\u{e0041}", 60)).toBe("Northwind Admin")
    expect(sanitizeName("a\0\u0007\u001b[31mb\u2028c\n\n d", 60)).toBe("a [31mb c d")
    expect(sanitizeName("a\ud800b", 60)).toBe("a b")
  })

  test("keeps no tower of accents", () => {
    expect(sanitizeName(`z${"\u0301".repeat(50)}`, 60)?.length).toBeLessThanOrEqual(5)
  })

  test("is nothing where nothing is left to read", () => {
    for (const text of ["", "   ", "\u200b\u3164\u2800", "\u202e", "\u0301\u0301", "\u200d"]) {
      expect(sanitizeName(text, 60)).toBeUndefined()
    }
  })

  test("cuts between characters as people count them", () => {
    expect(sanitizeName("👩‍🚀".repeat(5), 3)).toBe("👩‍🚀👩‍🚀…")
    expect(sanitizeName("12345", 5)).toBe("12345")
    expect(sanitizeName("123456", 5)).toBe("1234…")
  })

  test("is bounded, printable and stable whatever it is given", () => {
    const seed = 7
    const random = seeded(seed)
    const ranges: readonly [Range, ...ReadonlyArray<Range>] = [
      [0, 0x7f],
      [0, 0x3000],
      [0xd700, 0xe100],
      [0xfe00, 0x10000],
      [0xe0000, 0xe0200],
      [0x1f300, 0x1fa00]
    ]
    for (let round = 0; round < 3000; round++) {
      const text = Array.from({ length: Math.floor(random() * 80) }, () => {
        const [low, high] = pick(random, ranges)
        return String.fromCodePoint(low + Math.floor(random() * (high - low)))
      }).join("")
      const once = sanitizeName(text, 20)
      if (once === undefined) continue
      const told = `seed ${seed}, round ${round}, ${JSON.stringify(text)}`
      expect([...new Intl.Segmenter("en").segment(once)].length, told).toBeLessThanOrEqual(20)
      expect(once, told).not.toMatch(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]/u)
    }
  })
})

test("spellOut shows what cannot be seen", () => {
  expect(spellOut("https://a.example/\u202ecb\0", 300)).toBe("https://a.example/\\u{202e}cb\\u{0}")
  expect(spellOut("x".repeat(400), 300)).toHaveLength(301)
})
