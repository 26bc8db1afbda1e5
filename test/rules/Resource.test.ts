import { describe, expect, test } from "bun:test"
import { Result, Schema } from "effect"
import { InvalidTarget } from "../../core/rules/Refusal.ts"
import {
  covers,
  definitionOf,
  isResourceAddress,
  isResourcePath,
  meet,
  narrowResources,
  Resource,
  ResourceRegistry,
  Resources,
  readResources,
  resourceMetadataUrl,
  scopesTaken,
  unnamedResources,
  withinResources
} from "../../core/rules/Resource.ts"
import { ScopeName, ScopeRegistry, standardScopes } from "../../core/rules/Scope.ts"

const issuer = "https://auth.example.com"

const registry = (...all: ReadonlyArray<readonly [at: string, scopes?: ReadonlyArray<string>]>): ResourceRegistry =>
  Schema.decodeUnknownSync(ResourceRegistry)(
    all.map(([at, scopes]) => ({ at, name: at, ...(scopes === undefined ? {} : { scopes }) }))
  )

const of = (...all: ReadonlyArray<string>): Resources => Schema.decodeUnknownSync(Resources)(all)

const malformed = Result.fail(new InvalidTarget({ reason: "malformed" }))
const notOurs = Result.fail(new InvalidTarget({ reason: "not_ours" }))

describe("the resources of a workspace that lists none", () => {
  const read = (text: string) => Result.map(readResources({ issuer }, [text]), String)

  test("are the issuer or below it, with or without a slash at the end", () => {
    expect(read(issuer)).toEqual(Result.succeed(issuer))
    expect(read(`${issuer}/`)).toEqual(Result.succeed(issuer))
    expect(read(`${issuer}/rest/`)).toEqual(Result.succeed(`${issuer}/rest`))
    expect(read("https://AUTH.example.com:443/rest")).toEqual(Result.succeed(`${issuer}/rest`))
  })

  test("are refused elsewhere, however they are written", () => {
    for (const other of [
      "https://auth.example.com.evil.example",
      "http://auth.example.com",
      "https://auth.example.com:8443",
      "https://evil.example/https://auth.example.com",
      "https://user@auth.example.com/rest",
      "https://auth.example.com@evil.example/rest"
    ]) {
      expect(read(other)).toEqual(notOurs)
    }
    expect(readResources({ issuer: `${issuer}/a` }, [`${issuer}/a/../b`])).toEqual(notOurs)
    expect(readResources({ issuer: `${issuer}/a` }, [`${issuer}/ab`])).toEqual(notOurs)
    for (const odd of [
      "",
      "rest",
      "/rest",
      `${issuer}?x`,
      `${issuer}#x`,
      `${issuer}/ä`,
      `${issuer}\\x`,
      ` ${issuer}`,
      `${issuer} `,
      `\n${issuer}`,
      `${issuer}/${"a".repeat(2048)}`
    ]) {
      expect(read(odd)).toEqual(malformed)
    }
  })

  test("are refused where what would be kept is too long to be read back", () => {
    const room = 2048 - `${issuer}/`.length
    expect(Result.isSuccess(read(`${issuer}/${"a".repeat(room)}`))).toBe(true)
    // Each quote is kept as three characters.
    expect(read(`${issuer}/${'"'.repeat(room)}`)).toEqual(malformed)
  })
})

test("a workspace that lists an empty list of resources has its issuer alone", () => {
  const owner = { issuer, resources: registry() }
  expect(readResources(owner, [`${issuer}/rest`])).toEqual(Result.succeed(of(`${issuer}/rest`)))
  expect(readResources(owner, ["https://api.example.com"])).toEqual(notOurs)
})

