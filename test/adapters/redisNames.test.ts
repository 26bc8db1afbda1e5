import { describe, expect, test } from "bun:test"
import { Result } from "effect"
import { afterId, bornAt, keyAt, lineOf, makeEntries, parseLine, pathOf } from "../../adapters/redis/RecordPlace.ts"
import { parseRedisUrl } from "../../adapters/redis/RedisUrl.ts"
import { type Draw, drawFrom } from "../../core/testing/Draw.ts"

const seed = Math.floor(Math.random() * 2 ** 31)

/** What is special in a path or a line, and the neighbours of the surrogates. */
const units = [
  0, 1, 2, 0x20, 0x25, 0x2f, 0x41, 0x7b, 0x7d, 0x7f, 0xff, 0x100, 0x800, 0x900, 0xd7fe, 0xd7ff, 0xd800, 0xdbff, 0xdc00,
  0xdfff, 0xe000, 0xffff
] as const

const odd = (draw: Draw): string =>
  String.fromCharCode(...Array.from({ length: draw.below(6) }, () => draw.oneOf(units)))

describe(`names in Redis (seed ${seed})`, () => {
  test("lines of an owner's list sort by bytes as their ids do by code unit, and give the ids back", () => {
    const draw = drawFrom(`${seed}/lines`)
    const order = (a: string, b: string) => Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b)))
    for (let round = 0; round < 5000; round++) {
      const [a, b] = [odd(draw), odd(draw)]
      const [lineA, lineB] = [lineOf(a, "zzz"), lineOf(b, "000")]
      if (a !== b) expect(order(lineA, lineB)).toBe(a < b ? -1 : 1)
      expect(Buffer.from(lineA).toString()).toBe(lineA)
      expect(parseLine(lineA)).toEqual({ text: lineA, id: a, entry: "zzz" })
      // What comes after an id leaves out the lines of that id and no other's.
      expect(order(lineB, afterId(a))).toBe(b > a ? 1 : -1)
    }
  })

  test("paths keep records apart and give their keys back, in ASCII and without braces", () => {
    const draw = drawFrom(`${seed}/paths`)
    const seen = new Map<string, string>()
    for (let round = 0; round < 5000; round++) {
      const key = { workspace: odd(draw), kind: draw.oneOf(["grant", "client"] as const), id: odd(draw) }
      const path = pathOf(key)
      expect(keyAt(path)).toEqual(key)
      expect(path).toMatch(/^[!-z|~]*$/)
      const name = JSON.stringify(key)
      expect(seen.get(path) ?? name).toBe(name)
      seen.set(path, name)
    }
  })

  test("entries of one process are never the same, and say when they were born", () => {
    const entryAt = makeEntries("p1")
    const entries = [0, 0, 1_764_000_000_000.5].map(entryAt)
    expect(new Set(entries).size).toBe(3)
    expect(entries.map(bornAt)).toEqual([0, 0, 1_764_000_000_000])
  })
})

describe("the URL of a Redis", () => {
  const nobody = { username: undefined, password: undefined }
  const single = { kind: "single", tls: false, login: nobody, address: { host: "h", port: 6379 }, database: 0 }
  const cluster = { kind: "cluster", tls: false, login: nobody, nodes: [{ host: "h", port: 6379 }] }
  const sentinel = {
    kind: "sentinel",
    tls: false,
    login: nobody,
    sentinelLogin: nobody,
    sentinels: [{ host: "h", port: 26379 }],
    name: "main",
    database: 0
  }

  test.each([
    ["redis://h", single],
    ["redis://h:1/", { ...single, address: { host: "h", port: 1 } }],
    ["redis://h/7", { ...single, database: 7 }],
    ["redis://[::1]:7", { ...single, address: { host: "::1", port: 7 } }],
    ["rediss://h", { ...single, tls: true }],
    ["redis://:pw@h", { ...single, login: { username: undefined, password: "pw" } }],
    ["redis://user@h", { ...single, login: { username: "user", password: undefined } }],
    ["redis://us%40er:p%3Aw:x@h", { ...single, login: { username: "us@er", password: "p:w:x" } }],
    ["redis+cluster://h", cluster],
    [
      "rediss+cluster://:pw@a:1,b:2,[::1]:3",
      {
        ...cluster,
        tls: true,
        login: { username: undefined, password: "pw" },
        nodes: [
          { host: "a", port: 1 },
          { host: "b", port: 2 },
          { host: "::1", port: 3 }
        ]
      }
    ],
    ["redis+sentinel://h/main", sentinel],
    [
      "redis+sentinel://a:1,b/my%2Fmain/3?sentinel_username=u&sentinel_password=p%26w",
      {
        ...sentinel,
        sentinels: [
          { host: "a", port: 1 },
          { host: "b", port: 26379 }
        ],
        name: "my/main",
        database: 3,
        sentinelLogin: { username: "u", password: "p&w" }
      }
    ]
  ])("%s is understood", (url, target) => {
    expect(Result.getOrThrow(parseRedisUrl(url))).toEqual(expect.objectContaining(target))
  })

  test.each([
    ["", "looks like redis://"],
    ["http://h", "looks like redis://"],
    ["redis://", "looks like redis://"],
    ["redis+other://h", "looks like redis://"],
    ["redis://:hunter2@h:0", "host:port"],
    ["redis://:hunter2@h:65536", "host:port"],
    ["redis://:hunter2@a b:x", "host:port"],
    ["redis://:hunter2@a,b", "redis+cluster://"],
    ["redis://:hunter2@h/x", "database"],
    ["redis://:hunter2%@h", "percent sign"],
    ["redis://:hunter2@h?db=1", "unknown parameter db"],
    ["redis://:1234?hunter2@h", "unknown parameter: write %3F for a ? in the password"],
    ["redis://:hunter2#1234@h", "looks like redis://"],
    ["redis+cluster://:hunter2@h/1", "numbered databases"],
    ["redis+sentinel://:hunter2@h", "/name"],
    ["redis+sentinel://:hunter2@h/a/1/2", "/name"]
  ])("%s is refused, without a password in the reason", (url, reason) => {
    const { message } = Result.getOrThrow(Result.flip(parseRedisUrl(url)))
    expect(message).toContain(reason)
    expect(message).not.toContain("hunter2")
  })
})
