import { describe, expect, test } from "bun:test"
import { LatelyRead, readOf } from "../../adapters/records/ParseCache.ts"

/** As a store hands it out: a string of its own each time. */
const textOf = (body: unknown) => Buffer.from(JSON.stringify(body)).toString()

describe("what was made of a body", () => {
  test("is at hand while the body's text is the same", () => {
    const lately = new LatelyRead(readOf)
    const first = lately.readingOf("a", textOf({ n: 1 }))
    expect(first?.made).toBeUndefined()
    if (first !== undefined) first.made = "one"
    expect(lately.readingOf("a", textOf({ n: 1 }))?.made).toBe("one")
  })

  test("is forgotten when its text is another, for good", () => {
    const lately = new LatelyRead(readOf)
    const readings = [1, 2, 1].map((n) => lately.readingOf("a", textOf({ n })))
    expect(new Set(readings).size).toBe(3)
  })

  test("belongs to its id alone", () => {
    const lately = new LatelyRead(readOf)
    const text = textOf({ n: 1 })
    expect(lately.readingOf("b", text)).not.toBe(lately.readingOf("a", text))
    expect(lately.readingOf("a", text)).toBe(lately.readingOf("a", text))
  })

  test("is what was read last of its id, whatever the text", () => {
    const lately = new LatelyRead(readOf)
    expect(lately.last("a")).toBeUndefined()
    lately.readingOf("a", textOf(1))
    const second = lately.readingOf("a", textOf(2))
    expect(second).toBeDefined()
    expect(lately.last("a")).toBe(second)
  })

  test("is not kept where the body is long", () => {
    expect(new LatelyRead(readOf).readingOf("a", textOf("x".repeat(2000)))).toBeUndefined()
  })

  test("is kept for no more than so many ids, those that were read last", () => {
    const lately = new LatelyRead(readOf)
    const readings = Array.from({ length: 40_000 }, (_, n) => lately.readingOf(`${n}`, textOf(n)))
    for (let n = 40_000 - 16_384; n < 40_000; n++) expect(lately.readingOf(`${n}`, textOf(n))).toBe(readings[n])
    expect(lately.readingOf("0", textOf(0))).not.toBe(readings[0])
  })
})
