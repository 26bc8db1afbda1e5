import { describe, expect, test } from "bun:test"
import { Application } from "../browser/Application.ts"
import { challenge } from "../given/flow.ts"
import { serverOfFile } from "../given/serverOfFile.ts"
import { register, Visitor } from "../given/serverVisitor.ts"

const server = serverOfFile({ env: { RATE_LIMITS: "off" } })

/** All of them end, in one reader or another, at an attacker's host. */
const elsewhere = [
  "https://evil.example",
  "//evil.example",
  "///evil.example",
  "////evil.example",
  "/\\evil.example",
  "\\\\evil.example",
  "/\\/evil.example",
  "\\/evil.example",
  "/%2f/evil.example",
  "/%2fevil.example",
  "/%2Fevil.example",
  "/%5cevil.example",
  "/%5C%5Cevil.example",
  "/%252fevil.example",
  "/%252f%252fevil.example",
  "/.//evil.example",
  "/..//evil.example",
  "/settings/..//evil.example",
  "/%2e%2e//evil.example",
  "/%2e/%2fevil.example",
  "/settings/%2e%2e%2f%2fevil.example",
  "/\t/evil.example",
  "/%09/evil.example",
  "/\n/evil.example",
  "/%0a/evil.example",
  "/\r\n/evil.example",
  "/%0d%0aLocation:%20https://evil.example",
  "/ /evil.example",
  "/%20/evil.example",
  " //evil.example",
  "\u0000//evil.example",
  "/\u0000/evil.example",
  "javascript:alert(1)",
  "JaVaScRiPt:alert(1)",
  "java\nscript:alert(1)",
  "data:text/html,<script>alert(1)</script>",
  "vbscript:x",
  "http:evil.example",
  "https:evil.example",
  "http:/evil.example",
  "https:///evil.example",
  "http://127.0.0.1@evil.example",
  "//127.0.0.1@evil.example",
  "/@evil.example",
  ".evil.example",
  "@evil.example",
  ":80@evil.example",
  "?//evil.example",
  "#//evil.example",
  "/#//evil.example",
  "//evil。example",
  "//evil%E3%80%82example",
  "/／evil.example",
  "／／evil.example",
  "/\u2028/evil.example",
  "/\u00a0/evil.example",
  "/;//evil.example",
  "/.;/evil.example",
  "//[::1]@evil.example",
  "//evil.example:80",
  "//evil.example%23",
  "//evil.example%00.127.0.0.1",
  "/login?return_to=//evil.example",
  "/logout",
  `/${"a".repeat(9000)}`,
  "",
  "settings",
  "about:blank",
  "file:///etc/passwd",
  "ftp://evil.example"
]

const isHere = (location: string): boolean => {
  // As a browser reads it, from the page where it stands.
  const url = URL.canParse(location, `${server().url}/login`) ? new URL(location, `${server().url}/login`) : undefined
  return url?.origin === server().url && location.startsWith("/") && !/^\/[/\\]|[\r\n\t]|%0[ad]/i.test(location)
}

test("return_to never leads away, neither from the address nor from the form", async () => {
  const visitor = new Visitor(server().url)
  for (const target of elsewhere) {
    const page = await visitor.get(`/login?return_to=${encodeURIComponent(target)}`)
    const text = await page.text()
    const kept = /name="return_to" value="([^"]*)"/.exec(text)?.[1] ?? ""
    expect([target, isHere(kept)]).toEqual([target, true])
    expect([target, /href="[^"]*evil/.test(text)]).toEqual([target, false])
  }
  // The slow hash makes sign-ins dear; the same reader stands behind both, so the form is asked for a part of the list.
  for (const target of elsewhere.filter((_, index) => index % 6 === 0)) {
    const answer = await new Visitor(server().url).submit("/login", {
      email: "ada@northwind.example",
      password: "correct horse battery staple",
      return_to: target
    })
    expect([target, answer.status, isHere(answer.headers.get("location") ?? "")]).toEqual([target, 303, true])
  }
}, 60_000)

