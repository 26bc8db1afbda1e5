import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { decodeJwt, decodeProtectedHeader } from "jose"
import { makeIdTokens } from "../../core/engine/IdTokens.ts"
import type { Authentication } from "../../core/grant/Authentication.ts"
import { ClientId, UserId } from "../../core/rules/Id.ts"
import { currentInstant, Instant } from "../../core/rules/Instant.ts"
import { signInScopes } from "../../core/rules/Scope.ts"
import { Issuer } from "../../core/workspace/Workspace.ts"
import { registerClient, text } from "../given/flow.ts"
import { identify, signsIn } from "../given/openId.ts"
import { inWorld, realSignatures, t0, theWorkspace, type World } from "../given/World.ts"

const claims = { iss: theWorkspace.issuer, sub: "alice", aud: "a client", sid: "a session" }
const hint = { user: "alice", client: "a client", sid: "a session" }

/** Signed by the server's own key, whatever it says. */
const signed = Effect.fnUntraced(function* (world: World, over: object, typ = "JWT") {
  const now = yield* currentInstant
  const sign = yield* world.services.signing.ready(theWorkspace, { algorithm: "RS256", life: 60_000 }, now)
  return yield* sign({ typ }, { ...claims, ...over })
})

const hinted = (world: World, token: string, workspace = theWorkspace) =>
  Effect.flatMap(currentInstant, (now) => world.services.idTokens.hinted(workspace, token, now))

describe("an ID token that comes back as a hint", () => {
  const rows: ReadonlyArray<readonly [what: string, claims: object, found: object | undefined, typ?: string]> = [
    ["says whom it named, to whom, and of which session", {}, hint],
    ["may be expired", { exp: 1 }, hint],
    ["may name no session", { sid: undefined }, { ...hint, sid: undefined }],
    ["may name a session by what is no text, and then names none", { sid: 7 }, { ...hint, sid: undefined }],
    ["is no access token", {}, undefined, "at+jwt"],
    ["is no logout token", {}, undefined, "logout+jwt"],
    ["is not of another issuer", { iss: "https://other.example" }, undefined],
    ["is of an issuer", { iss: undefined }, undefined],
    ["names a person", { sub: undefined }, undefined],
    ["names a person by a text", { sub: 7 }, undefined],
    ["is for a client", { aud: undefined }, undefined],
    ["is for one client", { aud: ["a client", "another"] }, undefined]
  ]
  for (const [what, over, found, typ] of rows) {
    test(what, () =>
      inWorld(function* (world) {
        expect<unknown>(yield* hinted(world, yield* signed(world, over, typ))).toEqual(found)
      }, signsIn)
    )
  }

  test("names no person where it is no JWT, unsigned, or signed by a key that is gone", () =>
    inWorld(function* (world) {
      const token = yield* signed(world, {})
      const [header = "", payload = "", signature = ""] = token.split(".")
      const { kid } = JSON.parse(atob(header)) as { kid: string }
      const headerOf = (members: object) => Buffer.from(JSON.stringify(members)).toString("base64url")
      const others = [
        "",
        "no token",
        `${header}.${payload}`,
        `${header}.${payload}.`,
        `${header}.${payload}.${signature.slice(0, -8)}AAAAAAAA`,
        `${headerOf({ typ: "JWT", alg: "none", kid })}.${payload}.`,
        `${headerOf({ typ: "JWT", alg: "RS256" })}.${payload}.${signature}`,
        `${headerOf({ typ: "JWT", alg: "RS256", kid: "another" })}.${payload}.${signature}`,
        `${headerOf({ typ: "JWT", alg: "RS256", kid: 7 })}.${payload}.${signature}`
      ]
      for (const other of others) expect([other, yield* hinted(world, other)]).toEqual([other, undefined])
      expect(yield* hinted(world, token, { ...theWorkspace, issuer: Issuer.make("https://b.example") })).toBeUndefined()
      expect(yield* hinted(world, token)).toEqual(hint)
      yield* world.services.signing.retire(theWorkspace, kid, "compromised", yield* currentInstant)
      yield* TestClock.adjust("5 seconds")
      expect(yield* hinted(world, token)).toBeUndefined()
    }, signsIn))

  test("is verified by the key that it names, and by no other of the server's own", () =>
    inWorld(function* (world) {
      const { owner, policy, signing } = world.services
      yield* signing.ready(theWorkspace, { algorithm: "ES256", life: 60_000 }, yield* currentInstant)
      const token = yield* signed(world, {})
      const by: Array<ReadonlyArray<string | undefined>> = []
      const signatures: typeof realSignatures = {
        ...realSignatures,
        verify: (jws, keys, algorithms) => {
          by.push(keys.map(({ kid }) => kid))
          return realSignatures.verify(jws, keys, algorithms)
        }
      }
      const { hinted } = makeIdTokens({ owner, policy, signatures, signing })
      expect<unknown>(yield* hinted(theWorkspace, token, yield* currentInstant)).toEqual(hint)
      expect(by).toEqual([[text(decodeProtectedHeader(token).kid)]])
    }, signsIn))

  test("is asked of no store by a server that signs nothing", () => {
    const kept = inWorld((world) => signed(world, {}), signsIn)
    return kept.then((token) =>
      inWorld(
        function* (world) {
          for (const made of Object.values(world.calls)) made.length = 0
          expect(yield* hinted(world, token)).toBeUndefined()
          expect(world.calls.get).toEqual([])
        },
        { policy: { scopes: signInScopes } }
      )
    )
  })
})

