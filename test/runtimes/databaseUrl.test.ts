import { describe, expect, test } from "bun:test"
import { Result } from "effect"
import { parseRedisUrl } from "../../adapters/redis/RedisUrl.ts"
import { readStoreUrl } from "../../adapters/stores.ts"

const told = (url: string): string => Result.getOrThrow(readStoreUrl(url)).described

describe("a database is told by its address", () => {
  test.each([
    ["sqlite:./data/t.db", "SQLite in ./data/t.db"],
    ["postgres://u:sesame@db.example:6432/tessera?sslmode=require", "PostgreSQL at postgres://db.example:6432/tessera"],
    ["postgresql://u:sesame@[::1]/t", "PostgreSQL at postgresql://[::1]/t"],
    ["postgres:///t?host=/run/postgresql", "PostgreSQL at postgres:///t"],
    ["redis://:sesame@h:6380/2", "Redis at redis://h:6380/2"],
    ["redis+cluster://u:sesame@a:1,b:2", "Redis at redis+cluster://a:1,b:2"],
    ["redis+sentinel://a,b/name/1?sentinel_password=sesame", "Redis at redis+sentinel://a,b/name/1"]
  ])("%s", (url, address) => expect(told(url)).toBe(address))

  test.each([
    "postgres://u:sesame?1@h/d",
    "postgres://u:sesame#1@h/d",
    "postgres://u:sesame/1@h/d",
    "postgres://u:1@sesame@h/d",
    "postgres://u:sesame",
    "postgres:u:sesame@h",
    "redis://:sesame#1@h",
    "redis://:sesame?1@h",
    "redis+sentinel://a/name?sentinel_password=1@sesame"
  ])("and by its kind alone, or is refused, where a piece of a password may stand in it: %s", (url) => {
    const read = readStoreUrl(url)
    const said = Result.isSuccess(read) ? read.success.described : read.failure
    expect(said).not.toContain("sesame")
    if (Result.isSuccess(read)) expect(said).toEndWith("://…")
  })
})

test("two servers are two places, also where their URLs differ by a parameter alone", () => {
  const placeOf = (url: string) => Result.getOrThrow(readStoreUrl(url)).location
  expect(placeOf("postgres:///t?host=/run/one")).not.toBe(placeOf("postgres:///t?host=/run/two"))
  expect(placeOf("postgres://h/t?schema=one")).not.toBe(placeOf("postgres://h/t?schema=two"))
  expect(placeOf("redis://h?prefix=one")).not.toBe(placeOf("redis://h?prefix=two"))
  expect(placeOf("postgres:///t?host=/run/one&pool_size=4")).toBe(placeOf("postgres:///t?host=/run/one&prepare=false"))
})

test("SQLite's own names, for what has no file and for URLs of files, are none of ours", () => {
  expect(readStoreUrl("sqlite::memory:")).toMatchObject({ _tag: "Failure" })
  expect(readStoreUrl("sqlite:file:data/tessera.db")).toMatchObject({ _tag: "Failure" })
  expect(readStoreUrl("memory:")).toMatchObject({ _tag: "Success" })
})

describe("options stand in the URL", () => {
  test.each([
    "postgres://h/d?pool_size=4&prepare=false&by_workspace=true&schema=oauth_2&migrations=check&sslmode=disable",
    "redis://h?prefix=acme-1&eviction=allow",
    "redis+sentinel://h/main?prefix=acme-1&sentinel_username=u"
  ])("%s", (url) => expect(Result.isSuccess(readStoreUrl(url))).toBe(true))

  test.each([
    ["memory:?poolsize=1", "poolsize"],
    ["sqlite:t.db?poolsize=1", "poolsize"],
    ["postgres://h/d?poolsize=1", "poolsize"],
    ["redis://h?poolsize=1", "poolsize"],
    ["redis://h?sentinel_username=u", "sentinel_username"],
    ["postgres://h/d?pool_size=0", "pool_size"],
    ["postgres://h/d?prepare=yes", "prepare"],
    ["postgres://h/d?by_workspace=1", "by_workspace"],
    ["postgres://h/d?migrations=later", "migrations"],
    ['postgres://h/d?schema=te"ssera', "schema"],
    ["postgres://h/d?schema=a&schema=b", "schema"],
    ["redis://h?prefix=a%20b", "prefix"],
    ["redis://h?eviction=lru", "eviction"],
    ["redis://h?wait=2", "wait"]
  ])("and a wrong one is named: %s", (url, name) => {
    expect(Result.getOrThrow(Result.flip(readStoreUrl(url)))).toContain(` ${name}`)
  })
})

test("a Redis that evicts is taken where the URL says so, and a Cluster cannot wait for a replica", () => {
  const settings = (url: string) => Result.getOrThrow(parseRedisUrl(url)).settings
  expect(settings("redis://h?eviction=allow&wait=1")).toEqual({ allowEviction: true, waitForReplica: true })
  expect(settings("redis://h?eviction=refuse&wait=0")).toEqual({ allowEviction: false, waitForReplica: false })
  expect(settings("redis://h")).toEqual({})
  expect(Result.isFailure(parseRedisUrl("redis+cluster://a:1?wait=1"))).toBe(true)
  expect(Result.isSuccess(parseRedisUrl("redis+cluster://a:1?wait=0"))).toBe(true)
})
