import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from "jose"
import { setAccessTokenFormat } from "../../core/engine/administerClients.ts"
import { isJwt, makeJwtTokens } from "../../core/engine/JwtTokens.ts"
import { signsFor } from "../../core/engine/signingKeys.ts"
import type { HttpResponse } from "../../core/http/Http.ts"
import { ClientId, grantIdOf, UserId } from "../../core/rules/Id.ts"
import { currentInstant, Instant } from "../../core/rules/Instant.ts"
import { Scopes } from "../../core/rules/Scope.ts"
import { Issuer, WorkspaceId } from "../../core/workspace/Workspace.ts"
import { companiesAddress, holderOf, proofFor, tokenProof } from "../given/dpop.ts"
import {
  bearing,
  codeFor,
  companies,
  form,
  formHeaders,
  jsonOf,
  provenClient,
  redeem,
  refresh,
  registerClient,
  signInToApp,
  type TestClient,
  tokenRequest,
  tokensOf
} from "../given/flow.ts"
import { inWorld, keyFrom, realSignatures, t0, theWorkspace, type World } from "../given/World.ts"

const signing = { signatures: realSignatures }
const { issuer } = theWorkspace
const seconds = t0 / 1000

const choose = (world: World, client: TestClient, format: "jwt" | "opaque" = "jwt") =>
  setAccessTokenFormat(
    world.services,
    { workspace: world.workspace.id, by: "command line", requestId: "command line" },
    ClientId.make(client.id),
    format
  )

const jwtClient = Effect.fnUntraced(function* (world: World, metadata: Readonly<Record<string, unknown>> = {}) {
  const client = yield* provenClient(world, {
    grant_types: ["authorization_code", "refresh_token", "client_credentials"],
    ...metadata
  })
  expect(yield* choose(world, client)).toBe("done")
  return client
})

const own = (world: World, client: TestClient, fields: Readonly<Record<string, string>> = {}) =>
  Effect.map(tokenRequest(world, client, { grant_type: "client_credentials", scope: "api", ...fields }), (answer) =>
    String(jsonOf(answer).access_token)
  )

const ask = (world: World, path: string, client: TestClient, token: string) =>
  world.send("POST", path, {
    headers: formHeaders,
    body: form({ client_id: client.id, client_secret: client.secret, token })
  })

const isActive = (answer: HttpResponse) => jsonOf(answer).active

const keysOf = (world: World) =>
  Effect.map(world.send("GET", "/oauth/jwks"), ({ body }) =>
    createLocalJWKSet(JSON.parse(body) as Parameters<typeof createLocalJWKSet>[0])
  )

