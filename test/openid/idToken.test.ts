import { describe, expect, test } from "bun:test"
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { decodeProtectedHeader } from "jose"
import { ClientId, UserId } from "../../core/rules/Id.ts"
import { currentInstant } from "../../core/rules/Instant.ts"
import { signInScopes, standardScopes } from "../../core/rules/Scope.ts"
import { type KeyRing, sealKey } from "../../core/token/KeyRing.ts"
import {
  codeFor,
  formHeaders,
  jsonOf,
  provenClient,
  redeem,
  refresh,
  registerClient,
  signInToApp,
  text
} from "../given/flow.ts"
import { identify, signsIn, verified } from "../given/openId.ts"
import { inWorld, t0, theWorkspace, type World } from "../given/World.ts"

const seconds = t0 / 1000
const half = (hash: string, of: unknown): string => {
  const digest = createHash(hash).update(text(of)).digest()
  return digest.subarray(0, digest.length / 2).toString("base64url")
}

describe("an ID token (OpenID Connect Core §2)", () => {
  test("names the person to the client, and says nothing beyond what was asked for", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const tokens = yield* identify(world, client, { nonce: "n-1" })
      const { payload, protectedHeader } = yield* verified(world, client, tokens.id_token)
      const { sid, ...claims } = payload
      expect(claims).toEqual({
        iss: theWorkspace.issuer,
        sub: "alice",
        aud: client.id,
        iat: seconds,
        exp: seconds + 3600,
        nonce: "n-1",
        at_hash: half("sha256", tokens.access_token)
      })
      expect(text(sid)).toMatch(/^[\w-]{43}$/)
      expect([protectedHeader.alg, protectedHeader.typ, typeof protectedHeader.kid]).toEqual(["RS256", "JWT", "string"])
    }, signsIn))

  for (const [algorithm, hash] of [
    ["ES256", "sha256"],
    ["EdDSA", "sha512"],
    ["RS256", "sha256"]
  ] as const) {
    test(`oidcc-idtoken-${algorithm.toLowerCase()}: is signed by it for a client that registered for it`, () =>
      inWorld(function* (world) {
        const client = yield* registerClient(world, { id_token_signed_response_alg: algorithm })
        const tokens = yield* identify(world, client)
        const { payload, protectedHeader } = yield* verified(world, client, tokens.id_token)
        expect([protectedHeader.alg, payload.at_hash]).toEqual([algorithm, half(hash, tokens.access_token)])
      }, signsIn))
  }

  test("is signed by ES256 for a client that an owner made and that names none", () =>
    inWorld(function* (world) {
      const client = yield* provenClient(world)
      yield* world.services.clients.change(world.workspace.id, ClientId.make(client.id), (stored) => ({
        ...stored,
        madeBy: "owner" as const
      }))
      const { id_token } = yield* identify(world, client)
      expect((yield* verified(world, client, id_token)).protectedHeader.alg).toBe("ES256")
    }, signsIn))

  test("comes with each refresh, of the same sign-in; and not once openid is given up", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, { id_token_signed_response_alg: "ES256" })
      const first = yield* identify(world, client, { scope: "openid email", nonce: "n-1" })
      const { payload: before } = yield* verified(world, client, first.id_token)
      yield* TestClock.adjust("10 minutes")
      const second = jsonOf(yield* refresh(world, client, text(first.refresh_token)))
      const { payload: after } = yield* verified(world, client, second.id_token)
      expect(after.iat).toBe(seconds + 600)
      // Core §12.2: a nonce is told with the code's tokens alone.
      expect([before.nonce, after.sub, after.sid, "nonce" in after]).toEqual(["n-1", before.sub, before.sid, false])
      const narrow = jsonOf(yield* refresh(world, client, text(second.refresh_token), { scope: "email" }))
      expect([narrow.scope, narrow.id_token]).toEqual(["email", undefined])
    }, signsIn))

  test("is not there where the client did not ask for openid, and nor is anything of it in the grant", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const { scope } = yield* signInToApp(world, client, { scope: "api profile", nonce: "n" })
      expect(scope).toBe("api profile")
      const [grant] = (yield* world.services.grants.ofUser(world.workspace.id, UserId.make("alice"), {
        after: undefined,
        limit: 10
      })).values
      expect(grant).not.toHaveProperty("authentication")
      expect(yield* world.services.signing.stored(world.workspace)).toBeUndefined()
    }, signsIn))

  test("is of one session as each client knows it, and no two clients can compare", () =>
    inWorld(function* (world) {
      const [one, other] = [yield* provenClient(world), yield* provenClient(world)]
      const sids: Array<unknown> = []
      for (const client of [one, one, other]) {
        const { id_token } = yield* identify(world, client)
        sids.push((yield* verified(world, client, id_token)).payload.sid)
      }
      expect(sids[0]).toBe(sids[1])
      expect(sids[0]).not.toBe(sids[2])
    }, signsIn))
})