describe("the resources of a workspace that lists some", () => {
  const owner = { issuer, resources: registry(["https://api.example.com"], ["https://mcp.example.com/mcp/"]) }
  const read = (...texts: ReadonlyArray<string>) => readResources(owner, texts)

  test("are those, what is below them, and the issuer", () => {
    const known: ReadonlyArray<readonly [text: string, kept?: string]> = [
      [issuer],
      [`${issuer}/`, issuer],
      ["https://api.example.com"],
      ["https://api.example.com/", "https://api.example.com"],
      ["https://api.example.com/orders"],
      ["https://mcp.example.com/mcp"],
      ["https://mcp.example.com/mcp/", "https://mcp.example.com/mcp"],
      ["https://mcp.example.com/mcp/tools"],
      ["HTTPS://MCP.example.com:443/x/../mcp", "https://mcp.example.com/mcp"]
    ]
    for (const [text, kept = text] of known) expect(read(text)).toEqual(Result.succeed(of(kept)))
  })

  test.each([
    `${issuer}/rest`,
    "https://mcp.example.com",
    "https://mcp.example.com/mcp-other",
    "https://mcp.example.com/mcp%2Ftools",
    "https://mcp.example.com/mcp/..",
    "https://mcp.example.com/mcp/%2e%2e/admin",
    "https://mcp.example.com/MCP",
    "https://mcp.example.com:8443/mcp",
    "http://mcp.example.com/mcp",
    "https://api.example.com.evil.example",
    "https://api.example.com@evil.example",
    "https://evil.example/https://api.example.com"
  ])("are not %s", (text) => {
    expect(read(text)).toEqual(notOurs)
    // A stranger among friends is refused with them.
    expect(read("https://api.example.com", text)).toEqual(notOurs)
  })

  test("make a set, each once, in the order in which they were named", () => {
    const [api, mcp] = ["https://api.example.com", "https://mcp.example.com/mcp"] as const
    expect(read(mcp, api, `${mcp}/`, api)).toEqual(Result.succeed(of(mcp, api)))
    expect(read()).toEqual(malformed)
  })

  test("are refused where they are too long together", () => {
    const long = (letter: string) => `https://api.example.com/${letter.repeat(1200)}`
    expect(Result.isSuccess(read(long("a")))).toBe(true)
    expect(read(long("a"), long("b"))).toEqual(malformed)
    const second = "https://api.example.com/b"
    const fitting = `https://api.example.com/${"a".repeat(2048 - second.length - 1 - 24)}`
    expect(read(fitting, second)).toEqual(Result.succeed(of(fitting, second)))
    expect(read(`${fitting}a`, second)).toEqual(malformed)
  })

  test("are read back only as such a set", () => {
    const isSet = (...all: ReadonlyArray<string>) => Schema.is(Resources)(all)
    const [api, mcp] = ["https://api.example.com", "https://mcp.example.com/mcp"] as const
    expect([isSet(api), isSet(api, mcp), isSet(), isSet(api, api), isSet(api, mcp, api)]).toEqual([
      true,
      true,
      false,
      false,
      false
    ])
    const rest = "a".repeat(2048 - api.length - 1)
    expect([isSet(api, rest), isSet(api, `${rest}a`)]).toEqual([true, false])
  })
})

describe("an address to list", () => {
  test.each([
    "https://api.example.com",
    "https://api.example.com/",
    "https://api.example.com:8443/v1",
    "https://api.example.com/v1/",
    "http://127.0.0.1:4000/mcp",
    "http://localhost",
    "http://[::1]:9/x"
  ])("may be %s", (text) => expect(isResourceAddress(text)).toBe(true))

  test.each([
    "",
    "api.example.com",
    "ftp://api.example.com",
    "http://api.example.com",
    "http://127.0.0.1.evil.example",
    "http://localhost@evil.example",
    "https://user@api.example.com",
    "https://user:word@api.example.com",
    "https://:word@api.example.com",
    "https://api.example.com?x",
    "https://api.example.com/#x",
    "https://API.example.com",
    "https://api.example.com:443",
    "https://api.example.com/a/../b",
    "https://api.example.com/a/%2e%2e/b",
    "https://api.example.com//a",
    "https://api.example.com/a//",
    "https://api.example.com/ä",
    "https://api.example.com/a b",
    'https://api.example.com/"',
    "https://api.example.com\\a",
    " https://api.example.com",
    `https://api.example.com/${"a".repeat(2048)}`,
    7,
    undefined
  ])("may not be %s", (text) => expect(isResourceAddress(text)).toBe(false))

  test("is listed once, with a slash at the end or without", () => {
    expect(() => registry(["https://api.example.com"], ["https://api.example.com/"])).toThrow()
    expect(() => registry(["https://api.example.com/a"], ["https://api.example.com/ab"])).not.toThrow()
  })

  test("has its metadata at the path-inserted address (RFC 9728 §3.1)", () => {
    const well = "/.well-known/oauth-protected-resource"
    expect(resourceMetadataUrl("https://api.example.com/")).toBe(`https://api.example.com${well}`)
    expect(resourceMetadataUrl("https://api.example.com/v1/")).toBe(`https://api.example.com${well}/v1/`)
  })
})

test("a path for a resource has no dots, no empty segments and no query", () => {
  for (const path of ["/mcp", "/mcp/", "/a/b", "/a%20b"]) expect(isResourcePath(path)).toBe(true)
  for (const path of ["", "mcp", "/", "//mcp", "/a/../b", "/a/%2E%2e/b", "/a?b", "/a#b", "/a\\b", undefined]) {
    expect(isResourcePath(path)).toBe(false)
  }
})

