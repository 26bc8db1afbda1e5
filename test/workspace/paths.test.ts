import { describe, expect, test } from "bun:test"
import { Result, Schema } from "effect"
import {
  basePath,
  endpointUrl,
  Issuer,
  isLoopbackHost,
  parseIssuer,
  pathBelow,
  Workspace,
  WorkspaceId
} from "../../core/workspace/Workspace.ts"

const at = (issuer: string): Workspace => ({ id: WorkspaceId.make("home"), issuer: Issuer.make(issuer), name: "Home" })
const root = at("https://auth.example.com")
const nested = at("https://auth.example.com/t/a")

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
})
