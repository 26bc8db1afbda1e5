import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { decodeJwt } from "jose"
import { setAccessTokenFormat } from "../../core/engine/administerClients.ts"
import { faultOfNeeds } from "../../core/oauth/presented/guard.ts"
import { ClientId } from "../../core/rules/Id.ts"
import {
  authorizeTarget,
  bearing,
  decide,
  header,
  introspectBy,
  jsonOf,
  provenClient,
  redeem,
  refresh,
  returned,
  signInToApp,
  type TestClient,
  text,
  tokenRequest,
  tokensOf
} from "../given/flow.ts"
import { signsIn } from "../given/openId.ts"
import { inWorld, t0, type World } from "../given/World.ts"

const needs = { scopes: ["api"], acr: ["gold"], maxAge: 60 } as const
const alice = (at: number, acr = "silver") => `alice; since=${at}; acr=${acr}`

/** What a guarded route says of a token: nothing where it lets it in, and otherwise its challenge. */
const challengeOf = Effect.fnUntraced(function* (world: World, access: string, asks: typeof needs | object = needs) {
  const guarded = yield* world.guard("/rest/vault", { scopes: ["api"], ...asks }, bearing(access))
  if (guarded._tag === "Admitted") return undefined
  return { status: guarded.response.status, said: header(guarded.response, "www-authenticate") ?? "" }
})

const introspected = (world: World, client: TestClient, token: string) =>
  Effect.map(introspectBy(world, client, token), jsonOf)

describe("a route that asks for a fresh or a stronger sign-in (RFC 9470)", () => {
  test("tells what to ask for, and takes the token that comes of it", () =>
    inWorld(function* (world) {
      const client = yield* provenClient(world)
      const plain = yield* signInToApp(world, client, { scope: "api" }, alice(t0))
      const refused = yield* challengeOf(world, plain.access)
      expect(refused?.status).toBe(401)
      for (const part of [
        'error="insufficient_user_authentication"',
        'acr_values="gold"',
        'max_age="60"',
        'scope="api"'
      ]) {
        expect(refused?.said).toContain(part)
      }
      const either = yield* challengeOf(world, plain.access, { acr: ["gold", "platinum"] })
      expect(either?.said).toContain('acr_values="gold platinum"')
      expect(either?.said).not.toContain("max_age")
      const asked = { scope: "api", acr_values: "gold", max_age: "60" }
      const fresh = yield* signInToApp(world, client, asked, alice(t0, "gold"))
      expect(yield* challengeOf(world, fresh.access)).toBeUndefined()
      const seen = yield* world.guard("/rest/vault", needs, bearing(fresh.access))
      expect(seen).toMatchObject({ _tag: "Admitted", principal: { authenticatedAt: t0, acr: "gold" } })
      expect(yield* introspected(world, client, fresh.access)).toMatchObject({ auth_time: t0 / 1000, acr: "gold" })
      expect(yield* introspected(world, client, plain.access)).not.toHaveProperty("auth_time")
    }, signsIn))

  for (const [scope, weak] of [
    ["api", "unmet_authentication_requirements"],
    // OpenID Connect Core §3.1.2.1: a wish.
    ["openid api", "consent"]
  ] as const) {
    test(`leads who follows it in no circle: ${scope}`, () =>
      inWorld(function* (world) {
        const client = yield* provenClient(world)
        const asked = authorizeTarget(client, { scope, acr_values: "gold" })
        const before = header(yield* world.send("GET", asked, { as: alice(t0 - 60_000) }), "location") ?? ""
        expect(before).toStartWith("/login?return_to=")
        const back = decodeURIComponent(before.slice("/login?return_to=".length))
        const still = yield* world.send("GET", back, { as: alice(t0) })
        expect(still.status === 200 ? "consent" : returned(still).get("error")).toBe(weak)
        const page = yield* world.send("GET", back, { as: alice(t0, "gold") })
        const code = text(returned(yield* decide(world, page, "approve", alice(t0, "gold"))).get("code"))
        const { access } = tokensOf(yield* redeem(world, client, code))
        expect(yield* challengeOf(world, access, { acr: ["gold"] })).toBeUndefined()
      }, signsIn))
  }

  test("takes no token for fresher than its person, however often it is refreshed", () =>
    inWorld(function* (world) {
      const client = yield* provenClient(world)
      const asked = { scope: "api", acr_values: "gold", max_age: "60" }
      const { access, refresh: token } = yield* signInToApp(world, client, asked, alice(t0, "gold"))
      yield* TestClock.adjust("60 seconds")
      expect(yield* challengeOf(world, access)).toBeUndefined()
      yield* TestClock.adjust("1 second")
      const later = tokensOf(yield* refresh(world, client, token))
      for (const one of [access, later.access]) expect((yield* challengeOf(world, one))?.status).toBe(401)
      expect(yield* challengeOf(world, later.access, { acr: ["gold"] })).toBeUndefined()
      expect((yield* challengeOf(world, later.access, { acr: ["platinum"] }))?.status).toBe(401)
    }, signsIn))

  test("lets in no caller without a sign-in to show: a client for itself, an API key", () =>
    inWorld(function* (world) {
      const client = yield* provenClient(world, { grant_types: ["client_credentials"] })
      const own = jsonOf(yield* tokenRequest(world, client, { grant_type: "client_credentials", scope: "api" }))
      const key = yield* world.services.grants.createKey(world.workspace.id, { name: "k", expiresAt: null })
      for (const token of [String(own.access_token), world.reveal(key.text)]) {
        expect(yield* challengeOf(world, token, {})).toBeUndefined()
        expect((yield* challengeOf(world, token))?.said).toContain("insufficient_user_authentication")
      }
    }, signsIn))

  test("finds it in a JWT", () =>
    inWorld(function* (world) {
      const client = yield* provenClient(world)
      const by = { workspace: world.workspace.id, by: "command line", requestId: "command line" } as const
      yield* setAccessTokenFormat(world.services, by, ClientId.make(client.id), "jwt")
      const asked = { scope: "api", acr_values: "gold", max_age: "60" }
      const { access } = yield* signInToApp(world, client, asked, alice(t0, "gold"))
      expect(decodeJwt(access)).toMatchObject({ auth_time: t0 / 1000, acr: "gold" })
      expect(yield* challengeOf(world, access)).toBeUndefined()
    }, signsIn))

  test("is not made of what says nothing", () => {
    for (const [odd, option] of [
      [{ maxAge: -1 }, "maxAge"],
      [{ maxAge: 1.5 }, "maxAge"],
      [{ maxAge: "60" }, "maxAge"],
      [{ acr: [] }, "acr"],
      [{ acr: ['a"b'] }, "acr"],
      [{ acr: ["a b"] }, "acr"],
      [{ acr: "gold" }, "acr"]
    ] as const) {
      // What JavaScript lets through.
      expect(faultOfNeeds({ scopes: [], ...(odd as object) })?.option).toBe(option)
    }
  })
})