describe("what was granted", () => {
  const rest = Resource.make(`${issuer}/rest`)
  const root = Resource.make(issuer)
  const api = Resource.make("https://api.example.com")
  const wider = Result.fail(new InvalidTarget({ reason: "wider_than_granted" }))

  test("may be narrowed, never widened", () => {
    expect(narrowResources([rest], null)).toEqual(Result.succeed([rest]))
    expect(narrowResources(null, null)).toEqual(Result.succeed(null))
    expect(narrowResources(null, [rest])).toEqual(Result.succeed([rest]))
    expect(narrowResources([root], [rest])).toEqual(Result.succeed([rest]))
    expect(narrowResources([rest], [rest])).toEqual(Result.succeed([rest]))
    expect(narrowResources([rest], [root])).toEqual(wider)
    expect(narrowResources([rest], [Resource.make(`${issuer}/restful`)])).toEqual(wider)
    expect(narrowResources([root, api], [api])).toEqual(Result.succeed([api]))
    expect(narrowResources([root, api], [api, rest])).toEqual(Result.succeed([api, rest]))
    expect([withinResources(null, null), withinResources([rest], null), withinResources(null, [rest])]).toEqual([
      true,
      true,
      false
    ])
    // One of two is not enough.
    expect(narrowResources([rest], [rest, api])).toEqual(wider)
    expect(narrowResources([rest, api], [root])).toEqual(wider)
  })

  test("covers what is at or below it", () => {
    expect(covers(null, "https://anywhere.example")).toBe(true)
    for (const at of [`${issuer}/rest`, `${issuer}/rest/`, `${issuer}/rest/companies`]) {
      expect(covers([rest], at)).toBe(true)
      expect(covers([api, rest], at)).toBe(true)
      expect(covers([api], at)).toBe(false)
    }
    expect(covers([rest], `${issuer}/restful`)).toBe(false)
    expect(covers([rest], issuer)).toBe(false)
  })

  test("meets what is above and below it, and no neighbour", () => {
    expect([meet(rest, root), meet(root, rest), meet(rest, rest)]).toEqual([true, true, true])
    expect([meet(rest, `${issuer}/restful`), meet(rest, api)]).toEqual([false, false])
  })
})

describe("the scopes that a resource takes", () => {
  const scopes = Schema.decodeUnknownSync(ScopeRegistry)([
    { name: "api", meaning: "All", needsUser: false, byDefault: true, implies: ["api:read"] },
    { name: "api:read", meaning: "Read", needsUser: false, byDefault: false },
    { name: "mcp", meaning: "Tools", needsUser: false, byDefault: false }
  ])
  const owner = {
    issuer,
    resources: registry(
      ["https://api.example.com", ["api"]],
      ["https://api.example.com/mcp", ["mcp"]],
      ["https://reports.example.com", ["api:read"]],
      ["https://any.example.com"]
    )
  }

  test("are those of the nearest that is listed", () => {
    const turned = { issuer, resources: owner.resources.toReversed() }
    for (const listing of [owner, turned]) {
      expect(definitionOf(listing, "https://api.example.com/mcp/x")?.scopes).toEqual([ScopeName.make("mcp")])
      expect(definitionOf(listing, "https://api.example.com/x")?.scopes).toEqual([ScopeName.make("api")])
    }
    expect(scopesTaken(owner, ["https://api.example.com/orders"])).toEqual([ScopeName.make("api")])
    expect(scopesTaken(owner, ["https://api.example.com", "https://api.example.com/mcp"])?.map(String)).toEqual([
      "api",
      "mcp"
    ])
    expect(scopesTaken(owner, [issuer])).toBeNull()
    expect(scopesTaken(owner, ["https://api.example.com", "https://any.example.com"])).toBeNull()
  })

  test("say what a token is for that names nothing", () => {
    const named = (...scope: ReadonlyArray<string>) => unnamedResources(owner, scopes, scope)
    expect(unnamedResources({ issuer }, standardScopes, ["api"])).toBeNull()
    const always = "https://any.example.com"
    expect(named("mcp")).toEqual([issuer, "https://api.example.com/mcp", always])
    expect(named("api")).toEqual([issuer, "https://api.example.com", "https://reports.example.com", always])
    expect(named("api:read")).toEqual([issuer, "https://api.example.com", "https://reports.example.com", always])
    // One scope that both know is enough, on either side.
    expect(named("mcp", "api:read")).toEqual([issuer, ...owner.resources.map(({ at }) => at)])
    const two = { issuer, resources: registry(["https://two.example.com", ["mcp", "api:read"]]) }
    expect(unnamedResources(two, scopes, ["api"])).toEqual([issuer, "https://two.example.com"])
    expect(unnamedResources(two, scopes, ["other"])).toEqual([issuer])
  })
})
