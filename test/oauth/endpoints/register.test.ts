import { describe, expect, test } from "bun:test"
import { Clock, Effect, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import * as Memory from "../../../adapters/memory/Memory.ts"
import { readRegistration } from "../../../core/client/RegistrationRequest.ts"
import type { AuditContext } from "../../../core/engine/AuditContext.ts"
import { registerClient as registerByCore, setSecurityProfile } from "../../../core/engine/administerClients.ts"
import { makeClients } from "../../../core/engine/Clients.ts"
import { Limiter } from "../../../core/ports/Limiter.ts"
import { RegistrationPolicy } from "../../../core/ports/RegistrationPolicy.ts"
import { Storage } from "../../../core/ports/Storage.ts"
import { ClientId } from "../../../core/rules/Id.ts"
import { standardPolicy } from "../../../core/rules/Policy.ts"
import { TooManyRequests } from "../../../core/rules/Refusal.ts"
import { digestOf } from "../../../core/rules/Secret.ts"
import { byOwner, passing } from "../../given/auditContext.ts"
import { own } from "../../given/enterprise.ts"
import {
  authorizeTarget,
  bearing,
  companies,
  header,
  jsonHeaders,
  jsonOf,
  postRegistration,
  redirectUri,
  registerClient,
  signInToApp,
  type TestClient,
  tokenRequest
} from "../../given/flow.ts"
import { inWorld, realSignatures, t0, theWorkspace, type World } from "../../given/World.ts"
import { watchedLimiter } from "../../given/watchedLimiter.ts"

const post = (world: World, metadata: unknown, headers: Record<string, string> = {}) =>
  world.send("POST", "/oauth/register", {
    headers: { ...jsonHeaders, ...headers },
    body: typeof metadata === "string" ? metadata : JSON.stringify(metadata)
  })

const path = (uri: string) => uri.slice(theWorkspace.issuer.length)

describe("registering (RFC 7591)", () => {
  test("answers 201 with everything that was registered, and the secret this once", () =>
    inWorld(function* (world) {
      const response = yield* post(world, {
        redirect_uris: [redirectUri],
        client_name: "An app",
        client_uri: "https://app.example.org",
        contacts: ["a@example.org"],
        software_id: "x",
        application_type: "web"
      })
      expect(response.status).toBe(201)
      expect(header(response, "cache-control")).toBe("no-store")
      expect(header(response, "pragma")).toBe("no-cache")
      const { client_id, client_secret, registration_access_token, ...rest } = jsonOf(response)
      expect(client_id).toMatch(/^[A-Za-z0-9_-]{22}$/)
      expect(client_secret).toMatch(/^tsr_cs_[A-Za-z0-9_-]{46}$/)
      expect(registration_access_token).toMatch(/^tsr_rg_[A-Za-z0-9_-]{46}$/)
      expect(rest).toEqual({
        client_id_issued_at: t0 / 1000,
        client_name: "An app",
        client_uri: "https://app.example.org",
        contacts: ["a@example.org"],
        software_id: "x",
        application_type: "web",
        redirect_uris: [redirectUri],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "client_secret_basic",
        scope: "api profile",
        client_secret_expires_at: 0,
        registration_client_uri: `${theWorkspace.issuer}/oauth/register/${client_id}`
      })
    }))

  test("gives a public client no secret", () =>
    inWorld(function* (world) {
      const registered = jsonOf(
        yield* post(world, { redirect_uris: [redirectUri], token_endpoint_auth_method: "none" })
      )
      expect(registered.token_endpoint_auth_method).toBe("none")
      expect("client_secret" in registered || "client_secret_expires_at" in registered).toBe(false)
    }))

  test("lets a machine register without redirect URIs and response types", () =>
    inWorld(function* (world) {
      const registered = jsonOf(yield* post(world, { grant_types: ["client_credentials"] }))
      expect(registered).toMatchObject({ grant_types: ["client_credentials"], response_types: [], redirect_uris: [] })
    }))

  test("takes what hosted products send: odd members, other grant types and scopes, nulls and empty texts", () =>
    inWorld(function* (world) {
      const response = yield* post(world, {
        redirect_uris: ["https://hosted.example/api/mcp/auth_callback", redirectUri, redirectUri],
        client_name: null,
        client_uri: "",
        logo_uri: "https://hosted.example/logo.png",
        "client_name#ja": "x",
        jwks: { keys: [] },
        id_token_signed_response_alg: "RS256",
        grant_types: [
          "authorization_code",
          "refresh_token",
          "implicit",
          "urn:ietf:params:oauth:grant-type:device_code"
        ],
        response_types: ["code", "id_token"],
        scope: "openid profile offline_access",
        token_endpoint_auth_method: "client_secret_post"
      })
      expect(response.status).toBe(201)
      expect(jsonOf(response)).toMatchObject({
        redirect_uris: ["https://hosted.example/api/mcp/auth_callback", redirectUri],
        grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
        response_types: ["code"],
        scope: "profile",
        token_endpoint_auth_method: "client_secret_post"
      })
      const unknown = jsonOf(yield* post(world, { redirect_uris: [redirectUri], scope: "openid email" }))
      expect(unknown.scope).toBe("api profile")
    }))

  const refused: ReadonlyArray<readonly [what: string, metadata: unknown, error: string, names?: string]> = [
    ["no redirect URI", {}, "invalid_redirect_uri"],
    ["an empty list of them", { redirect_uris: [] }, "invalid_redirect_uri"],
    ["a redirect URI that may not be", { redirect_uris: [redirectUri, "http://evil.example"] }, "invalid_redirect_uri"],
    ["redirect URIs that are no list", { redirect_uris: redirectUri }, "invalid_client_metadata"],
    [
      "fifty-one redirect URIs",
      { redirect_uris: Array.from({ length: 51 }, (_, i) => `${redirectUri}/${i}`) },
      "invalid_client_metadata"
    ],
    [
      "no grant type that the server has",
      { redirect_uris: [redirectUri], grant_types: ["implicit"] },
      "invalid_client_metadata",
      "implicit"
    ],
    [
      "the implicit flow",
      { redirect_uris: [redirectUri], grant_types: ["implicit"], response_types: ["id_token"] },
      "invalid_client_metadata",
      "implicit"
    ],
    [
      "its response type",
      { redirect_uris: [redirectUri], response_types: ["id_token"] },
      "invalid_client_metadata",
      "id_token"
    ],
    [
      "the hybrid flow",
      { redirect_uris: [redirectUri], response_types: ["code id_token"] },
      "invalid_client_metadata",
      "code id_token"
    ],
    [
      "refresh_token alone",
      { redirect_uris: [redirectUri], grant_types: ["refresh_token"] },
      "invalid_client_metadata"
    ],
    [
      "a machine without a secret",
      { grant_types: ["client_credentials"], token_endpoint_auth_method: "none" },
      "invalid_client_metadata"
    ],
    [
      "another response type",
      { redirect_uris: [redirectUri], response_types: ["token"] },
      "invalid_client_metadata",
      "token"
    ],
    [
      "an authentication method that the server lacks",
      { redirect_uris: [redirectUri], token_endpoint_auth_method: "private_key_jwt" },
      "invalid_client_metadata"
    ],
    [
      "a name with control characters",
      { redirect_uris: [redirectUri], client_name: "a\u0000b" },
      "invalid_client_metadata"
    ],
    [
      "a name with half a character",
      '{"redirect_uris":["https://a.example/"],"client_name":"\\ud800"}',
      "invalid_client_metadata"
    ],
    [
      "a name that is too long",
      { redirect_uris: [redirectUri], client_name: "x".repeat(513) },
      "invalid_client_metadata"
    ],
    ["a name that is no text", { redirect_uris: [redirectUri], client_name: 7 }, "invalid_client_metadata"],
    [
      "an address that runs script",
      { redirect_uris: [redirectUri], client_uri: "javascript:alert(1)" },
      "invalid_client_metadata"
    ],
    ["an address that is none", { redirect_uris: [redirectUri], logo_uri: "https://[" }, "invalid_client_metadata"],
    ["a list", [], "invalid_client_metadata"],
    ["null", "null", "invalid_client_metadata"],
    ["no JSON", "{", "invalid_client_metadata"]
  ]
  for (const [what, metadata, error, names = ""] of refused) {
    test(`refuses ${what}`, () =>
      inWorld(function* (world) {
        const response = yield* post(world, metadata)
        expect(response.status).toBe(400)
        expect(jsonOf(response).error).toBe(error)
        expect(String(jsonOf(response).error_description)).toContain(names)
        expect(header(response, "cache-control")).toBe("no-store")
        expect(world.calls.insert).toEqual([])
      }))
  }

  test("takes JSON only", () =>
    inWorld(function* (world) {
      const response = yield* world.send("POST", "/oauth/register", {
        body: "{}",
        headers: { "content-type": "text/plain" }
      })
      expect([response.status, jsonOf(response).error]).toEqual([400, "invalid_request"])
      const withCharset = yield* post(
        world,
        { redirect_uris: [redirectUri] },
        { "content-type": "Application/JSON; charset=utf-8" }
      )
      expect(withCharset.status).toBe(201)
    }))

  test("forgets a client that was not used for thirty days, and keeps one that was", () =>
    inWorld(function* (world) {
      const idle = yield* registerClient(world, { grant_types: ["client_credentials"] })
      const busy = yield* registerClient(world, { grant_types: ["client_credentials"] })
      expect((yield* tokenRequest(world, busy, { grant_type: "client_credentials" })).status).toBe(200)
      yield* TestClock.adjust("29 days")
      expect((yield* tokenRequest(world, busy, { grant_type: "client_credentials" })).status).toBe(200)
      yield* TestClock.adjust("1 day")
      expect((yield* tokenRequest(world, idle, { grant_type: "client_credentials" })).status).toBe(401)
      const own = { headers: bearing(idle.registrationToken) }
      for (const method of ["GET", "DELETE"]) {
        expect((yield* world.send(method, path(idle.registrationUri), own)).status).toBe(401)
      }
      expect((yield* tokenRequest(world, busy, { grant_type: "client_credentials" })).status).toBe(200)
      yield* world.storage.sweep(t0 + 30 * 24 * 60 * 60 * 1000, 100)
      expect((yield* tokenRequest(world, busy, { grant_type: "client_credentials" })).status).toBe(200)
    }))
})

describe("who may register", () => {
  test("no client, where it is closed; the metadata does not speak of it", () =>
    inWorld(
      function* (world) {
        expect((yield* post(world, { redirect_uris: [redirectUri] })).status).toBe(403)
        const document = jsonOf(yield* world.send("GET", "/.well-known/oauth-authorization-server"))
        expect(["registration_endpoint" in document, "token_endpoint" in document]).toEqual([false, true])
      },
      { registration: RegistrationPolicy.layerClosed }
    ))

  test("a client that brings the initial access token, where it takes one", () =>
    inWorld(
      function* (world) {
        const metadata = { redirect_uris: [redirectUri] }
        const without = yield* post(world, metadata)
        expect([without.status, header(without, "www-authenticate")]).toEqual([401, "Bearer"])
        expect((yield* post(world, metadata, bearing("wrong"))).status).toBe(401)
        expect((yield* post(world, metadata, bearing("let-me-in"))).status).toBe(201)
      },
      { registration: RegistrationPolicy.layerToken(Redacted.make("let-me-in")) }
    ))
})

describe("acting for the workspace", () => {
  const nobody = { redirectUri, registrationUri: "", registrationToken: "" }
  const both = { redirect_uris: [redirectUri], grant_types: ["authorization_code", "client_credentials"] }

  test("is nothing that a client gives itself by an update where registration is not open", () =>
    inWorld(
      function* (world) {
        const response = yield* post(world, { redirect_uris: [redirectUri] }, bearing("let-me-in"))
        const { client_id, client_secret, registration_access_token, registration_client_uri } = jsonOf(response)
        const client = {
          id: String(client_id),
          secret: String(client_secret),
          redirectUri,
          registrationUri: String(registration_client_uri),
          registrationToken: String(registration_access_token)
        }
        const updated = yield* world.send("PUT", path(client.registrationUri), {
          headers: { ...bearing(client.registrationToken), ...jsonHeaders },
          body: JSON.stringify({ ...both, client_id })
        })
        expect(updated.status).toBe(200)
        expect(jsonOf(updated).grant_types).toEqual(["authorization_code", "refresh_token"])
        const refused = yield* tokenRequest(world, client, { grant_type: "client_credentials" })
        expect([refused.status, jsonOf(refused).error]).toEqual([400, "unauthorized_client"])
      },
      { registration: RegistrationPolicy.layerToken(Redacted.make("let-me-in")) }
    ))

  test("takes an owner, where the policy says so, for those too that registered before it did", () =>
    inWorld(
      function* (world) {
        const request = yield* Effect.fromResult(readRegistration(world.services, JSON.stringify(both)))
        const before = { ...world.services, policy: { ...standardPolicy, workspaceAccess: "registered" as const } }
        const tokenFor = Effect.fnUntraced(function* (auditContext: AuditContext) {
          const { client, secret } = yield* registerByCore(before, auditContext, request)
          const presented = { id: client.id, secret: secret === undefined ? undefined : world.reveal(secret) }
          return yield* tokenRequest(world, { ...nobody, ...presented }, { grant_type: "client_credentials" })
        })
        const refused = yield* tokenFor(passing(world))
        expect([refused.status, jsonOf(refused).error]).toEqual([400, "unauthorized_client"])
        expect((yield* tokenFor(byOwner(world))).status).toBe(200)
        expect(jsonOf(yield* post(world, both)).grant_types).toEqual(["authorization_code", "refresh_token"])
      },
      { policy: { workspaceAccess: "owner" } }
    ))
})

describe("looking after a registration (RFC 7592)", () => {
  test("shows it to the holder of its token, without the secret", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const response = yield* world.send("GET", path(client.registrationUri), {
        headers: bearing(client.registrationToken)
      })
      expect([response.status, header(response, "cache-control")]).toEqual([200, "no-store"])
      expect(jsonOf(response)).toEqual({
        client_id: client.id,
        client_id_issued_at: t0 / 1000,
        redirect_uris: [redirectUri],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "client_secret_post",
        scope: "api profile",
        client_secret_expires_at: 0,
        registration_access_token: client.registrationToken,
        registration_client_uri: client.registrationUri
      })
      const nobody = yield* world.send("GET", path(client.registrationUri))
      expect([nobody.status, world.audit.at(-1)?.event]).toMatchObject([401, { refusal: "TokenRequired" }])
      yield* TestClock.adjust("30 days")
      const headers = bearing(client.registrationToken)
      expect((yield* world.send("GET", path(client.registrationUri), { headers })).status).toBe(401)
      expect(world.audit.at(-1)?.event).toMatchObject({ refusal: "InvalidToken", reason: "bad_secret" })
    }))

  test("refuses any other caller the same way, and says nothing of which clients there are", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const other = yield* registerClient(world)
      const unknown = path(client.registrationUri).replace(client.id, "A".repeat(22))
      for (const method of ["GET", "DELETE"]) {
        const attempts = [
          yield* world.send(method, path(client.registrationUri), { headers: bearing(other.registrationToken) }),
          yield* world.send(method, unknown, { headers: bearing(client.registrationToken) }),
          yield* world.send(method, `/oauth/register/nonsense`, { headers: bearing(client.registrationToken) })
        ]
        expect(new Set(attempts.map((response) => `${response.status} ${response.body}`)).size).toBe(1)
        expect(attempts[0]?.status).toBe(401)
        expect((yield* world.send(method, path(client.registrationUri))).status).toBe(401)
      }
    }))

  test("refuses a client that was switched off, and tells the operator why each was refused", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const other = yield* registerClient(world)
      const known = yield* world.services.clients.list(world.workspace.id, { after: undefined, limit: 2 })
      for (const { id } of known.values) {
        if (id !== client.id) continue
        yield* world.services.clients.change(world.workspace.id, id, (stored) => ({ ...stored, disabled: true }))
      }
      const unknown = path(client.registrationUri).replace(client.id, "A".repeat(22))
      const attempts: ReadonlyArray<readonly [string, TestClient, string]> = [
        [path(client.registrationUri), client, "client_disabled"],
        [path(client.registrationUri), other, "bad_secret"],
        [unknown, other, "client_gone"]
      ]
      for (const [target, by, reason] of attempts) {
        for (const method of ["GET", "PUT", "DELETE"]) {
          const body = method === "PUT" ? JSON.stringify({ client_id: client.id, redirect_uris: [redirectUri] }) : ""
          const headers = { ...bearing(by.registrationToken), ...jsonHeaders }
          expect((yield* world.send(method, target, { headers, body })).status).toBe(401)
          expect(world.audit.at(-1)?.event).toMatchObject({ _tag: "Refused", refusal: "InvalidToken", reason })
        }
      }
      expect(world.calls.remove).toEqual([])
    }))

  test("replaces what was registered, and keeps the secret", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, {
        grant_types: ["authorization_code", "client_credentials"],
        client_name: "Old"
      })
      const put = (metadata: Record<string, unknown>) =>
        world.send("PUT", path(client.registrationUri), {
          headers: { ...bearing(client.registrationToken), ...jsonHeaders },
          body: JSON.stringify(metadata)
        })
      const sound = {
        client_id: client.id,
        redirect_uris: ["https://new.example/cb"],
        grant_types: ["client_credentials"],
        token_endpoint_auth_method: "client_secret_post"
      }
      for (const [wrong, refusal] of [
        [{ ...sound, client_id: undefined }, "InvalidClientMetadata"],
        [{ ...sound, client_id: "x" }, "InvalidClientMetadata"],
        [{ ...sound, client_secret: "wrong" }, "InvalidClientMetadata"],
        [{ ...sound, client_secret: "" }, "InvalidClientMetadata"],
        [{ ...sound, client_secret: { of: "another type" } }, "InvalidClientMetadata"],
        [{ ...sound, redirect_uris: ["ftp://x"] }, "InvalidRedirectUri"]
      ] as const) {
        expect((yield* put(wrong)).status).toBe(400)
        expect(world.audit.at(-1)?.event).toMatchObject({ refusal })
      }
      const untyped = { headers: bearing(client.registrationToken), body: JSON.stringify(sound) }
      expect((yield* world.send("PUT", path(client.registrationUri), untyped)).status).toBe(400)
      expect(world.audit.at(-1)?.event).toMatchObject({ refusal: "InvalidRequest", reason: "wrong_content_type" })
      expect(world.calls.replace).toEqual([])
      expect((yield* put({ ...sound, client_secret: null })).status).toBe(200)
      const response = yield* put({ ...sound, client_secret: client.secret })
      expect(response.status).toBe(200)
      expect(jsonOf(response)).toEqual({
        client_id: client.id,
        client_id_issued_at: t0 / 1000,
        redirect_uris: ["https://new.example/cb"],
        grant_types: ["client_credentials"],
        response_types: [],
        token_endpoint_auth_method: "client_secret_post",
        scope: "api profile",
        client_secret_expires_at: 0,
        registration_access_token: client.registrationToken,
        registration_client_uri: client.registrationUri
      })
      expect(world.audit.at(-1)).toMatchObject({
        requestId: header(response, "x-request-id"),
        event: { _tag: "ClientChanged", client: client.id, change: "updated" }
      })
      expect((yield* tokenRequest(world, client, { grant_type: "client_credentials" })).status).toBe(200)
    }))

  test("gives a secret to a public client that becomes confidential, and takes it from one that stops", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, { token_endpoint_auth_method: "none" })
      const put = (method: string) =>
        world.send("PUT", path(client.registrationUri), {
          headers: { ...bearing(client.registrationToken), ...jsonHeaders },
          body: JSON.stringify({
            client_id: client.id,
            redirect_uris: [redirectUri],
            token_endpoint_auth_method: method
          })
        })
      const confidential = jsonOf(yield* put("client_secret_basic"))
      expect(confidential.client_secret).toMatch(/^tsr_cs_/)
      const secret = String(confidential.client_secret)
      const attempt = () =>
        tokenRequest(world, { ...client, secret }, { grant_type: "refresh_token", refresh_token: "x" })
      expect((yield* attempt()).status).toBe(400)
      expect("client_secret" in jsonOf(yield* put("none"))).toBe(false)
      expect((yield* attempt()).status).toBe(401)
    }))

  test("takes of the client's share, whatever is asked", () => {
    const { limiter, taken } = watchedLimiter()
    return inWorld(
      function* (world) {
        const client = yield* registerClient(world)
        const send = (method: string, body = "") =>
          world.send(method, path(client.registrationUri), {
            headers: { ...jsonHeaders, ...bearing(client.registrationToken) },
            body
          })
        taken.length = 0
        yield* send("GET")
        yield* send("PUT", JSON.stringify({ client_id: client.id, redirect_uris: [redirectUri] }))
        yield* send("DELETE")
        expect(taken).toEqual([1, 2, 3].map(() => `client ${client.id}`))
      },
      { limiter }
    )
  })

  test("deletes the client, and everything that it was ever given dies at once", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, { grant_types: ["authorization_code", "client_credentials"] })
      const other = yield* registerClient(world)
      const mine = yield* signInToApp(world, client)
      const theirs = yield* signInToApp(world, other)
      const machine = String(
        jsonOf(yield* tokenRequest(world, client, { grant_type: "client_credentials" })).access_token
      )
      const response = yield* world.send("DELETE", path(client.registrationUri), {
        headers: bearing(client.registrationToken)
      })
      expect([response.status, response.body]).toEqual([204, ""])
      expect([header(response, "cache-control"), header(response, "pragma")]).toEqual(["no-store", "no-cache"])
      for (const token of [mine.access, machine]) expect((yield* companies(world, token)).status).toBe(401)
      expect(
        (yield* tokenRequest(world, client, { grant_type: "refresh_token", refresh_token: mine.refresh })).status
      ).toBe(401)
      expect(
        (yield* world.send("GET", path(client.registrationUri), { headers: bearing(client.registrationToken) })).status
      ).toBe(401)
      expect((yield* companies(world, theirs.access)).status).toBe(200)
    }))

  test("refuses an update that an owner's change of the same moment leaves no room for, and notes none", () => {
    let meanwhile: Effect.Effect<unknown, unknown> = Effect.void
    const replacing = (inner: Storage["Service"]): Storage["Service"] => ({
      ...inner,
      replace: (...given) =>
        Effect.suspend(() => {
          const before = meanwhile
          meanwhile = Effect.void
          return Effect.andThen(Effect.orDie(before), inner.replace(...given))
        })
    })
    const store = Layer.effect(Storage, Effect.map(Storage, replacing)).pipe(Layer.provide(Memory.layer))
    return inWorld(
      function* (world) {
        const said = { token_endpoint_auth_method: "private_key_jwt", jwks: { keys: [own.jwk] } }
        const client = yield* registerClient(world, said)
        const id = ClientId.make(client.id)
        meanwhile = setSecurityProfile(world.services, byOwner(world), id, "fapi2")
        const answer = yield* world.send("PUT", path(client.registrationUri), {
          headers: { ...jsonHeaders, ...bearing(client.registrationToken) },
          body: JSON.stringify({ ...said, client_id: id, redirect_uris: ["https://app.example.org/other"] })
        })
        expect([answer.status, jsonOf(answer).error]).toEqual([400, "invalid_client_metadata"])
        const stored = yield* world.services.clients.findStored(world.workspace.id, id)
        expect(stored).toMatchObject({ redirectUris: [redirectUri], members: { security_profile: "fapi2" } })
        const changes = world.audit.flatMap(({ event }) => (event._tag === "ClientChanged" ? [event.change] : []))
        expect(changes).toEqual(["fapi2_profile"])
      },
      { store, signatures: realSignatures }
    )
  })
})

