import { expect, test } from "bun:test"
import { AnswerCache } from "../../runtimes/guard/AnswerCache.ts"
import type { Caller } from "../../runtimes/guard.ts"

const caller = (expiresAt: number | null): Caller => ({
  _tag: "ApiKey",
  issuer: "https://auth.example",
  grant: "g",
  scope: [],
  resources: null,
  expiresAt
})

const make = () => new AnswerCache({ ttl: 1000, negativeTtl: 100, maxEntries: 2 })

test("an answer is kept until its token ends, where that is sooner", () => {
  const cache = make()
  cache.keep("a", { caller: caller(500), implied: [], binding: null, maxAge: undefined }, 0, 0)
  expect(cache.get("a", 499)?.caller?.expiresAt).toBe(500)
  expect(cache.get("a", 500)).toBeUndefined()
  expect(cache.size).toBe(0)
})

test("an answer that took long is believed for what is left, and not kept where nothing is", () => {
  const cache = make()
  cache.keep("a", { caller: caller(null), implied: [], binding: null, maxAge: undefined }, 0, 900)
  expect(cache.get("a", 999)).toBeDefined()
  expect(cache.get("a", 1000)).toBeUndefined()
  cache.keep("b", { caller: caller(null), implied: [], binding: null, maxAge: undefined }, 0, 1000)
  cache.keep("c", { caller: undefined, implied: [], binding: null, maxAge: undefined }, 0, 100)
  cache.keep("d", { caller: caller(null), implied: [], binding: null, maxAge: 0 }, 0, 0)
  expect(cache.size).toBe(0)
})

test("a later answer takes the place of an earlier one, whatever either says", () => {
  const cache = make()
  cache.keep("a", { caller: caller(null), implied: [], binding: null, maxAge: undefined }, 0, 0)
  cache.keep("a", { caller: undefined, implied: [], binding: null, maxAge: undefined }, 10, 10)
  expect(cache.get("a", 20)).toMatchObject({ caller: undefined, until: 110 })
  expect(cache.size).toBe(1)
})

test("an answer is not believed for longer where the clock was set back", () => {
  const cache = make()
  cache.keep("a", { caller: caller(null), implied: [], binding: null, maxAge: undefined }, 5000, 5200)
  cache.keep("b", { caller: undefined, implied: [], binding: null, maxAge: undefined }, 5000, 5000)
  expect(cache.get("a", 5199)).toBeUndefined()
  expect(cache.get("a", 5200)).toBeUndefined()
  expect(cache.get("b", 4999)).toBeUndefined()
  cache.keep("c", { caller: caller(null), implied: [], binding: null, maxAge: undefined }, 5000, 4999)
  expect(cache.size).toBe(0)
})

test("no more are kept than there is room for, of good and of bad ones each", () => {
  const cache = make()
  for (const name of ["a", "b", "c", "d"]) {
    cache.keep(name, { caller: caller(null), implied: [], binding: null, maxAge: undefined }, 0, 0)
    cache.keep(`not ${name}`, { caller: undefined, implied: [], binding: null, maxAge: undefined }, 0, 0)
  }
  expect(cache.size).toBe(4)
})
