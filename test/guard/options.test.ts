import { describe, expect, test } from "bun:test"
import * as ofElysia from "../../runtimes/elysia.ts"
import * as ofExpress from "../../runtimes/express.ts"
import * as ofFastify from "../../runtimes/fastify.ts"
import * as ofFetch from "../../runtimes/fetch.ts"
import { BadGuardOption, type Guard, type RemoteGuardOptions, remoteGuard } from "../../runtimes/guard.ts"
import * as ofHono from "../../runtimes/hono.ts"
import * as ofKoa from "../../runtimes/koa.ts"
import { withHost } from "../embed/host.ts"

const good: RemoteGuardOptions = {
  issuer: "https://auth.example",
  apiKey: "tsr_ak_do-not-tell-anybody",
  resource: "https://api.example"
}

const wrong: ReadonlyArray<readonly [option: string, over: object]> = [
  ["issuer", { issuer: "http://auth.example" }],
  ["issuer", { issuer: "nowhere" }],
  ["issuer", { issuer: "https://auth.example/" }],
  ["apiKey", { apiKey: "" }],
  ["apiKey", { apiKey: undefined }],
  ["apiKey", { apiKey: "tsr_ak_do-not-tell-anybody\r\nx: y" }],
  ["resource", { resource: "http://api.example" }],
  ["resourceMetadata", { resourceMetadata: "/.well-known/oauth-protected-resource" }],
  ["resourceMetadata", { resourceMetadata: "http://api.example/.well-known/oauth-protected-resource" }],
  ["introspectionEndpoint", { introspectionEndpoint: "http://auth.example/oauth/introspect" }],
  ["introspectionEndpoint", { introspectionEndpoint: "https://me:secret@auth.example/oauth/introspect" }],
  ["introspectionEndpoint", { introspectionEndpoint: "https://:secret@auth.example/oauth/introspect" }],
  ["cache.ttl", { cache: { ttl: "soon" } }],
  ["cache.ttl", { cache: { ttl: Number.NaN } }],
  ["cache.ttl", { cache: { ttl: Number.POSITIVE_INFINITY } }],
  ["cache.ttl", { cache: { ttl: { seconds: Number.NaN } } }],
  ["cache.ttl", { cache: { ttl: [0, Number.NaN] } }],
  ["cache.negativeTtl", { cache: { negativeTtl: Number.NaN } }],
  ["cache.negativeTtl", { cache: { negativeTtl: -1 } }],
  ["timeout", { timeout: Number.NaN }],
  ["cache.maxEntries", { cache: { maxEntries: 0 } }],
  ["timeout", { timeout: 0 }],
  ["questionsAtOnce", { questionsAtOnce: 0 }],
  ["questionsAtOnce", { questionsAtOnce: 1.5 }],
  ["questionsAtOnce", { questionsAtOnce: Number.NaN }],
  ["cache", { cache: null }],
  ["cache", { cache: 5 }],
  ["cache.tll", { cache: { tll: 0 } }],
  ["ttl", { ttl: 0 }],
  ["clock", { clock: {} }],
  ["clock", { clock: null }]
]

describe("an option of a remote guard that cannot be", () => {
  for (const [index, [option, over]] of wrong.entries()) {
    test(`is refused by its name: ${option} (${index + 1})`, () => {
      let refused: unknown
      try {
        // Wrong on purpose: the types would not let some of it through.
        remoteGuard({ ...good, ...over } as RemoteGuardOptions)
      } catch (error) {
        refused = error
      }
      if (!(refused instanceof BadGuardOption)) throw new Error("it was not refused")
      expect(refused.option).toBe(option)
      expect(refused.message).toStartWith(`remoteGuard: ${option} `)
      expect(`${refused.message} ${refused.stack}`).not.toContain("do-not-tell-anybody")
    })
  }

  test("is all of them, where there are none", () => {
    // Wrong on purpose, as above.
    for (const none of [undefined, null, "https://auth.example"] as ReadonlyArray<unknown>) {
      expect(() => remoteGuard(none as RemoteGuardOptions)).toThrow(
        new BadGuardOption({ option: "options", message: "remoteGuard: options have to be an object" })
      )
    }
  })

  test("and the rest is taken", () => {
    remoteGuard(good)
    remoteGuard({ ...good, issuer: "http://127.0.0.1:3000/auth", resource: "http://localhost:4000/api" })
  })
})

type Needs = Parameters<Guard["check"]>[1]

const makers: Readonly<Record<string, (guard: Guard, needs: Needs) => unknown>> = {
  elysia: ofElysia.guard,
  express: ofExpress.guard,
  fastify: ofFastify.guard,
  fetch: (guard, needs) => ofFetch.guard(guard, needs, () => new Response()),
  hono: ofHono.guard,
  koa: ofKoa.guard
}

const noResource = { scopes: ["api"], resource: "mcp" }

const noScopes: ReadonlyArray<object | null | undefined> = [
  null,
  undefined,
  {},
  { scope: ["api"] },
  { scopes: "api" },
  { scopes: null },
  { scopes: [5] },
  { scopes: [["api"]] },
  { scopes: [""] },
  { scopes: ["a b"] },
  { scopes: ['a"'] },
  { scopes: ["a\r\nx: y"] },
  { scopes: ["anmelden→lesen"] },
  { scopes: ["api", "a".repeat(65)] }
]
const noScopesRefused = new BadGuardOption({
  option: "scopes",
  message: 'guard: scopes has to be a list of scope names, such as ["api"]'
})

