import { describe, expect, test } from "bun:test"
import { Result, Schema } from "effect"
import {
  checkRedirectUri,
  matchRedirectUri,
  RedirectTarget,
  RedirectUri,
  type RedirectUriFault,
  withQuery
} from "../../core/rules/RedirectUri.ts"

describe("a redirect URI that may be registered", () => {
  const good = [
    "https://app.example.org/cb",
    "https://app.example.org",
    "https://APP.example.org/cb",
    "https://app.example.org:8443/cb?x=1&y=2",
    "http://127.0.0.1/cb",
    "http://127.0.0.1:5173/cb",
    "http://[::1]:8080/",
    "http://localhost:3000/callback?a=b",
    "com.example.app:/oauth",
    "com.example.app://cb",
    "cursor://anysphere.cursor-mcp/oauth/callback",
    "vscode://saoudrizwan.claude-dev/mcp-auth/callback/7f3a",
    "vscode-insiders://saoudrizwan.claude-dev/mcp-auth/callback/7f3a",
    "cursor://anysphere.cursor-retrieval/oauth/user-github/callback",
    "vscode://RooVeterinaryInc.roo-cline/auth/callback",
    "warp://mcp/oauth2callback",
    `https://app.example.org/${"a".repeat(2024)}`
  ]
  for (const uri of good)
    test(uri.slice(0, 60), () => expect<string>(Result.getOrThrow(checkRedirectUri(uri))).toBe(uri))

  const bad: ReadonlyArray<readonly [string, RedirectUriFault]> = [
    ["", "unprintable"],
    ["https://app.example.org/ä", "unprintable"],
    ["https://app.example.org/a b", "unprintable"],
    ["https://app.example.org/\n", "unprintable"],
    [`https://app.example.org/${"a".repeat(2025)}`, "unprintable"],
    ["com.example.app:/ä", "unprintable"],
    [" com.example.app:/cb", "unprintable"],
    [`com.example.app:/${"a".repeat(2048)}`, "unprintable"],
    ["https:\\\\evil.example", "backslash"],
    ["https://app.example.org/cb#", "fragment"],
    ["https://app.example.org/cb#x", "fragment"],
    ["/cb", "not_absolute"],
    ["app.example.org/cb", "not_absolute"],
    ["https://", "not_absolute"],
    ["https:app.example.org", "not_absolute"],
    ["HTTPS://app.example.org", "not_absolute"],
    ["javascript:alert(1)", "scheme"],
    ["data:text/html,x", "scheme"],
    ["file:///etc/passwd", "scheme"],
    ["myapp://cb", "scheme"],
    ["ftp://a.example/", "scheme"],
    ["cursor:alert(1)", "scheme"],
    ["cursor:/oauth/callback", "scheme"],
    ["cursor:///oauth/callback", "scheme"],
    ["CURSOR://anysphere.cursor-mcp/oauth/callback", "scheme"],
    ["cursors://anysphere.cursor-mcp/oauth/callback", "scheme"],
    ["x-cursor://anysphere.cursor-mcp/oauth/callback", "scheme"],
    ["cursor://anysphere.cursor-deeplink/mcp/install?name=x&config=eyJjb21tYW5kIjoieCJ9", "scheme"],
    ["cursor://anysphere.cursor-deeplink/mcp/install", "scheme"],
    ["cursor://anysphere.cursor-mcp/oauth/callback?x=1", "scheme"],
    ["vscode://file/etc/auth", "scheme"],
    ["vscode://vscode-remote/ssh-remote+evil.example/auth", "scheme"],
    ["vscode://vscode.git/clone?url=https://evil.example/auth.git", "scheme"],
    ["vscode://vscode.git/clone", "scheme"],
    ["vscode://vscode.git/auth/../clone", "scheme"],
    ["vscode://vscode.git/auth/%2e%2e/clone", "scheme"],
    ["vscode://file@vscode.git/auth", "scheme"],
    ["vscode://vscode.git:1/auth", "scheme"],
    ["warp://action/new_tab?path=/auth", "scheme"],
    ["warp://launch/auth", "scheme"],
    ["COM.example.app:/cb", "scheme"],
    ["http://evil.example/http://localhost/cb", "http_beyond_loopback"],
    ["http://evil.example/?http://127.0.0.1:80", "http_beyond_loopback"],
    ["http://app.example.org/cb", "http_beyond_loopback"],
    ["http://127.0.0.2/cb", "http_beyond_loopback"],
    ["http://localhost.evil.example/cb", "http_beyond_loopback"],
    ["http://127.0.0.1.evil.example/", "http_beyond_loopback"],
    ["https://user@app.example.org/", "userinfo"],
    ["http://localhost@evil.example/", "userinfo"],
    ["http://127.1/cb", "odd_host"],
    ["https://app.example.org:443/cb", "odd_host"],
    ["https://app%2eexample.org/", "odd_host"]
  ]
  for (const [uri, fault] of bad) {
    test(`not ${JSON.stringify(uri.slice(0, 60))}: ${fault}`, () => {
      expect(checkRedirectUri(uri)).toEqual(Result.fail(fault))
      expect(Schema.is(RedirectUri)(uri)).toBe(false)
    })
  }
})

