import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import type { HttpResponse } from "../../core/http/Http.ts"
import { header, jsonOf } from "../given/flow.ts"
import { signsIn } from "../given/openId.ts"
import { inWorld } from "../given/World.ts"

const origin = (response: HttpResponse) => header(response, "access-control-allow-origin")

const open = [
  ["/.well-known/oauth-authorization-server", "GET, HEAD, OPTIONS"],
  ["/.well-known/oauth-protected-resource/rest", "GET, HEAD, OPTIONS"],
  ["/.well-known/openid-configuration", "GET, HEAD, OPTIONS"],
  ["/oauth/jwks", "GET, HEAD, OPTIONS"],
  ["/oauth/register", "POST, OPTIONS"],
  [`/oauth/register/${"A".repeat(22)}`, "GET, PUT, DELETE, HEAD, OPTIONS"],
  ["/oauth/par", "POST, OPTIONS"],
  ["/oauth/device_authorization", "POST, OPTIONS"],
  ["/oauth/token", "POST, OPTIONS"],
  ["/oauth/revoke", "POST, OPTIONS"],
  ["/oauth/userinfo", "GET, POST, HEAD, OPTIONS"],
  ["/rest/companies", "GET, HEAD, OPTIONS"]
] as const

const closed = ["/oauth/authorize", "/oauth/logout", "/consent", "/oauth/introspect", "/healthz", "/readyz"]

describe("a script of another origin", () => {
  for (const [path, methods] of open) {
    test(`may call ${path} without credentials, and is told so beforehand`, () =>
      inWorld(function* (world) {
        const response = yield* world.send("OPTIONS", path, {
          headers: { origin: "https://any.example", "access-control-request-method": "POST" }
        })
        expect([response.status, response.body, origin(response)]).toEqual([204, "", "*"])
        expect(header(response, "access-control-allow-methods")).toBe(methods)
        expect(header(response, "access-control-allow-headers")).toBe("Authorization, Content-Type")
        expect(header(response, "access-control-max-age")).toBe("86400")
        expect(header(response, "vary")).toBe("Access-Control-Request-Headers")
        expect(header(response, "access-control-allow-credentials")).toBeUndefined()
        expect(response.headers.filter(([name]) => name === "access-control-allow-origin")).toHaveLength(1)
      }, signsIn))

    test(`may read what ${path} answers, errors too, and the headers that it needs`, () =>
      inWorld(function* (world) {
        const response = yield* world.send(path.includes("oauth/") && !path.includes("info") ? "POST" : "GET", path)
        expect(origin(response)).toBe("*")
        expect(header(response, "access-control-expose-headers")).toBe(
          "WWW-Authenticate, Retry-After, DPoP-Nonce, X-Request-Id"
        )
      }, signsIn))
  }

  for (const path of closed) {
    test(`gets nothing from ${path}`, () =>
      inWorld(function* (world) {
        const headers = { origin: "https://any.example" }
        expect(origin(yield* world.send("GET", path, { headers }))).toBeUndefined()
        const asked = yield* world.send("OPTIONS", path, { headers })
        expect([asked.status, origin(asked)]).toEqual([405, undefined])
      }, signsIn))
  }

  test("may send the headers that it asks for, if they are names of headers at all", () =>
    inWorld(function* (world) {
      const allowed = (asked: string) =>
        Effect.map(
          world.send("OPTIONS", "/oauth/token", { headers: { "access-control-request-headers": asked } }),
          (response) => header(response, "access-control-allow-headers")
        )
      for (const sound of ["authorization,dpop", "X-A, x-b", "a!#$%&'*+.^_`|~-9", "x".repeat(1024)]) {
        expect(yield* allowed(sound)).toBe(sound)
      }
      for (const odd of ["a b;c", "x(y)", '"', "x".repeat(1025), "(x", "x)"]) {
        expect(yield* allowed(odd)).toBe("Authorization, Content-Type")
      }
    }))
})

describe("methods and paths", () => {
  test("HEAD is GET without the body", () =>
    inWorld(function* (world) {
      const path = "/.well-known/oauth-authorization-server"
      const [get, head] = [yield* world.send("GET", path), yield* world.send("HEAD", path)]
      expect([head.status, head.body]).toEqual([200, ""])
      const others = (response: HttpResponse) =>
        response.headers.filter(([name]) => !["x-request-id", "content-length"].includes(name))
      expect(others(head)).toEqual(others(get))
      expect(header(head, "content-length")).toBe(String(get.body.length))
      expect((yield* world.send("HEAD", "/oauth/token")).status).toBe(405)
    }))

  test("a wrong method is 405 with Allow", () =>
    inWorld(function* (world) {
      for (const [path, methods] of open) {
        const response = yield* world.send("PATCH", path)
        expect([response.status, header(response, "allow")]).toEqual([405, methods])
        expect(jsonOf(response).error).toBe("invalid_request")
      }
      for (const path of ["/oauth/authorize", "/consent"]) {
        const response = yield* world.send("DELETE", path)
        expect([response.status, header(response, "content-type")]).toEqual([405, "text/html; charset=utf-8"])
        expect(header(response, "allow")).toStartWith("GET, ")
      }
      for (const method of ["get", "TRACE", "", "constructor"]) {
        expect((yield* world.send(method, "/oauth/token")).status).toBe(405)
      }
    }, signsIn))

  test("an unknown path is 404, as JSON, or as a page to a browser", () =>
    inWorld(function* (world) {
      for (const path of [
        "/",
        "/oauth",
        "/oauth/token/",
        "/oauth/token/x",
        "/OAuth/token",
        "/oauth/register/",
        "/oauth/register/a/b",
        "/.well-known/openid-configuration",
        "/constructor"
      ]) {
        const response = yield* world.send("GET", path)
        expect([path, response.status, jsonOf(response).error]).toEqual([path, 404, "not_found"])
      }
      const page = yield* world.send("GET", "/nowhere", { headers: { accept: "text/html,*/*" } })
      expect([page.status, header(page, "content-type")]).toEqual([404, "text/html; charset=utf-8"])
    }))

  test("every answer carries an id of its own, and is never sniffed", () =>
    inWorld(function* (world) {
      const ids = new Set<string | undefined>()
      const asked = [
        ["GET", "/healthz"],
        ["GET", "/nowhere"],
        ["PATCH", "/oauth/token"],
        ["OPTIONS", "/oauth/token"],
        ["POST", "/oauth/token"],
        ["GET", "/oauth/authorize"]
      ] as const
      for (const [method, path] of asked) {
        const response = yield* world.send(method, path)
        expect(header(response, "x-content-type-options")).toBe("nosniff")
        expect(header(response, "x-request-id")).toMatch(/^[\w-]{16}$/)
        ids.add(header(response, "x-request-id"))
      }
      expect(ids.size).toBe(asked.length)
    }))

  test("alive and ready say so, and keep no copy", () =>
    inWorld(function* (world) {
      const alive = yield* world.send("GET", "/healthz")
      const ready = yield* world.send("GET", "/readyz")
      expect([alive.status, jsonOf(alive)]).toEqual([200, { status: "ok" }])
      expect([ready.status, jsonOf(ready)]).toEqual([200, { status: "ready" }])
      for (const response of [alive, ready]) expect(header(response, "cache-control")).toBe("no-store")
    }))
})