describe("a JWT access token (RFC 9068)", () => {
  test("says what is required, in the name of a person, and nothing else of them", () =>
    inWorld(function* (world) {
      const client = yield* jwtClient(world)
      const { access } = yield* signInToApp(world, client, { scope: "api profile" })
      const { grant, jti, ref, ...claims } = decodeJwt(access)
      expect(claims).toEqual({
        iss: issuer,
        sub: "alice",
        aud: issuer,
        client_id: client.id,
        iat: seconds,
        exp: seconds + 3600,
        scope: "api profile",
        principal: "User"
      })
      expect([typeof grant, typeof jti, typeof ref]).toEqual(["string", "string", "string"])
      const { kid, ...header } = decodeProtectedHeader(access)
      expect(header).toEqual({ alg: "ES256", typ: "at+jwt" })
      const { payload } = yield* Effect.flatMap(keysOf(world), (keys) =>
        Effect.promise(() =>
          jwtVerify(access, keys, {
            issuer,
            audience: issuer,
            typ: "at+jwt",
            algorithms: ["ES256"],
            currentDate: new Date(t0)
          })
        )
      )
      expect(payload.sub).toBe("alice")
    }, signing))

  test("is for one resource where one was asked for, and of the client where no person is", () =>
    inWorld(function* (world) {
      const client = yield* jwtClient(world)
      const claims = decodeJwt(yield* own(world, client, { resource: `${issuer}/rest` }))
      expect([claims.aud, claims.sub, claims.principal]).toEqual([`${issuer}/rest`, client.id, "Workspace"])
    }, signing))

  test("opens what an opaque one opens, here and at another process, and stays under 2 KiB", () =>
    inWorld(function* (world) {
      const client = yield* jwtClient(world)
      const { access } = yield* signInToApp(world, client)
      expect(access.length).toBeLessThan(2048)
      const elsewhere = yield* world.elsewhere
      for (const one of [world, world, elsewhere]) expect((yield* companies(one, access)).status).toBe(200)
      const asked = jsonOf(yield* ask(elsewhere, "/oauth/introspect", client, access))
      expect([asked.active, asked.sub, asked.aud, asked.token_type]).toEqual([true, "alice", undefined, "Bearer"])
    }, signing))

  test("is one that an owner chose: a client cannot ask for it by registering", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, {
        access_token_format: "jwt",
        accessTokenFormat: "jwt",
        grant_types: ["client_credentials"]
      })
      expect(yield* own(world, client)).toStartWith("tsr_at_")
      yield* choose(world, client)
      expect(yield* choose(world, client)).toBe("was_so")
      yield* TestClock.adjust("5 seconds")
      expect(yield* own(world, client)).toStartWith("ey")
      yield* choose(world, client, "opaque")
      expect(yield* own(world, client)).toStartWith("tsr_at_")
      const { event } = world.audit.find(({ event }) => event._tag === "ClientChanged") ?? {}
      expect(event).toMatchObject({ change: "jwt_access_tokens", by: "command line" })
    }, signing))

  test("ends by itself, and with its grant", () =>
    inWorld(function* (world) {
      const client = yield* jwtClient(world)
      const first = yield* signInToApp(world, client)
      const second = tokensOf(yield* refresh(world, client, first.refresh))
      expect((yield* ask(world, "/oauth/revoke", client, first.access)).status).toBe(200)
      expect((yield* companies(world, first.access)).status).toBe(401)
      expect(isActive(yield* ask(world, "/oauth/introspect", client, first.access))).toBe(false)
      expect((yield* companies(world, second.access)).status).toBe(200)
      yield* ask(world, "/oauth/revoke", client, second.refresh)
      expect((yield* companies(world, second.access)).status).toBe(401)
      const third = yield* signInToApp(world, client)
      yield* TestClock.adjust("1 hour")
      expect((yield* companies(world, third.access)).status).toBe(401)
    }, signing))

  test("is told to its own client, and revoked by no other", () =>
    inWorld(function* (world) {
      const client = yield* jwtClient(world)
      const other = yield* jwtClient(world)
      const { access } = yield* signInToApp(world, client)
      expect(isActive(yield* ask(world, "/oauth/introspect", other, access))).toBe(false)
      yield* ask(world, "/oauth/revoke", other, access)
      expect((yield* companies(world, access)).status).toBe(200)
    }, signing))

  test("holds through a rotation, and not when its key was withdrawn", () =>
    inWorld(function* (world) {
      const client = yield* jwtClient(world)
      const { signing } = world.services
      yield* own(world, client)
      yield* TestClock.adjust(signsFor)
      yield* signing.keep(theWorkspace, yield* currentInstant)
      const before = yield* own(world, client)
      yield* TestClock.adjust("20 minutes")
      const after = yield* own(world, client)
      const kids = [before, after].map((token) => decodeProtectedHeader(token).kid)
      expect(new Set(kids).size).toBe(2)
      for (const token of [before, after]) expect((yield* companies(world, token)).status).toBe(200)
      yield* signing.retire(theWorkspace, kids[1] ?? "", "compromised", yield* currentInstant)
      expect((yield* companies(world, after)).status).toBe(401)
      expect((yield* companies(world, before)).status).toBe(200)
    }, signing))

  test("spends no code where no key can be had", () =>
    inWorld(function* (world) {
      const client = yield* jwtClient(world)
      yield* own(world, client)
      const { refresh: text } = yield* signInToApp(world, client)
      const ring = [keyFrom(1)] as const
      world.turnRing(() => [keyFrom(2)])
      const elsewhere = yield* world.elsewhere
      world.turnRing(() => [keyFrom(2), ...ring])
      yield* elsewhere.services.signing.keep(theWorkspace, yield* currentInstant)
      world.turnRing(() => ring)
      world.calls.replace.length = 0
      const refused = yield* refresh(yield* world.elsewhere, client, text)
      expect([refused.status, jsonOf(refused).error]).toEqual([503, "temporarily_unavailable"])
      expect(world.calls.replace).toEqual([])
    }, signing))

  test("that strangers make up costs neither a signature nor a look at the store", () => {
    let verified = 0
    const signatures = {
      ...realSignatures,
      verify: (...given: Parameters<typeof realSignatures.verify>) => {
        verified += 1
        return realSignatures.verify(...given)
      }
    }
    return inWorld(
      function* (world) {
        const client = yield* jwtClient(world)
        const { access } = yield* signInToApp(world, client)
        const part = (value: unknown) => btoa(JSON.stringify(value)).replace(/=+$/, "")
        const [header = "", claims = "", signature = ""] = access.split(".")
        const { ref } = decodeJwt(access)
        const made = [
          "ey.ey.ey",
          `${header}.${part({ ref: "tsr" })}.${signature}`,
          `${header}.${part({})}.${signature}`,
          `${part({ alg: "ES256", kid: "x", typ: "JWT" })}.${claims}.${signature}`,
          `${part({ alg: "ES256", typ: "at+jwt" })}.${claims}.${signature}`,
          `${header}.${part({ ref: `${String(ref).slice(0, -1)}x` })}.${signature}`,
          `tsr_at_${String(ref)}`,
          String(ref)
        ]
        world.calls.get.length = 0
        for (const text of made) expect((yield* companies(world, text)).status).toBe(401)
        expect([verified, world.calls.get]).toEqual([0, []])
      },
      { signatures }
    )
  })

  test("is taken only as it was signed", () =>
    inWorld(function* (world) {
      const client = yield* jwtClient(world)
      const { access } = yield* signInToApp(world, client)
      const part = (value: unknown) => btoa(JSON.stringify(value)).replace(/=+$/, "")
      const [header = "", claims = "", signature = ""] = access.split(".")
      const { kid } = decodeProtectedHeader(access)
      const made = [
        `${header}.${part({ ...decodeJwt(access), scope: "api profile admin" })}.${signature}`,
        `${part({ alg: "none", kid, typ: "at+jwt" })}.${claims}.`,
        `${part({ alg: "none", kid, typ: "at+jwt" })}.${claims}.${signature}`,
        `${part({ alg: "HS256", kid, typ: "at+jwt" })}.${claims}.${signature}`,
        `${part({ alg: "ES256", kid: "x", typ: "at+jwt" })}.${claims}.${signature}`,
        `${part({ alg: "ES256", kid, typ: "at+jwt", crit: ["exp"] })}.${claims}.${signature}`,
        `${access}.${signature}`,
        `${access}=`
      ]
      for (const text of made) expect((yield* companies(world, text)).status).toBe(401)
      expect((yield* companies(world, access)).status).toBe(200)
    }, signing))

  test("of another workspace opens nothing", () => {
    const other = {
      ...theWorkspace,
      id: WorkspaceId.make("other"),
      issuer: Issuer.make("https://other.example.com")
    }
    return inWorld(
      function* (world) {
        const client = yield* registerClient(
          world,
          { grant_types: ["client_credentials"] },
          { host: "auth.example.com" }
        )
        yield* choose(world, client)
        const answer = yield* world.send("POST", "/oauth/token", {
          headers: formHeaders,
          host: "auth.example.com",
          body: form({ client_id: client.id, client_secret: client.secret, grant_type: "client_credentials" })
        })
        const headers = bearing(String(jsonOf(answer).access_token))
        const at = (host: string) =>
          Effect.map(world.send("GET", "/rest/companies", { headers, host }), ({ status }) => status)
        expect([yield* at("auth.example.com"), yield* at("other.example.com")]).toEqual([200, 401])
      },
      { ...signing, workspaces: [theWorkspace, other] }
    )
  })

  test("costs one look at the store to check, as any token", () =>
    inWorld(function* (world) {
      const client = yield* jwtClient(world)
      const { access } = yield* signInToApp(world, client)
      yield* companies(world, access)
      world.calls.get.length = 0
      yield* companies(world, access)
      // The grant, and beside it in the same turn which clients were changed.
      expect(world.calls.get).toEqual(["grant", "grant"])
    }, signing))
})

