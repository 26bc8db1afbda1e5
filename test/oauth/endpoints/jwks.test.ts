import { describe, expect, test } from "bun:test"
import { Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import { createLocalJWKSet } from "jose"
import { publishedAhead } from "../../../core/engine/signingKeys.ts"
import type { HttpResponse } from "../../../core/http/Http.ts"
import { RegistrationPolicy } from "../../../core/ports/RegistrationPolicy.ts"
import { currentInstant } from "../../../core/rules/Instant.ts"
import type { Algorithm } from "../../../core/rules/Jwk.ts"
import { signInScopes } from "../../../core/rules/Scope.ts"
import { inWorld, realSignatures, theWorkspace, type World } from "../../given/World.ts"

const signing = { signatures: realSignatures }

const header = ({ headers }: HttpResponse, name: string) => headers.find(([one]) => one === name)?.[1] ?? null

const sign = (world: World, algorithm: Algorithm = "ES256") =>
  Effect.flatMap(currentInstant, (now) => world.services.signing.ready(theWorkspace, { algorithm, life: 60_000 }, now))

describe("the published keys (RFC 7517)", () => {
  test("are there for whoever comes before the first signature, by what signs unless somebody says otherwise", async () => {
    const first = (options: Parameters<typeof inWorld>[1]) =>
      inWorld(
        function* (world) {
          const told = yield* world.send("GET", "/oauth/jwks")
          expect([told.status, header(told, "cache-control")]).toEqual([200, "public, max-age=300"])
          const { keys } = JSON.parse(told.body) as { keys: ReadonlyArray<{ alg: Algorithm }> }
          for (const { alg } of keys) yield* sign(world, alg)
          expect((yield* world.send("GET", "/oauth/jwks")).body).toBe(told.body)
          return keys.map(({ alg }) => alg)
        },
        { ...signing, ...options }
      )
    expect(await first({})).toEqual(["ES256"])
    expect(await first({ policy: { scopes: signInScopes } })).toEqual(["ES256", "RS256"])
    expect(await first({ policy: { scopes: signInScopes }, registration: RegistrationPolicy.layerClosed })).toEqual([
      "ES256"
    ])
    expect(await first({ policy: { scopes: signInScopes, profile: "fapi2" } })).toEqual(["ES256"])
    expect(await first({ policy: { jwtAlgorithm: "EdDSA" } })).toEqual(["EdDSA"])
  })

  test("have public members only, may be kept for five minutes, and are read from any origin", () =>
    inWorld(function* (world) {
      yield* sign(world)
      yield* sign(world, "RS256")
      const answer = yield* world.send("GET", "/oauth/jwks")
      expect(header(answer, "cache-control")).toBe("public, max-age=300")
      expect(header(answer, "content-type")).toBe("application/json")
      expect(header(answer, "access-control-allow-origin")).toBe("*")
      const set = JSON.parse(answer.body) as { keys: Array<Record<string, string>> }
      expect(set.keys.map((key) => Object.keys(key).sort())).toEqual([
        ["alg", "crv", "kid", "kty", "use", "x", "y"],
        ["alg", "e", "kid", "kty", "n", "use"]
      ])
      expect(set.keys).toMatchObject([
        { alg: "ES256", use: "sig", kty: "EC" },
        { alg: "RS256", use: "sig", kty: "RSA" }
      ])
      createLocalJWKSet(set as Parameters<typeof createLocalJWKSet>[0])
    }, signing))

  test("are not sent again to a cache that has them, until they change", () =>
    inWorld(function* (world) {
      yield* sign(world)
      const etag = header(yield* world.send("GET", "/oauth/jwks"), "etag") ?? ""
      const ask = (known: string) =>
        Effect.map(world.send("GET", "/oauth/jwks", { headers: { "if-none-match": known } }), (answer) => [
          answer.status,
          answer.body.length > 0,
          header(answer, "etag") === etag
        ])
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*", '"other", *']) {
        expect(yield* ask(known)).toEqual([304, false, true])
      }
      for (const known of ['"other"', "", etag.slice(1), `"W/${etag.slice(1)}`])
        expect(yield* ask(known)).toEqual([200, true, true])
      yield* world.services.signing.rotate(theWorkspace, yield* currentInstant)
      expect(yield* ask(etag)).toEqual([200, true, false])
      yield* TestClock.adjust(Duration.millis(publishedAhead))
      expect(yield* ask(etag)).toEqual([200, true, false])
    }, signing))

  test("are known by themselves, not by how many there are", async () => {
    const etag = () =>
      inWorld(
        (world) =>
          Effect.map(Effect.andThen(sign(world), world.send("GET", "/oauth/jwks")), (answer) => header(answer, "etag")),
        signing
      )
    expect(await etag()).not.toBe(await etag())
  })

  test("stand in the metadata of a server that can sign, and of no other", async () => {
    const metadata = (world: World) =>
      Effect.map(
        world.send("GET", "/.well-known/oauth-authorization-server"),
        ({ body }) => JSON.parse(body) as Record<string, unknown>
      )
    const told = await inWorld(metadata, signing)
    expect(told.jwks_uri).toBe(`${theWorkspace.issuer}/oauth/jwks`)
    const silent = await inWorld(metadata)
    expect(Object.keys(silent)).not.toContain("jwks_uri")
  })
})
