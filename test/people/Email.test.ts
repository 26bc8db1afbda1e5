import { describe, expect, test } from "bun:test"
import { emailLength, normaliseEmail } from "../../core/people/Account.ts"

const read = (text: string): string | undefined => normaliseEmail(text)

describe("an email", () => {
  test("is as long as mail can carry, and no longer", () => {
    const of = (length: number) => `${"a".repeat(length - "@b.example".length)}@b.example`
    expect(read(of(emailLength))).toBe(of(emailLength))
    expect(read(of(emailLength + 1))).toBeUndefined()
  })

  test("has one form, and to bring it there again changes nothing", () => {
    // Lower case takes the first apart, and leaves the marks in an order that NFKC does not have.
    expect(read("\u0130\u0327@b.example")).toBe("i\u0327\u0307@b.example")
    const odd: Array<string> = []
    for (let code = 0x21; code <= 0x1_ffff; code++) {
      const once = read(`a${String.fromCodePoint(code)}\u0327@b.example`)
      if (once !== undefined && read(once) !== once) odd.push(code.toString(16))
    }
    expect(odd).toEqual([])
  })

  test("has nothing in it that is not seen", () => {
    for (const unseen of ["\u200b", "\u00ad", "\u202e", "\u0000", "\ufe0f", "\u2060", "\u3164"]) {
      expect([unseen.codePointAt(0), read(`a${unseen}b@c.example`)]).toEqual([unseen.codePointAt(0), undefined])
    }
  })
})