describe("a client whose tokens are JWTs", () => {
  test("is refused as any other is, whatever became of the grant", () =>
    inWorld(function* (world) {
      const chosen = yield* jwtClient(world)
      const other = yield* provenClient(world)
      const answers = yield* Effect.forEach([chosen, other], (client) =>
        Effect.gen(function* () {
          const code = yield* codeFor(world, client)
          const { refresh: first } = tokensOf(yield* redeem(world, client, code))
          const wide = yield* refresh(world, client, first, { scope: "api profile email" })
          const { refresh: next } = tokensOf(yield* refresh(world, client, first))
          yield* TestClock.adjust("1 hour")
          const spent = yield* refresh(world, client, first)
          const ended = yield* refresh(world, client, next)
          const replayed = yield* redeem(world, client, code)
          const { grants } = world.services
          const slice = { after: undefined, limit: 9 }
          const { values } = yield* grants.ofUser(world.workspace.id, UserId.make("alice"), slice)
          for (const { id } of values) yield* grants.removeGrant(world.workspace.id, id)
          const gone = yield* refresh(world, client, next)
          return [wide, spent, ended, replayed, gone].map(({ body, status }) => [status, body])
        })
      )
      expect(answers[0]).toEqual(answers[1] ?? [])
      expect(answers[0]?.map(([status]) => status)).toEqual([400, 400, 400, 400, 400])
    }, signing))

  test("is told of no token that is revoked and is none of its workspace's", () =>
    inWorld(function* (world) {
      const client = yield* jwtClient(world)
      const token = yield* own(world, client)
      const [head, body, seal = ""] = token.split(".")
      const texts = [`${head}.${body}.${[...seal].reverse().join("")}`, `${head}.${body}.`, "eyA.b.c", token]
      yield* TestClock.adjust("1 day")
      for (const text of texts) expect((yield* ask(world, "/oauth/revoke", client, text)).status).toBe(200)
    }, signing))

  test("has tokens that say to which key they are bound, and are worth nothing without it", () =>
    inWorld(function* (world) {
      const ada = yield* Effect.promise(() => holderOf("ES256"))
      const client = yield* jwtClient(world)
      const body = form({ client_id: client.id, client_secret: client.secret, grant_type: "client_credentials" })
      const asked = (headers: Readonly<Record<string, string>>) =>
        Effect.map(world.send("POST", "/oauth/token", { headers: { ...formHeaders, ...headers }, body }), (answer) => ({
          type: jsonOf(answer).token_type,
          token: String(jsonOf(answer).access_token)
        }))
      const bound = yield* asked({ dpop: yield* tokenProof(ada) })
      const unbound = yield* asked({})
      expect([bound.type, decodeJwt(bound.token).cnf]).toEqual(["DPoP", { jkt: ada.jkt }])
      expect([unbound.type, "cnf" in decodeJwt(unbound.token)]).toEqual(["Bearer", false])
      expect((yield* companies(world, bound.token)).status).toBe(401)
      const dpop = yield* proofFor(ada, "GET", companiesAddress, bound.token)
      const headers = { authorization: `DPoP ${bound.token}`, dpop }
      expect((yield* world.send("GET", "/rest/companies", { headers })).status).toBe(200)
    }, signing))
})

