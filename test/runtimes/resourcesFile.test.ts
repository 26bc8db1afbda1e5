import { describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Option, Result } from "effect"
import { readJsonLines } from "../../runtimes/server/JsonLines.ts"
import { readListed, resourcesVariable } from "../../runtimes/server/ResourcesFile.ts"

const good = `{
  "scopes": [
    { "name": "orders", "meaning": "Change orders", "byDefault": true, "implies": ["orders:read"] },
    { "name": "orders:read", "meaning": "See orders" }
  ],
  "resources": [
    { "at": "https://api.example.com/", "name": "Orders", "scopes": ["orders"] },
    { "at": "http://127.0.0.1:4000/mcp" },
    { "at": "https://gateway.example.com", "accessTokenFormat": "jwt", "accessTokenTtl": "5 minutes" }
  ]
}`

const acme = '{ "issuer": "https://login.acme.example", "jwksUri": "https://login.acme.example/keys" }'

describe("a file of resources", () => {
  test("says whose assertions are taken, held to its APIs and scopes", () => {
    const at = '"resources": [{ "at": "https://a.example" }]'
    const issuer = acme.replace("{", '{ "resources": ["https://a.example"], "scopes": ["api"], "people": "made",')
    const read = Result.getOrThrow(readListed(`{ ${at}, "trustedIssuers": [${issuer}] }`))
    expect(read.trustedIssuers as unknown).toEqual([
      {
        issuer: "https://login.acme.example",
        keys: { _tag: "Fetched", jwksUri: "https://login.acme.example/keys" },
        people: "made",
        scopes: ["api"],
        resources: ["https://a.example"]
      }
    ])
  })

  test("says which there are, and which scopes", () => {
    expect(readListed(good)).toEqual(
      Result.succeed({
        scopes: [
          { name: "orders", meaning: "Change orders", needsUser: false, byDefault: true, implies: ["orders:read"] },
          { name: "orders:read", meaning: "See orders", needsUser: false, byDefault: false }
        ],
        resources: [
          { at: "https://api.example.com/", name: "Orders", scopes: ["orders"] },
          { at: "http://127.0.0.1:4000/mcp", name: "127.0.0.1:4000" },
          {
            at: "https://gateway.example.com",
            name: "gateway.example.com",
            accessTokenFormat: "jwt",
            accessTokenTtl: 300_000
          }
        ]
      } as unknown as Result.Result.Success<ReturnType<typeof readListed>>)
    )
    expect(readListed("{}")).toEqual(Result.succeed({}))
  })

  test.each([
    ["", 1],
    ["{\n  resources: []\n}", 2],
    ['{\n"resources": [],\n}', 3],
    ['{"resources": []}\n\nx', 3],
    ['{\n"resources": [],\n"resources": []\n}', 3],
    ['{\n\n"recources": []\n}', 3],
    ['{"resources": [\n{ "at": "https://a.example" },\n{ "at": "ftp://a.example" }\n]}', 3],
    ['{"resources": [\n{ "at": "https://a.example" },\n{ "at": "https://a.example/" }\n]}', 3],
    ['{"resources": [\n{ "at": "https://a.example",\n "scopes": ["unheard-of"] }\n]}', 3],
    ['{"resources": [\n{ "at": "https://a.example",\n\n "scopes": [] }\n]}', 4],
    ['{"resources": [\n{ "at": "https://a.example",\n "accessTokenFormat": "JWT" }\n]}', 3],
    ['{"resources": [\n{ "at": "https://a.example",\n "accessTokenTtl": "soon" }\n]}', 3],
    ['{"resources": [\n{ "at": "https://a.example",\n "accessTokenTtl": "999 millis" }\n]}', 3],
    ['{"scopes":\n[\n{ "name": "a b", "meaning": "A" }]}', 3],
    ['{"scopes": [{ "name": "a", "meaning": "A" },\n{ "name": "a", "meaning": "A" }]}', 2],
    ['{\n"scopes": [{ "name": "a", "meaning": "A", "implies": ["b"] }]}', 2],
    ['{"scopes": [{ "name": "a",\n"meaning": 7 }]}', 2],
    ['{"trustedIssuers": [\n{ "issuer": "http://login.example", "jwksUri": "https://login.example/keys" }]}', 2],
    ['{"trustedIssuers": [\n{ "issuer": "https://login.example" }]}', 2],
    ['{"trustedIssuers": [\n{ "issuer": "https://login.example", "jwks": { "keys": [{ "d": "x" }] } }]}', 2],
    [
      '{"trustedIssuers": [\n{ "issuer": "https://a.example", "jwksUri": "https://a.example/k",\n"people": "all" }]}',
      3
    ],
    [`{"trustedIssuers": [\n${acme},\n${acme}]}`, 3],
    [`{"trustedIssuers": [${acme},\n${acme.replace("{", '{ "scopes": ["root"],')}]}`, 2],
    [`{"trustedIssuers": [\n${acme.replace("{", '{ "resources": ["https://b.example"],')}]}`, 2],
    [`${"[".repeat(70)}`, 1]
  ])("tells what is wrong by its line: %#", (text, line) => {
    const read = readListed(text)
    expect(Result.isFailure(read) && read.failure).toStartWith(`line ${line}: `)
  })

  test("is named by RESOURCES", () => {
    const folder = mkdtempSync(join(tmpdir(), "resources-"))
    try {
      const path = join(folder, "resources.json")
      expect(Option.isNone(resourcesVariable.read(path))).toBe(true)
      expect(resourcesVariable.wrong?.(path)).toContain("cannot be read")
      writeFileSync(path, good)
      expect(Option.getOrThrow(resourcesVariable.read(path)).resources?.length).toBe(3)
      writeFileSync(path, "{")
      expect(resourcesVariable.wrong?.(path)).toStartWith("line 1: ")
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

test("what the reader of lines reads is what the platform reads", () => {
  for (const text of [
    good,
    "null",
    " [1, -2.5e3, true, false, null, {}, []] ",
    '"\\u00e9\\n\\"x"',
    '{"__proto__": 1, "a": {"b": []}}'
  ]) {
    const read = Result.getOrThrow(readJsonLines(text))
    expect(JSON.stringify(read.value)).toBe(JSON.stringify(JSON.parse(text)))
  }
  for (const text of ["", "01", "[1,]", "{,}", "'a'", '"\n"', "nul", "[1 2]", '{"a" 1}', "NaN", "+1", ".5", '"\\x"']) {
    expect(Result.isFailure(readJsonLines(text))).toBe(true)
    expect(() => JSON.parse(text)).toThrow()
  }
})
