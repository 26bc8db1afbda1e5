import { describe, expect, test } from "bun:test"
import { Result } from "effect"
import { describeDatabase, parseDatabaseUrl } from "../../runtimes/server/StorageSettings.ts"

const told = (url: string): string => describeDatabase(Result.getOrThrow(parseDatabaseUrl(url)))

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
  ])("and by its kind alone where a piece of a password may stand in it: %s", (url) => {
    expect(told(url)).not.toContain("sesame")
    expect(told(url)).toEndWith("://…")
  })
})

test("SQLite's own name for what has no file is none of ours", () => {
  expect(parseDatabaseUrl("sqlite::memory:")).toMatchObject({ _tag: "Failure" })
  expect(parseDatabaseUrl("memory:")).toMatchObject({ _tag: "Success" })
})