describe("a server without a signing adapter", () => {
  test("does not offer openid, and grants what else was asked for", () =>
    inWorld(
      function* (world) {
        const document = jsonOf(yield* world.send("GET", "/.well-known/oauth-authorization-server"))
        expect(document.scopes_supported).not.toContain("openid")
        expect(document).not.toHaveProperty("subject_types_supported")
        expect((yield* world.send("GET", "/.well-known/openid-configuration")).status).toBe(404)
        const client = yield* registerClient(world)
        const { scope } = yield* signInToApp(world, client, { scope: "openid api" })
        expect(scope).toBe("api")
      },
      { policy: signsIn.policy ?? {} }
    ))
})

describe("a workspace with scopes of its own", () => {
  const members = [
    "end_session_endpoint",
    "backchannel_logout_supported",
    "subject_types_supported",
    "claims_supported"
  ]
  const within = (world: World): World => ({
    ...world,
    send: (method, target, sent = {}) => world.send(method, target, { ...sent, host: "auth.example.com" })
  })

  test("has nothing of OpenID Connect where openid is none of them, whatever the server's others have", () =>
    inWorld(
      function* (server) {
        const world = within(server)
        const document = jsonOf(yield* world.send("GET", "/.well-known/oauth-authorization-server"))
        expect(Object.keys(document).filter((name) => members.includes(name))).toEqual([])
        expect((yield* world.send("GET", "/.well-known/openid-configuration")).status).toBe(404)
        const opened = yield* world.send("GET", "/oauth/logout", { as: "alice" })
        const sent = yield* world.send("POST", "/oauth/logout", { as: "alice", headers: formHeaders, body: "" })
        expect([opened.status, sent.status]).toEqual([404, 404])
        const client = yield* registerClient(world)
        expect((yield* signInToApp(world, client, { scope: "openid api" })).scope).toBe("api")
      },
      { ...signsIn, workspaces: [{ ...theWorkspace, scopes: standardScopes }] }
    ))

  test("has all of it where openid is one of them, and none of the server's", () =>
    inWorld(
      function* (server) {
        const world = within(server)
        const document = jsonOf(yield* world.send("GET", "/.well-known/openid-configuration"))
        expect(members.filter((name) => !(name in document))).toEqual([])
        expect((yield* world.send("GET", "/oauth/logout", { as: "alice" })).status).toBe(200)
        const client = yield* registerClient(world)
        expect((yield* verified(world, client, (yield* identify(world, client)).id_token)).payload.sub).toBe("alice")
      },
      {
        ...signsIn,
        policy: { scopes: standardScopes },
        workspaces: [{ ...theWorkspace, scopes: signInScopes }]
      }
    ))
})

test("an ID token is verified by the published keys for as long as it lives, though its key signs no more", () =>
  inWorld(function* (world) {
    const client = yield* registerClient(world)
    yield* identify(world, client)
    const { signing } = world.services
    yield* signing.rotate(theWorkspace, yield* currentInstant)
    yield* TestClock.adjust("14 minutes")
    const last = yield* identify(world, client)
    yield* TestClock.adjust("59 minutes")
    yield* signing.keep(theWorkspace, yield* currentInstant)
    const next = yield* identify(world, client)
    expect(decodeProtectedHeader(text(next.id_token)).kid).not.toBe(decodeProtectedHeader(text(last.id_token)).kid)
    const now = yield* currentInstant
    for (const { id_token } of [last, next]) yield* verified(world, client, id_token, now)
  }, signsIn))

test("an ID token costs no read of the grant, and no second write", () =>
  inWorld(function* (world) {
    const client = yield* registerClient(world)
    // The first one makes the key, and shows this process who writes.
    yield* identify(world, client)
    const callsFor = Effect.fnUntraced(function* (scope: string) {
      const code = yield* codeFor(world, client, { scope }, "alice")
      const { get, insert, replace } = world.calls
      const before = [get.length, insert.length, replace.length]
      expect((yield* redeem(world, client, code)).status).toBe(200)
      return [get.slice(before[0]), insert.slice(before[1]), replace.slice(before[2])]
    })
    expect(yield* callsFor("api openid")).toEqual(yield* callsFor("api"))
  }, signsIn))

test("a key signs nothing once its seal key has left the ring, and no code is spent for it", () =>
  inWorld(function* (world) {
    const client = yield* registerClient(world)
    const whole = yield* identify(world, client)
    expect(text(whole.id_token)).not.toBe("")
    let left: KeyRing | undefined
    world.turnRing((ring) => {
      left = ring
      return [sealKey(new Uint8Array(32).fill(77))]
    })
    const code = yield* codeFor(world, client, { scope: "openid" }, "alice")
    const replaced = world.calls.replace.length
    expect((yield* redeem(world, client, code)).status).toBe(503)
    expect(world.calls.replace.length).toBe(replaced)
    world.turnRing((ring) => (left === undefined ? ring : [...ring, ...left]))
    expect((yield* redeem(world, client, code)).status).toBe(200)
  }, signsIn))
