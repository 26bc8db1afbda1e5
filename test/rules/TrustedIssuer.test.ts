import { describe, expect, test } from "bun:test"
import { Option, Result, Schema } from "effect"
import { Base64Url } from "effect/encoding"
import { Instant } from "../../core/rules/Instant.ts"
import {
  asserterOf,
  isSameAsserter,
  keysTypedOf,
  readKeySource,
  TrustedIssuer,
  TrustedIssuers
} from "../../core/rules/TrustedIssuer.ts"

const issuer = "https://login.example.com"
const jwksUri = `${issuer}/keys`
const key = { kty: "OKP", crv: "Ed25519", x: Base64Url.encode(new Uint8Array(32)) } as const
const plain = { issuer, keys: { _tag: "Fetched", jwksUri }, people: "known" } as const
const read = Schema.decodeUnknownOption(TrustedIssuer)
const isRead = (value: unknown) => Option.isSome(read(value))

describe("an issuer that is trusted", () => {
  test("may be held to clients, scopes, resources and domains", () => {
    const rows = [
      plain,
      { ...plain, keys: { _tag: "Registered", keys: [key, key] } },
      { ...plain, people: "made", takes: "any", since: 1 },
      { ...plain, takes: "id-jag" },
      { ...plain, clients: ["A".repeat(22), "https://app.example/client.json"] },
      { ...plain, scopes: ["api"], resources: ["https://api.example.com"] },
      { ...plain, domains: ["example.com", "a-1.b.example", `${"a".repeat(63)}.${"b".repeat(63)}`] }
    ]
    for (const row of rows) expect<unknown>(read(row)).toEqual(Option.some(row))
  })

  const urls = {
    good: [issuer, `${issuer}/`, `${issuer}:8443/a?b`, `https://x/${"a".repeat(2048 - 10)}`],
    bad: [
      "",
      "http://login.example.com",
      "login.example.com",
      " https://login.example.com",
      "https://login.example.com ",
      "xhttps://login.example.com",
      "https://",
      "https://a:b",
      "https://user@login.example.com",
      "https://:word@login.example.com",
      `${issuer}#a`,
      `${issuer}/é`,
      `https://x/${"a".repeat(2048 - 9)}`
    ]
  }

  test("is at an https address without a user or a fragment, and so are its keys and its clients' documents", () => {
    const places: ReadonlyArray<(url: string) => unknown> = [
      (url) => ({ ...plain, issuer: url }),
      (url) => ({ ...plain, keys: { _tag: "Fetched", jwksUri: url } }),
      (url) => ({ ...plain, clients: [url] })
    ]
    for (const place of places) {
      for (const url of urls.good) expect([url, isRead(place(url))]).toEqual([url, true])
      for (const url of urls.bad) expect([url, isRead(place(url))]).toEqual([url, false])
    }
  })

  test("is refused where something about it is odd", () => {
    const odd = [
      { ...plain, people: "all" },
      { ...plain, people: undefined },
      { ...plain, takes: "all" },
      { ...plain, since: 1.5 },
      { ...plain, keys: undefined },
      { ...plain, keys: { _tag: "Registered", keys: [] } },
      { ...plain, keys: { _tag: "Registered", keys: [{ ...key, crv: "Ed448" }] } },
      { ...plain, keys: { _tag: "Fetched" } },
      { ...plain, keys: { _tag: "Other", jwksUri } },
      { ...plain, clients: [] },
      { ...plain, clients: ["A"] },
      { ...plain, scopes: [] },
      { ...plain, scopes: ["a b"] },
      { ...plain, resources: [] },
      { ...plain, resources: ["a".repeat(2049)] },
      { ...plain, domains: [] },
      ...["", "example", "Example.com", "a..b", ".a.b", "a.b.", "a_b.c", " a.b", "a.b ", `${"a".repeat(64)}.b`].map(
        (domain) => ({ ...plain, domains: [domain] })
      ),
      { ...plain, domains: [`a.${"b".repeat(64)}`] }
    ]
    for (const row of odd) expect([row, isRead(row)]).toEqual([row, false])
  })

  test("is one of fifty at most, none of them twice", () => {
    const is = Schema.is(TrustedIssuers)
    const many = (count: number) => Array.from({ length: count }, (_, at) => ({ ...plain, issuer: `${issuer}/${at}` }))
    expect([is([]), is(many(50)), is(many(51))]).toEqual([true, true, false])
    expect([is([plain, plain]), is([plain, { ...plain, people: "made" }]), is([...many(2), plain])]).toEqual([
      false,
      false,
      true
    ])
  })
})

describe("who asserted something", () => {
  test("is the issuer, as it was trusted then", () => {
    const since = Instant.make(7)
    expect(asserterOf(plain)).toStrictEqual({ issuer })
    expect(asserterOf({ ...plain, since })).toStrictEqual({ issuer, since })
    const all = [{ issuer }, { issuer, since }, { issuer, since: Instant.make(8) }, { issuer: `${issuer}/`, since }]
    for (const [at, one] of all.entries()) {
      for (const [of, other] of all.entries()) expect(isSameAsserter(one, { ...other })).toBe(at === of)
    }
  })
})

describe("an issuer's keys", () => {
  test("are a set or its address, one of both", () => {
    const registered = { _tag: "Registered", keys: [key, key] } as const
    expect(readKeySource({ jwksUri })).toEqual(Result.succeed({ _tag: "Fetched", jwksUri }))
    expect(readKeySource({ jwks: { keys: [key, key] } })).toEqual(Result.succeed(registered))
    const other = { kty: "oct" }
    expect(readKeySource({ jwks: { keys: [other, key] } })).toEqual(Result.succeed({ _tag: "Registered", keys: [key] }))
    const odd = [
      {},
      { jwks: { keys: [key] }, jwksUri },
      { jwks: { keys: [] } },
      { jwks: { keys: [other] } },
      { jwks: { keys: [{ ...key, d: "AQ" }] } },
      { jwks: "keys" },
      { jwks: null }
    ]
    for (const typed of odd) expect([typed, readKeySource(typed)]).toEqual([typed, Result.fail("keys")])
  })

  test("are named anew as they were", () => {
    for (const typed of [{ jwksUri }, { jwks: { keys: [key] } }]) {
      const keys = Result.getOrThrow(readKeySource(typed))
      expect(keysTypedOf({ ...plain, keys })).toEqual(typed)
    }
  })
})