describe("matching a redirect URI", () => {
  const match = (registered: string, presented: string) => matchRedirectUri([RedirectUri.make(registered)], presented)

  test("is character by character", () => {
    const uri = "https://app.example.org/cb?x=1"
    expect(match(uri, uri)).toBe(RedirectTarget.make(uri))
    for (const other of [
      `${uri}2`,
      uri.slice(0, -1),
      `${uri}&`,
      "https://app.example.org/cb",
      "https://app.example.org:443/cb?x=1",
      "https://APP.example.org/cb?x=1",
      "https://app.example.org/CB?x=1",
      ""
    ]) {
      expect(match(uri, other)).toBeUndefined()
    }
  })

  test("lets the port of a loopback address differ, and nothing else (RFC 8252 §7.3)", () => {
    for (const host of ["127.0.0.1", "[::1]", "localhost"]) {
      const uri = `http://${host}:1234/cb?x=1`
      for (const port of ["", ":80", ":1", ":65535", ":51234"]) {
        expect(match(uri, `http://${host}${port}/cb?x=1`)).toBe(RedirectTarget.make(`http://${host}${port}/cb?x=1`))
      }
      for (const other of [
        `http://${host}:5/cb`,
        `http://${host}:5/cb?x=2`,
        `http://${host}:65536/cb?x=1`,
        `http://${host}:/cb?x=1`,
        `http://${host}:5x/cb?x=1`,
        `https://${host}:5/cb?x=1`,
        `http://u@${host}:5/cb?x=1`,
        `http://${host}:123456/cb?x=1`
      ]) {
        expect(match(uri, other)).toBeUndefined()
      }
    }
    expect(match("http://localhost/cb", "http://127.0.0.1/cb")).toBeUndefined()
    expect(match("http://localhost", "http://localhost:99")).toBe(RedirectTarget.make("http://localhost:99"))
  })

  test("lets no port make it longer than what can be registered", () => {
    const uri = `http://localhost/${"a".repeat(2048 - "http://localhost/:1".length)}`
    expect(match(uri, uri.replace("localhost", "localhost:1"))).toBeDefined()
    expect(match(uri, uri.replace("localhost", "localhost:12"))).toBeUndefined()
  })

  test("keeps to the port everywhere else", () => {
    expect(match("https://app.example.org:8443/cb", "https://app.example.org:8444/cb")).toBeUndefined()
    expect(match("https://localhost:8443/cb", "https://localhost:8444/cb")).toBeUndefined()
  })

  test("finds nothing where nothing is registered", () => {
    expect(matchRedirectUri([], "https://app.example.org/cb")).toBeUndefined()
    expect(matchRedirectUri([], "http://localhost/cb")).toBeUndefined()
  })
})

describe("a target with parameters", () => {
  const withX = (uri: string) => withQuery(RedirectTarget.make(uri), "x=1")

  test("keeps its own query", () => {
    expect(withX("https://a.example/cb")).toBe("https://a.example/cb?x=1")
    expect(withX("https://a.example/cb?y=2")).toBe("https://a.example/cb?y=2&x=1")
    expect(withX("https://a.example/cb?")).toBe("https://a.example/cb?x=1")
    expect(withX("https://a.example/cb?y=2&")).toBe("https://a.example/cb?y=2&x=1")
    expect(withX("com.example.app:/cb")).toBe("com.example.app:/cb?x=1")
  })
})
