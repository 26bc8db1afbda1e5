import { describe, expect, test } from "bun:test"
import { Result, Schema } from "effect"
import { standardPolicy } from "../../core/rules/Policy.ts"
import { ResourceAddress } from "../../core/rules/Resource.ts"
import type { ScopeRegistry } from "../../core/rules/Scope.ts"
import type { TrustedIssuer } from "../../core/rules/TrustedIssuer.ts"
import {
  basePath,
  endpointUrl,
  Issuer,
  isLoopbackHost,
  parseIssuer,
  pathBelow,
  policyAt,
  scopesOf,
  servicesAt,
  Workspace,
  WorkspaceId,
  withListed
} from "../../core/workspace/Workspace.ts"

const at = (issuer: string): Workspace => ({ id: WorkspaceId.make("home"), issuer: Issuer.make(issuer), name: "Home" })
const root = at("https://auth.example.com")
const nested = at("https://auth.example.com/t/a")
const resource = (address: string, name: string) => ({ at: ResourceAddress.make(address), name })

describe("an issuer (RFC 8414 §2)", () => {
  const good = [
    "https://auth.example.com",
    "https://auth.example.com:8443",
    "https://auth.example.com/t/a",
    "http://localhost:3000",
    "http://127.0.0.1",
    "http://[::1]:3000/x"
  ]
  for (const issuer of good) {
    test(`may be ${issuer}`, () => expect(parseIssuer(issuer)).toEqual(Result.succeed(Issuer.make(issuer))))
  }

  const bad = [
    "",
    "auth.example.com",
    "http://auth.example.com",
    "ftp://localhost",
    "https://auth.example.com/",
    "https://auth.example.com/t/",
    "https://auth.example.com?",
    "https://auth.example.com?x",
    "https://auth.example.com/t?",
    "https://auth.example.com/t?x",
    "https://auth.example.com#",
    "https://auth.example.com/t#",
    "https://auth.example.com/t#x",
    "https://user@auth.example.com",
    "https://user@auth.example.com/t",
    "https://:word@auth.example.com/t",
    "https://auth.example.com:443",
    "https://AUTH.example.com",
    "https://auth.example.com/a/../b",
    "https://auth.example.com/a b",
    " https://auth.example.com"
  ]
  for (const issuer of bad) {
    test(`may not be ${JSON.stringify(issuer)}`, () => expect(Result.isFailure(parseIssuer(issuer))).toBe(true))
  }

  test("has a path, or none", () => {
    expect([basePath(root.issuer), basePath(nested.issuer)]).toEqual(["", "/t/a"])
    expect(basePath(Issuer.make("http://[::1]:3000/x"))).toBe("/x")
  })
})

describe("a workspace", () => {
  test("has an id, an issuer and a name", () => {
    const read = Schema.decodeUnknownResult(Workspace)
    expect(read(root)).toEqual(Result.succeed(root))
    for (const odd of [
      { ...root, id: "a b" },
      { ...root, issuer: "http://auth.example.com" },
      { ...root, name: "" },
      { id: root.id, issuer: root.issuer },
      { id: root.id, name: "Home" },
      { issuer: root.issuer, name: "Home" }
    ]) {
      expect(Result.isFailure(read(odd))).toBe(true)
    }
  })
})

describe("what its owners listed", () => {
  const [orders, renamed, stock] = [
    resource("https://api.example/orders", "Orders"),
    resource("https://api.example/orders/", "Mine"),
    resource("https://api.example/stock", "Stock")
  ]
  const issuer = (name: string, people: TrustedIssuer["people"]): TrustedIssuer => ({
    issuer: `https://${name}.example`,
    keys: { _tag: "Fetched", jwksUri: `https://${name}.example/keys` },
    people
  })
  const [work, workOtherwise, school] = [issuer("work", "known"), issuer("work", "made"), issuer("school", "made")]

  test("stands behind what is configured, which stays", () => {
    const given = { ...root, resources: [orders], trustedIssuers: [work] }
    expect(withListed(root, true, [])).toEqual({ ...root, sealedBefore: true })
    expect(withListed(given, false, [], [])).toEqual({ ...given, sealedBefore: false })
    expect(withListed(root, false, [stock], [school])).toEqual({
      ...root,
      sealedBefore: false,
      listed: [stock],
      resources: [stock],
      trustedIssuers: [school]
    })
    expect(withListed(given, false, [renamed, stock], [workOtherwise, school])).toEqual({
      ...given,
      sealedBefore: false,
      listed: [stock],
      resources: [orders, stock],
      trustedIssuers: [work, school]
    })
  })
})