describe("scopes that cannot be", () => {
  for (const [name, make] of Object.entries(makers)) {
    test(`are refused by their name where the route is guarded: ${name}`, () => {
      const guard = remoteGuard(good)
      // What JavaScript lets through.
      for (const needs of noScopes) expect(() => make(guard, needs as Needs)).toThrow(noScopesRefused)
      for (const scopes of [[], ["api"], ["orders:read", "a".repeat(64)]]) make(guard, { scopes })
    })
  }

  test("are refused where a guard is asked without a helper, for any caller", () =>
    withHost({}, async (auth) => {
      for (const guard of [auth, remoteGuard(good)]) {
        for (const needs of noScopes) {
          const call = { method: "GET", path: "/", headers: new Headers({ authorization: "Bearer x" }) }
          // What JavaScript lets through.
          await expect(guard.check(call, needs as Needs)).rejects.toEqual(noScopesRefused)
        }
      }
    }))
})

const refusal = new BadGuardOption({
  option: "resource",
  message:
    "guard: resource has to be a path below the issuer, such as /mcp, or a whole https address, without dot segments, query or fragment"
})

describe("a resource that cannot be", () => {
  for (const [name, make] of Object.entries(makers)) {
    test(`is refused by its name where the route is guarded: ${name}`, () => {
      const guard = remoteGuard(good)
      expect(() => make(guard, noResource)).toThrow(refusal)
      // What JavaScript lets through.
      for (const resource of [null, 5, ["/mcp"], {}] as ReadonlyArray<unknown>) {
        expect(() => make(guard, { scopes: ["api"], resource: resource as string })).toThrow(refusal)
      }
      for (const resource of ["/mcp", "/a/b/"]) make(guard, { scopes: ["api"], resource })
      make(guard, { scopes: ["api"] })
    })
  }

  test("is refused where a guard is asked without a helper, for any caller", () =>
    withHost({}, async (auth) => {
      for (const guard of [auth, remoteGuard(good)]) {
        expect(guard.guard(new Request("https://api.example/mcp"), noResource)).rejects.toEqual(refusal)
        const call = { method: "GET", path: "/mcp", headers: new Headers() }
        expect(guard.check(call, noResource)).rejects.toEqual(refusal)
      }
    }))
})

describe("where a remote guard says that its metadata is", () => {
  const challenged = async (over: Partial<RemoteGuardOptions>, needs: Needs = { scopes: ["api"] }) => {
    const checked = await remoteGuard({ ...good, ...over }).guard(new Request("https://api.example/x"), needs)
    const header = checked._tag === "Refused" ? checked.response.headers.get("www-authenticate") : null
    return /^Bearer resource_metadata="([^"]*)"(?:, scope="api")?, DPoP /.exec(header ?? "")?.[1]
  }
  const path = "/.well-known/oauth-protected-resource"

  test("is the authorization server's own of its resource, where that is below the issuer", async () => {
    const app = "https://app.example"
    const named: ReadonlyArray<readonly [issuer: string, resource: string, metadata: string]> = [
      [app, app, `${app}${path}`],
      [app, `${app}/`, `${app}${path}`],
      [app, `${app}/mcp`, `${app}${path}/mcp`],
      [app, "HTTPS://APP.example:443/a/../mcp", `${app}${path}/mcp`],
      [`${app}/auth`, `${app}/auth/mcp`, `${app}${path}/auth/mcp`],
      [`${app}/auth`, `${app}/auth`, `${app}${path}/auth`],
      [`${app}/auth`, `${app}/auth/`, `${app}${path}/auth`],
      // Beside it: another path, a longer word, another scheme, port or host.
      [`${app}/auth`, `${app}/mcp`, `${app}${path}/auth`],
      [`${app}/auth`, `${app}/authors/mcp`, `${app}${path}/auth`],
      [`${app}/auth`, "https://api.example/auth/mcp", `${app}${path}/auth`],
      [app, `${app}:8443/mcp`, `${app}${path}`],
      ["https://127.0.0.1", "http://127.0.0.1/mcp", `https://127.0.0.1${path}`],
      // What no metadata can be asked for.
      [app, `${app}/mcp?a=b`, `${app}${path}`],
      [app, `${app}/mcp#a`, `${app}${path}`],
      [app, `${app}/a//b`, `${app}${path}`]
    ]
    for (const [issuer, resource, metadata] of named) {
      expect([issuer, resource, await challenged({ issuer, resource })]).toEqual([issuer, resource, metadata])
    }
  })

  test("is what it is told, and below the issuer where the route has a resource of its own", async () => {
    const own = { resourceMetadata: "https://api.example/metadata" }
    expect(await challenged(own)).toBe("https://api.example/metadata")
    for (const over of [own, {}]) {
      const below = await challenged({ ...over, issuer: "https://auth.example/t" }, { scopes: [], resource: "/mcp" })
      expect(below).toBe(`https://auth.example${path}/t/mcp`)
    }
  })
})