test("a token whose signature held is verified once, and one that says something else by the same signature is forged", () => {
  let verified = 0
  const signatures: typeof realSignatures = {
    ...realSignatures,
    verify: (...asked) =>
      Effect.suspend(() => {
        verified++
        return realSignatures.verify(...asked)
      })
  }
  return inWorld(
    function* (world) {
      const client = yield* jwtClient(world)
      const { access } = yield* signInToApp(world, client, { scope: "api" })
      const guarded = (token: string) => world.guard("/x", { scopes: ["api"] }, bearing(token))
      const start = verified
      for (const count of [1, 1, 1]) {
        expect((yield* guarded(access))._tag).toBe("Admitted")
        expect(verified - start).toBe(count)
      }
      const [header = "", , signature = ""] = access.split(".")
      const payload = Buffer.from(JSON.stringify({ ...decodeJwt(access), sub: "bob" })).toString("base64url")
      for (const count of [2, 3]) {
        expect((yield* guarded(`${header}.${payload}.${signature}`))._tag).toBe("Refused")
        expect(verified - start).toBe(count)
      }
      const other = yield* signInToApp(world, client, { scope: "api" })
      expect((yield* guarded(other.access))._tag).toBe("Admitted")
      expect(verified - start).toBe(4)
    },
    { signatures }
  )
})

test("none is written of a grant that is not there, or has no tokens yet", () =>
  inWorld(function* (world) {
    const registered = yield* jwtClient(world)
    const { clients, grants, keys, policy, signing: keysOfServer } = world.services
    const client = yield* clients.find(theWorkspace.id, ClientId.make(registered.id))
    if (client === undefined) throw new Error("no client")
    yield* codeFor(world, registered, { scope: "api" })
    const { values } = yield* grants.ofUser(theWorkspace.id, UserId.make("alice"), { after: undefined, limit: 10 })
    const pending = values.find(({ _tag }) => _tag === "Pending")
    expect(pending).toBeDefined()
    const tokens = makeJwtTokens({ keys, signatures: realSignatures, signing: keysOfServer })
    const write = yield* tokens.writer(theWorkspace, client, policy, Instant.make(t0))
    const scope = Scopes.make([])
    const access = {
      kind: "access",
      grant: grantIdOf(new Uint8Array(16)),
      epoch: 0,
      scope,
      resources: null,
      serial: "0011223344556677",
      binding: null,
      actors: []
    } as const
    for (const grant of [undefined, pending]) {
      const written = write(grant, { access: { ...access, expiresAt: Instant.make(t0) }, refresh: null, scope }, client)
      const fault = yield* Effect.flip(written)
      expect(fault).toMatchObject({ _tag: "PortUnavailable", port: "signatures", reason: "no_grant" })
    }
  }, signing))

test("what begins as a JWT and has a dot is taken for one", () => {
  expect(["ey.", "eyJhbGciOiJub25lIn0.e30."].map(isJwt)).toEqual([true, true])
  expect(["", "ey", ".ey", "eY.", "tsr_at_a.b", "a.ey.b"].map(isJwt)).toEqual(Array(6).fill(false))
})