describe("the policy of a server", () => {
  const scopes: ScopeRegistry = [standardPolicy.scopes[0]]

  test("holds in a workspace but for the scopes that this has of its own, made once", () => {
    const own = { ...root, scopes }
    for (const workspace of [root, { ...root, scopes: standardPolicy.scopes }]) {
      expect(policyAt(standardPolicy, workspace)).toBe(standardPolicy)
      expect(scopesOf(standardPolicy, workspace)).toBe(standardPolicy.scopes)
      const services = { policy: standardPolicy, more: 1 }
      expect(servicesAt(services, workspace)).toBe(services)
    }
    const at = policyAt(standardPolicy, own)
    expect(at).toEqual({ ...standardPolicy, scopes })
    expect(policyAt(standardPolicy, own)).toBe(at)
    expect(scopesOf(standardPolicy, own)).toBe(scopes)
    expect(servicesAt({ policy: standardPolicy, more: 1 }, own)).toEqual({ policy: at, more: 1 })
    // Another server's is not taken for it, which has the same scopes there.
    const other = { ...standardPolicy, consentTtl: 1 }
    expect(policyAt(other, own)).toEqual({ ...other, scopes })
  })
})

describe("hosts of this machine", () => {
  test("are three, written as a browser writes them", () => {
    for (const host of ["127.0.0.1", "[::1]", "localhost"]) expect(isLoopbackHost(host)).toBe(true)
    for (const host of ["", "127.0.0.2", "::1", "localhost.evil.example"]) expect(isLoopbackHost(host)).toBe(false)
  })
})

describe("the address of an endpoint", () => {
  test("is below the issuer, but for a well-known path, which goes before the issuer's own (RFC 8414 §3.1)", () => {
    expect(endpointUrl(root, "/oauth/token")).toBe("https://auth.example.com/oauth/token")
    expect(endpointUrl(nested, "/oauth/token")).toBe("https://auth.example.com/t/a/oauth/token")
    expect(endpointUrl(root, "/.well-known/x")).toBe("https://auth.example.com/.well-known/x")
    expect(endpointUrl(nested, "/.well-known/x")).toBe("https://auth.example.com/.well-known/x/t/a")
    expect(endpointUrl(nested, "/x/.well-known/")).toBe("https://auth.example.com/t/a/x/.well-known/")
  })
})

describe("a path below a workspace", () => {
  test("is the path itself, where the issuer has none", () => {
    for (const path of ["/", "/oauth/token", "/.well-known/x/y"]) expect(pathBelow(root, path)).toBe(path)
  })

  const cases: ReadonlyArray<readonly [string, string | undefined]> = [
    ["/t/a", "/"],
    ["/t/a/", "/"],
    ["/t/a/oauth/token", "/oauth/token"],
    ["/t/a/t/a", "/t/a"],
    ["/t/a/.well-known/x", "/.well-known/x"],
    ["/.well-known/x/t/a", "/.well-known/x"],
    ["/.well-known/xyz/t/a/rest", "/.well-known/xyz/rest"],
    ["/.well-known/x/t/ab", undefined],
    ["/.well-known/x/t", undefined],
    ["/.well-known/x", undefined],
    ["/.well-known/x/y/t/a", undefined],
    ["/.well-known//t/a", undefined],
    ["/x/.well-known/x/t/a", undefined],
    ["/t/ab", undefined],
    ["/t", undefined],
    ["/", undefined],
    ["/oauth/token", undefined],
    ["/x/t/a/oauth/token", undefined]
  ]
  for (const [path, below] of cases) {
    test(`${path} → ${below}`, () => expect(pathBelow(nested, path)).toBe(below))
  }

  test("is that of a resource's own document beside the issuer, and of no other document (RFC 9728 §3.1)", () => {
    const beside = (path: string) => resource(`https://auth.example.com${path}`, "Orders")
    const document = "/.well-known/oauth-protected-resource"
    const orders = { ...nested, resources: [beside("/orders")] }
    for (const [path, workspace, below] of [
      [`${document}/orders`, orders, `${document}/orders`],
      [`${document}/orders`, nested, undefined],
      [`${document}/orders/7`, orders, undefined],
      [`${document}/t/a`, orders, document],
      [`${document}`, orders, undefined],
      [`${document}`, { ...nested, resources: [beside("/")] }, document],
      ["/.well-known/openid-configuration/orders", orders, undefined],
      ["/orders", orders, undefined]
    ] as const) {
      expect([path, pathBelow(workspace, path)]).toEqual([path, below])
    }
  })
})