test("return_to brings a person to where they were", async () => {
  const target = "/oauth/authorize?client_id=x&redirect_uri=https%3A%2F%2Fa.example%2Fcb&state=%2F%2Fevil.example"
  const answer = await new Visitor(server().url).submit(`/login?return_to=${encodeURIComponent(target)}`, {
    email: "ada@northwind.example",
    password: "correct horse battery staple"
  })
  expect(answer.headers.get("location")?.replace(/^\/~\/[\w-]{22}/, "")).toBe(target)
})

test("an authorization request comes through sign-in byte for byte, a backslash too", async () => {
  const redirectUri = "https://ledger.example.org/callback"
  const { client_id } = await register(server().url, {
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: "none"
  })
  const asked = new URLSearchParams({
    response_type: "code",
    client_id,
    redirect_uri: redirectUri,
    code_challenge: challenge,
    code_challenge_method: "S256"
  })
  const state = "a\\b\\\\evil.example/%5C[x]{y}|^`~"
  const back = await new Visitor(server().url).decide(`${server().url}/oauth/authorize?${asked}&state=${state}`)
  expect(back.href).toContain(`&state=${state}&`)
  expect(back.href).toStartWith(`${redirectUri}?code=`)
})

test("the longest request that is not refused at once comes through sign-in too", async () => {
  const asked = (length: number) => `/oauth/authorize?state=${"a".repeat(length)}`
  const length = 12 * 1024 - encodeURIComponent(asked(0)).length
  const who = { email: "ada@northwind.example", password: "correct horse battery staple" }
  const answer = await new Visitor(server().url).submit(`/login?return_to=${encodeURIComponent(asked(length))}`, who)
  expect(answer.headers.get("location")?.replace(/^\/~\/[\w-]{22}/, "")).toBe(asked(length))
})

describe("authorize sends no browser to an address that was not registered", () => {
  const registered = "https://ledger.example.org/callback"
  const near = [
    ...elsewhere,
    "https://ledger.example.org",
    "https://ledger.example.org/",
    `${registered}/`,
    `${registered}/..`,
    `${registered}/../other`,
    `${registered}?`,
    `${registered}?x=1`,
    `${registered}#`,
    `${registered}#x`,
    `${registered}%00`,
    `${registered}%2f`,
    `${registered} `,
    ` ${registered}`,
    `${registered}\n`,
    "https://ledger.example.org:443/callback",
    "https://ledger.example.org./callback",
    "https://LEDGER.example.org/callback",
    "HTTPS://ledger.example.org/callback",
    "https://ledger.example.org/CALLBACK",
    "https://ledger.example.org/%63allback",
    "https://ledger.example.org\\@evil.example/callback",
    "https://ledger.example.org@evil.example/callback",
    "https://evil.example/https://ledger.example.org/callback",
    "https://ledger.example.org.evil.example/callback",
    "https://evilledger.example.org/callback",
    "http://ledger.example.org/callback",
    "//ledger.example.org/callback",
    "http://127.0.0.1:9999/callback",
    "http://localhost/callback"
  ]

  test("by a page, whether or not the person is signed in", async () => {
    const application = await Application.register(server().url, "Ledger", registered)
    const signedIn = new Visitor(server().url)
    await signedIn.signIn()
    for (const uri of near) {
      const url = application.authorizationUrl(uri)
      for (const visitor of [new Visitor(server().url), signedIn]) {
        const answer = await visitor.get(url)
        expect([uri, answer.status, answer.headers.get("location")]).toEqual([uri, 400, null])
        const text = await answer.text()
        expect([uri, /(?:href|src|action|content)="(?!\/|data:)[^"]*evil/.test(text)]).toEqual([uri, false])
      }
    }
  })

  test("nor with a second redirect_uri beside the right one", async () => {
    const application = await Application.register(server().url, "Ledger", registered)
    const url = application.authorizationUrl(registered)
    const evil = `redirect_uri=${encodeURIComponent("https://evil.example")}`
    for (const doubled of [`${url}&${evil}`, url.replace("?", `?${evil}&`), `${url}&redirect_uri=`]) {
      const answer = await new Visitor(server().url).get(doubled)
      expect([doubled, answer.status, answer.headers.get("location")]).toEqual([doubled, 400, null])
    }
  })
})
