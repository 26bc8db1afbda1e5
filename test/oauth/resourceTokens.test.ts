import { describe, expect, test } from "bun:test"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { decodeJwt, decodeProtectedHeader } from "jose"
import { setAccessTokenFormat } from "../../core/engine/administerClients.ts"
import { addResource } from "../../core/engine/administerWorkspace.ts"
import type { HttpResponse } from "../../core/http/Http.ts"
import { ClientId } from "../../core/rules/Id.ts"
import { ResourceRegistry, termsOf } from "../../core/rules/Resource.ts"
import { ScopeRegistry } from "../../core/rules/Scope.ts"
import type { Workspace } from "../../core/workspace/Workspace.ts"
import { byOwner } from "../given/auditContext.ts"
import {
  codeFor,
  companies,
  form,
  formHeaders,
  jsonOf,
  provenClient,
  redeem,
  refresh,
  registerClient,
  type TestClient,
  tokenRequest,
  tokensOf
} from "../given/flow.ts"
import { inWorld, realSignatures, theWorkspace, type World, type WorldOptions } from "../given/World.ts"

const { issuer } = theWorkspace
const gateway = "https://gateway.example.com"
const quick = `${gateway}/quick`
const mcp = "https://mcp.example.com/mcp"
const below = `${issuer}/below`

const resources = Schema.decodeUnknownSync(ResourceRegistry)([
  { at: gateway, name: "Gateway", accessTokenFormat: "jwt", scopes: ["gate"] },
  { at: quick, name: "Quick", accessTokenFormat: "jwt", accessTokenTtl: 60_000, scopes: ["gate"] },
  { at: mcp, name: "Tools", accessTokenTtl: 300_000, scopes: ["tools"] },
  { at: below, name: "Below", accessTokenFormat: "jwt", scopes: ["gate"] }
])

const workspace: Workspace = {
  ...theWorkspace,
  scopes: Schema.decodeUnknownSync(ScopeRegistry)(
    ["api", "gate", "tools"].map((name) => ({ name, meaning: name, needsUser: false, byDefault: name === "api" }))
  ),
  resources
}

const inListed = (body: (world: World) => Effect.Effect<void, unknown>, options: WorldOptions = {}) =>
  inWorld(body, { resolve: () => workspace, signatures: realSignatures, ...options })

const all = { grant_types: ["authorization_code", "refresh_token", "client_credentials"], scope: "api gate tools" }

const own = (world: World, client: TestClient, fields: Readonly<Record<string, string | ReadonlyArray<string>>> = {}) =>
  tokenRequest(world, client, { grant_type: "client_credentials", ...fields })

const audienceOf = (text: string) => (text.startsWith("ey") ? decodeJwt(text).aud : "opaque")

/** For whom the token is, where that can be read, and for how many seconds. */
const told = (answer: HttpResponse) => {
  const { access_token, expires_in } = jsonOf(answer)
  return [audienceOf(String(access_token)), expires_in]
}