describe("what is said is so", () => {
  test("the log says which limit was reached", () =>
    inWorld(
      function* (world) {
        const client = yield* registerClient(world)
        yield* world.send("GET", authorizeTarget(client), { as: "alice" })
        expect(world.log.join()).toContain('"reason":"account"')
        expect(world.audit.at(-1)?.event).toMatchObject({ refusal: "TooManyRequests", reason: "account" })
      },
      {
        limiter: Layer.succeed(Limiter, {
          take: ({ allowance }) =>
            allowance.name === "account"
              ? Effect.fail(new TooManyRequests({ limit: allowance.name, retryAfterSeconds: 1 }))
              : Effect.void
        })
      }
    ))

  test("every address of a registration is plain text, as its names are", () =>
    inWorld(function* (world) {
      for (const member of ["client_uri", "logo_uri", "tos_uri", "policy_uri"]) {
        for (const odd of ["\u0000", "\u001b[31m", "\ud800", "\u0085"]) {
          const answer = yield* postRegistration(world, {
            redirect_uris: [redirectUri],
            [member]: `https://app.example.org/${odd}`
          })
          expect([member, answer.status, jsonOf(answer).error]).toEqual([member, 400, "invalid_client_metadata"])
        }
      }
    }))

  test("Allow names no method that is then refused", () =>
    inWorld(function* (world) {
      for (const path of ["/oauth/authorize", "/oauth/introspect", "/consent", "/healthz"]) {
        const refused = yield* world.send("PATCH", path)
        expect(refused.status).toBe(405)
        for (const method of header(refused, "allow")?.split(", ") ?? []) {
          expect([path, method, (yield* world.send(method, path)).status]).not.toContain(405)
        }
      }
    }))

  test("a secret that an update shows is the one that then works", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, { token_endpoint_auth_method: "none" })
      const id = ClientId.make(client.id)
      yield* world.services.clients.find(world.workspace.id, id)
      // Another process over the same store gives the client a secret; here it is still known without one.
      const clock = yield* Clock.Clock
      const elsewhere = makeClients(world.storage, world.services.entropy, standardPolicy, clock)
      const theirs = digestOf("a secret that the other process showed")
      yield* elsewhere.change(world.workspace.id, id, (found) => ({
        ...found,
        credential: { _tag: "Secret", method: "client_secret_post", digest: theirs }
      }))

      const answer = yield* world.send("PUT", new URL(client.registrationUri).pathname, {
        headers: { ...jsonHeaders, ...bearing(client.registrationToken) },
        body: JSON.stringify({
          client_id: client.id,
          redirect_uris: [redirectUri],
          token_endpoint_auth_method: "client_secret_post"
        })
      })
      expect(jsonOf(answer)).toMatchObject({ token_endpoint_auth_method: "client_secret_post" })
      expect(jsonOf(answer)).not.toHaveProperty("client_secret")
    }))
})