describe("an ID token", () => {
  const asking = (names: ReadonlyArray<string>) => ({
    claims: JSON.stringify({ id_token: Object.fromEntries(names.map((name) => [name, null])) })
  })

  test("tells of a person what was asked for, and of one who is gone nothing more than who it was", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const toldOf = (names: ReadonlyArray<string>, as: string) =>
        Effect.map(identify(world, client, { ...asking(names), scope: "openid profile" }, as), ({ id_token }) => {
          const { family_name, locale, name, nickname, sub } = decodeJwt(text(id_token))
          return { family_name, locale, name, nickname, sub }
        })
      const none = { family_name: undefined, locale: undefined, name: undefined, nickname: undefined }
      expect<unknown>(yield* toldOf([], "alice")).toEqual({ ...none, sub: "alice" })
      expect<unknown>(yield* toldOf(["name"], "alice")).toEqual({ ...none, name: "Mx alice", sub: "alice" })
      expect<unknown>(yield* toldOf(["name", "nickname"], "gone")).toEqual({ ...none, sub: "gone" })
    }, signsIn))

  test("asks the host for nothing of a person where nothing was asked for", () =>
    inWorld(function* (world) {
      const { owner, policy, signing } = world.services
      const asked: Array<string> = []
      const counted: typeof owner = {
        ...owner,
        profile: (workspace, user) =>
          Effect.suspend(() =>
            owner.profile(workspace, user).pipe(Effect.tap(Effect.sync(() => void asked.push(user))))
          )
      }
      const tokens = makeIdTokens({ owner: counted, policy, signatures: realSignatures, signing })
      const id = ClientId.make((yield* registerClient(world)).id)
      const client = yield* world.services.clients.find(theWorkspace.id, id)
      if (client === undefined) throw new Error("no client")
      const writer = (authentication: Authentication) =>
        tokens.writer(
          theWorkspace,
          client,
          { user: UserId.make("alice"), client: id, authentication },
          60_000,
          Instant.make(t0)
        )
      yield* writer({})
      yield* writer({ claims: [] })
      expect(asked).toEqual([])
      yield* writer({ claims: ["name"] })
      expect(asked).toEqual(["alice"])
    }, signsIn))
})
