import { describe, expect, test } from "bun:test"
import { Schema } from "effect"
import type { Client } from "../../core/client/Client.ts"
import { actOf, actorsIn, claimsOf, isLongLived, mayBeJwt, mostActors } from "../../core/grant/jwtAccessToken.ts"
import { ClientId, PlaceId } from "../../core/rules/Id.ts"
import { ResourceRegistry, Resources } from "../../core/rules/Resource.ts"
import { ScopeRegistry, standardScopes } from "../../core/rules/Scope.ts"
import { theWorkspace } from "../given/World.ts"
import { active, after, client, me, scopes, standing, t0 } from "./given.ts"

describe("who acts (RFC 8693 §4.1)", () => {
  test("is told from the last to the first, and read back as it was told", () => {
    const names = ["a", "b", "c", "d"]
    expect(actOf([])).toBeUndefined()
    expect(actorsIn(actOf([]))).toStrictEqual({})
    for (let count = 1; count <= names.length; count++) {
      const actors = names.slice(0, count)
      expect(actorsIn(actOf(actors))).toStrictEqual({ actors })
    }
    expect(actOf(["a", "b"])).toStrictEqual({ sub: "a", act: { sub: "b" } })
  })

  test("is cut where it nests deeper than any of ours, and where it is none", () => {
    const deep = Array.from({ length: mostActors + 3 }, (_, at) => `${at}`)
    expect(actorsIn(actOf(deep))).toStrictEqual({ actors: deep.slice(0, mostActors) })
    for (const odd of [undefined, null, "a", {}, { sub: 7 }, { act: { sub: "a" } }]) {
      expect(actorsIn(odd)).toStrictEqual({})
      expect(actorsIn({ sub: "a", act: odd })).toStrictEqual({ actors: ["a"] })
    }
  })
})

test("a life is long that goes on for more than five minutes after an end", () => {
  expect([299_999, 300_000, 300_001].map(isLongLived)).toEqual([false, false, true])
})

describe("a JWT's claims", () => {
  const token = (resources: Resources | null = null) => ({
    access: {
      kind: "access" as const,
      grant: active().id,
      expiresAt: after(999),
      epoch: 0,
      serial: "0123456789abcdef",
      scope: null,
      resources,
      binding: null,
      actors: null
    },
    refresh: null,
    scope: scopes("api")
  })
  const readResources = Schema.decodeUnknownSync(Resources)
  const registry = (...ats: ReadonlyArray<string>) =>
    Schema.decodeUnknownSync(ResourceRegistry)(ats.map((at) => ({ at, name: "API" })))
  const audience = (resources: ResourceRegistry, named: ReadonlyArray<string> | null = null) =>
    claimsOf(
      { ...theWorkspace, resources },
      standardScopes,
      active(),
      token(named && readResources(named)),
      me.client,
      "ref",
      t0
    ).aud

  test("say for what it is: what was named, one as it is and several as a list, or all that takes its scopes", () => {
    const api = "https://api.example.com"
    expect(audience([])).toBe(theWorkspace.issuer)
    expect(audience(registry(api), [api])).toBe(api)
    expect(audience(registry(api), [api, theWorkspace.issuer])).toEqual([api, theWorkspace.issuer])
    expect(audience(registry(api))).toEqual([theWorkspace.issuer, api])
  })

  test("say the issuer alone where all others would not fit into a header", () => {
    const room = 1024 - theWorkspace.issuer.length - 1
    const address = (length: number) => `https://a.example/${"a".repeat(length - "https://a.example/".length)}`
    expect(audience(registry(address(room)))).toEqual([theWorkspace.issuer, address(room)])
    expect(audience(registry(address(room + 1)))).toBe(theWorkspace.issuer)
  })

  test("name the client by what it goes by, and who acts for a machine", () => {
    const identifier = "https://app.example/client.json"
    const of: Client = client({ origin: { identifier, since: t0, document: { host: "app.example" } } as never })
    const claims = (grant: Parameters<typeof claimsOf>[2], by: Client) =>
      claimsOf(theWorkspace, standardScopes, grant, token(), by, "ref", t0)
    expect(claims(active(), of)).toMatchObject({ sub: "alice", client_id: identifier, principal: "User" })
    expect(claims(standing(), of)).toMatchObject({ sub: identifier, client_id: identifier, principal: "Workspace" })
    const other = client({ id: ClientId.make("o".repeat(22)) })
    // It asks with a token of another's grant.
    expect(claims(active(), other)).toMatchObject({ sub: "alice", client_id: me.client.id })
  })

  test("say all that is known of the token, and nothing else", () => {
    const grant = { ...active(), authentication: { at: after(-1), acr: "2", nonce: "n" } }
    const actors = ["x", "y"].map((letter) => ({ client: ClientId.make(letter.repeat(22)), showed: "0".repeat(16) }))
    const { access, ...rest } = token()
    const bound = {
      ...rest,
      access: { ...access, binding: { thumbprint: "A".repeat(43) }, actors: actors as never },
      actors: actors.map(({ client }) => client)
    }
    const always = {
      iss: theWorkspace.issuer,
      sub: "alice",
      aud: theWorkspace.issuer,
      client_id: me.client.id,
      exp: t0 / 1000,
      iat: t0 / 1000,
      jti: "0123456789abcdef",
      scope: "api",
      principal: "User",
      grant: "gggggggg",
      ref: "ref"
    }
    const of = (by: Parameters<typeof claimsOf>[2], tokens: Parameters<typeof claimsOf>[3]) =>
      JSON.parse(JSON.stringify(claimsOf(theWorkspace, standardScopes, by, tokens, me.client, "ref", t0))) as object
    expect(of(active(), token())).toEqual(always)
    expect(of(grant, bound)).toEqual({
      ...always,
      client_id: actors[0]?.client,
      cnf: { jkt: "A".repeat(43) },
      act: { sub: actors[0]?.client, act: { sub: actors[1]?.client } },
      auth_time: t0 / 1000 - 1,
      acr: "2"
    })
  })

  test("say what its scopes imply, where they imply anything", () => {
    const implying = Schema.decodeUnknownSync(ScopeRegistry)([
      { name: "api", meaning: "All", needsUser: false, byDefault: true, implies: ["api:read"] },
      { name: "api:read", meaning: "Read", needsUser: false, byDefault: false }
    ])
    const said = (scopesOfServer: ScopeRegistry) =>
      claimsOf(theWorkspace, scopesOfServer, active(), token(), me.client, "ref", t0)
    expect(said(implying).implied_scope).toBe("api:read")
    expect("implied_scope" in said(standardScopes)).toBe(false)
    expect("place" in said(standardScopes)).toBe(false)
    expect(
      claimsOf(theWorkspace, standardScopes, active({ place: PlaceId.make("emea") }), token(), me.client, "ref", t0)
        .place
    ).toBe("emea")
  })
})

test("a client's tokens may be JWTs where an owner chose so, or no owner chose and a resource asks for it", () => {
  const asking = Schema.decodeUnknownSync(ResourceRegistry)([
    { at: "https://api.example.com", name: "API", accessTokenFormat: "jwt" }
  ])
  const rows = [
    [{ accessTokenFormat: "jwt" }, [], true],
    [{ accessTokenFormat: "opaque" }, asking, false],
    [{}, asking, true],
    [{}, [], false]
  ] as const
  for (const [chosen, resources, may] of rows) {
    expect([chosen, mayBeJwt(client(chosen), { ...theWorkspace, resources })]).toEqual([chosen, may])
  }
})
