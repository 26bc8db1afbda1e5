import { describe, expect, test } from "bun:test"
import { ParseCache } from "../../adapters/records/ParseCache.ts"
import type { Json } from "../../core/ports/Storage.ts"

/** As a store hands it out: a string of its own each time. */
const textOf = (body: unknown) => Buffer.from(JSON.stringify(body)).toString()

const given = () => {
  let parsed = 0
  const cache = new ParseCache((text): Json => {
    parsed++
    return JSON.parse(text)
  })
  const key = (id: string, workspace = "w") => ({ workspace, kind: "grant", id }) as const
  const read = (id: string, body: unknown, version = 1) => cache.bodyOf(key(id), version, null, textOf(body))
  return { cache, key, read, parsed: () => parsed }
}

describe("a body that was parsed", () => {
  test("is the same object while its text is the same, and no reader can change it for others", () => {
    const { parsed, read } = given()
    const first = read("a", { n: 1, deep: [{ n: 2 }] })
    expect(read("a", { n: 1, deep: [{ n: 2 }] }, 2)).toBe(first)
    expect(parsed()).toBe(1)
    expect(() => Object.assign(first ?? {}, { n: 3 })).toThrow()
    expect(first).toEqual({ n: 1, deep: [{ n: 2 }] })
  })

  test("is parsed anew when its text is another", () => {
    const { parsed, read } = given()
    expect([1, 2, 1].map((n) => read("a", { n }))).toEqual([{ n: 1 }, { n: 2 }, { n: 1 }])
    expect(parsed()).toBe(3)
  })

  test("is known by its workspace, id, version and expiry", () => {
    const { cache, key, read } = given()
    expect(cache.last(key("a"))).toBeUndefined()
    read("a", 1)
    read("a", 1, 2)
    expect(cache.last(key("a"))).toMatchObject({ version: 2, expiresAt: null, body: 1 })
    expect(cache.last(key("a", "elsewhere"))).toBeUndefined()
    cache.forget(key("a"))
    expect(cache.last(key("a"))).toBeUndefined()
  })

  test("is not kept where it is long", () => {
    const { cache, key, read } = given()
    read("a", "x".repeat(2000))
    expect(cache.last(key("a"))).toBeUndefined()
  })

  test("is kept for so many ids, those that were read last", () => {
    const { cache, key, read } = given()
    for (let n = 0; n < 40_000; n++) read(`${n}`, n)
    for (let n = 40_000 - 16_384; n < 40_000; n++) expect(cache.last(key(`${n}`))?.body).toBe(n)
    expect(cache.last(key("0"))).toBeUndefined()
  })
})