describe("what resources ask of their tokens", () => {
  test.each([
    ["a stranger's", ["https://other.example.com"], "opaque", undefined],
    ["one that reads them", [gateway], "jwt", 60_000],
    ["a place in it", [`${gateway}/orders`], "jwt", undefined],
    ["the nearer of two", [`${quick}/now`], "jwt", 60_000],
    ["one that asks", [mcp], "opaque", 300_000],
    ["both", [mcp, `${gateway}/orders`], "jwt", 300_000],
    ["all below the issuer", [issuer], "jwt", undefined],
    ["a place beside", [`${issuer}/rest`], "opaque", undefined]
  ] as const)("%s", (_, places, format, ttl) => {
    expect(termsOf({ issuer, resources }, places)).toEqual({ format, ttl })
    expect(termsOf({ issuer, resources: [] }, places)).toEqual({ format: "opaque", ttl: undefined })
  })

  test("makes a client's own tokens", () =>
    inListed((world) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world, all)
        const rows = [
          [{ resource: `${gateway}/orders`, scope: "gate" }, [`${gateway}/orders`, 3600]],
          [{ resource: quick, scope: "gate" }, [quick, 60]],
          [{ resource: mcp, scope: "tools" }, ["opaque", 300]],
          [{ resource: [mcp, quick], scope: "tools gate" }, [[mcp, quick], 60]],
          // No resource is named, so it is for the issuer, those below it, and all that take a scope of it.
          [{ scope: "tools" }, [[issuer, mcp], 300]],
          [{ scope: "api gate" }, [[issuer, gateway, quick, below], 60]]
        ] as const
        for (const [fields, expected] of rows) expect(told(yield* own(world, client, fields))).toEqual([...expected])
      })
    ))

  test("gives way to what an owner chose for a client, but for the end", () =>
    inListed((world) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world, all)
        yield* setAccessTokenFormat(world.services, byOwner(world), ClientId.make(client.id), "opaque")
        yield* TestClock.adjust("5 seconds")
        expect(told(yield* own(world, client, { resource: quick, scope: "gate" }))).toEqual(["opaque", 60])
      })
    ))

  test("holds for a person's tokens, where the request for them names nothing any more", () =>
    inListed((world) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world, all)
        const code = yield* codeFor(world, client, { resource: [mcp, quick], scope: "gate tools" })
        const first = yield* redeem(world, client, code)
        expect(told(first)).toEqual([[mcp, quick], 60])
        const second = yield* refresh(world, client, tokensOf(first).refresh)
        expect(told(second)).toEqual([[mcp, quick], 60])
        const narrowed = yield* refresh(world, client, tokensOf(second).refresh, { resource: mcp })
        expect(told(narrowed)).toEqual(["opaque", 300])
      })
    ))

  test.each(["EdDSA", "Ed25519", "ES256", "PS256", "RS256"] as const)(
    "is signed by %s where the server says so",
    (alg) =>
      inListed(
        (world) =>
          Effect.gen(function* () {
            const client = yield* provenClient(world, all)
            const access = String(jsonOf(yield* own(world, client)).access_token)
            expect(decodeProtectedHeader(access).alg).toBe(alg)
            expect((yield* companies(world, access)).status).toBe(200)
          }),
        { policy: { jwtAlgorithm: alg } }
      )
  )

  test("is told of and revoked as any token", () =>
    inListed((world) =>
      Effect.gen(function* () {
        const client = yield* provenClient(world, all)
        const answer = yield* own(world, client, { resource: [quick, issuer], scope: "gate api" })
        const access = String(jsonOf(answer).access_token)
        const ask = (path: string) =>
          Effect.map(
            world.send("POST", path, {
              headers: formHeaders,
              body: form({ client_id: client.id, client_secret: client.secret, token: access })
            }),
            jsonOf
          )
        expect(yield* ask("/oauth/introspect")).toMatchObject({ active: true, aud: [quick, issuer] })
        expect((yield* companies(world, access)).status).toBe(200)
        yield* ask("/oauth/revoke")
        expect((yield* ask("/oauth/introspect")).active).toBe(false)
        expect((yield* companies(world, access)).status).toBe(401)
      })
    ))

  test("is known to another process within a moment of being listed", () =>
    inWorld(
      function* (world) {
        const elsewhere = yield* world.elsewhere
        const client = yield* registerClient(world, { ...all, scope: "api" })
        const opened = yield* elsewhere.services.openings.open(world.workspace)
        const typed = { at: gateway, name: "", scopes: [], accessTokenFormat: "jwt", accessTokenTtl: 1000 } as const
        yield* addResource(elsewhere.services, byOwner(elsewhere), opened, typed)
        yield* TestClock.adjust("5 seconds")
        expect(told(yield* own(world, client, { resource: gateway }))).toEqual([gateway, 1])
        expect(told(yield* own(world, client))).toEqual([[issuer, gateway], 1])
      },
      { signatures: realSignatures }
    ))

  test("spends nothing where no key signs, and stops no token that needs no signature", () =>
    inWorld(
      function* (world) {
        const client = yield* registerClient(world, all)
        const code = yield* codeFor(world, client, { resource: quick, scope: "gate" })
        const refused = yield* redeem(world, client, code)
        expect([refused.status, jsonOf(refused).error]).toEqual([503, "temporarily_unavailable"])
        expect(world.calls.replace).toEqual([])
        expect(told(yield* own(world, client, { resource: mcp, scope: "tools" }))).toEqual(["opaque", 300])
      },
      { resolve: () => workspace }
    ))
})
