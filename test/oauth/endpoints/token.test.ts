import { describe, expect, test } from "bun:test"
import { Effect, Layer, Option, Schema } from "effect"
import { TestClock } from "effect/testing"
import { revokedSerialsKept } from "../../../core/grant/revoke.ts"
import type { HttpResponse } from "../../../core/http/Http.ts"
import { Limiter, type LimitKey } from "../../../core/ports/Limiter.ts"
import { ClientId, UserId } from "../../../core/rules/Id.ts"
import { TooManyRequests } from "../../../core/rules/Refusal.ts"
import { ScopeName, ScopeRegistry } from "../../../core/rules/Scope.ts"
import {
  bearing,
  codeFor,
  companies,
  form,
  formHeaders,
  header,
  introspectBy,
  jsonHeaders,
  jsonOf,
  redeem,
  refresh,
  registerClient,
  revokeBy,
  signInToApp,
  text,
  tokenRequest
} from "../../given/flow.ts"
import { inWorld, theWorkspace, type World } from "../../given/World.ts"

const post = (world: World, fields: Readonly<Record<string, string | undefined>>, headers = {}) =>
  world.send("POST", "/oauth/token", { headers: { ...formHeaders, ...headers }, body: form(fields) })

const basic = (id: string, secret: string) => ({ authorization: `Basic ${btoa(`${id}:${secret}`)}` })

const machine = { grant_types: ["authorization_code", "client_credentials"] }

const expectRefusal = (response: HttpResponse, status: number, error: string) => {
  expect([response.status, jsonOf(response).error]).toEqual([status, error])
  expect(jsonOf(response).error_description).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/)
  expect(header(response, "content-type")).toBe("application/json")
  expect([header(response, "cache-control"), header(response, "pragma")]).toEqual(["no-store", "no-cache"])
}

const lastReason = (world: World) => {
  const event = world.audit.at(-1)?.event
  return event?._tag === "Refused" ? `${event.refusal} ${event.reason}` : event?._tag
}

describe("the answer with tokens (RFC 6749 §5.1)", () => {
  test("is JSON that no cache keeps, with the scope always told", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const response = yield* redeem(world, client, yield* codeFor(world, client))
      expect(response.status).toBe(200)
      const { access_token, refresh_token, ...rest } = jsonOf(response)
      expect(rest).toEqual({ token_type: "Bearer", expires_in: 3600, scope: "api" })
      expect(access_token).toMatch(/^tsr_at_/)
      expect(refresh_token).toMatch(/^tsr_rt_/)
      expect(header(response, "content-type")).toBe("application/json")
      expect([header(response, "cache-control"), header(response, "pragma")]).toEqual(["no-store", "no-cache"])
      expect(world.audit.at(-1)).toMatchObject({
        workspace: "home",
        event: { _tag: "TokensIssued", grantType: "authorization_code", client: client.id, scope: "api" }
      })
    }))

  test("tells whole seconds, and never more than there are", () =>
    inWorld(
      function* (world) {
        const client = yield* registerClient(world, machine)
        expect(jsonOf(yield* tokenRequest(world, client, { grant_type: "client_credentials" })).expires_in).toBe(1)
      },
      { policy: { accessTtl: 1999 } }
    ))

  test("to a machine has no refresh token", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, machine)
      const response = yield* tokenRequest(world, client, { grant_type: "client_credentials", scope: "api profile" })
      expect(Object.keys(jsonOf(response)).sort()).toEqual(["access_token", "expires_in", "scope", "token_type"])
      expect(jsonOf(response).scope).toBe("api")
    }))

  test("is JSON whatever Accept says, and so is every error", () =>
    inWorld(function* (world) {
      const response = yield* post(world, {}, { accept: "text/html" })
      expectRefusal(response, 400, "invalid_request")
    }))
})

describe("a token request that is not whole (RFC 6749 §5.2)", () => {
  const cases: ReadonlyArray<readonly [string, Readonly<Record<string, string | undefined>>, string, string]> = [
    ["no grant_type", { grant_type: undefined }, "missing_parameter", "grant_type"],
    ["an empty grant_type", { grant_type: "" }, "missing_parameter", "grant_type"],
    ["no code", { code: undefined }, "missing_parameter", "code"],
    ["no redirect_uri", { redirect_uri: undefined }, "missing_parameter", "redirect_uri"],
    [
      "no refresh_token",
      { grant_type: "refresh_token", refresh_token: undefined },
      "missing_parameter",
      "refresh_token"
    ],
    ["a short verifier", { code_verifier: "v".repeat(42) }, "verifier_malformed", "code_verifier"],
    ["a verifier of odd characters", { code_verifier: `${"v".repeat(43)}+` }, "verifier_malformed", "code_verifier"]
  ]
  for (const [what, fields, reason, named] of cases) {
    test(`${what}: invalid_request, and the code stays good`, () =>
      inWorld(function* (world) {
        const client = yield* registerClient(world)
        const code = yield* codeFor(world, client)
        const response = yield* redeem(world, client, code, fields)
        expectRefusal(response, 400, "invalid_request")
        expect(lastReason(world)).toBe(`InvalidRequest ${reason}`)
        expect(jsonOf(response).error_description).toMatch(new RegExp(`\\b${named}\\b`))
        expect((yield* redeem(world, client, code)).status).toBe(200)
      }))
  }

  test("a repeated parameter, or another content type: invalid_request", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, machine)
      const body = form({ grant_type: "client_credentials", client_id: client.id, client_secret: client.secret })
      const twice = yield* world.send("POST", "/oauth/token", {
        headers: formHeaders,
        body: `${body}&scope=a&scope=a`
      })
      expectRefusal(twice, 400, "invalid_request")
      expect(lastReason(world)).toBe("InvalidRequest repeated_parameter")
      for (const type of ["application/json", "text/plain"]) {
        const response = yield* world.send("POST", "/oauth/token", { headers: { "content-type": type }, body })
        expectRefusal(response, 400, "invalid_request")
        expect(lastReason(world)).toBe("InvalidRequest wrong_content_type")
      }
      const query = yield* world.send("POST", `/oauth/token?${body}`, { headers: formHeaders })
      expectRefusal(query, 400, "invalid_request")
    }))

  test("a grant type that the server lacks, or the client did not register for", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      for (const grant_type of ["password", "urn:x", "Refresh_Token"]) {
        expectRefusal(yield* tokenRequest(world, client, { grant_type }), 400, "unsupported_grant_type")
        // Only a client that has proved itself learns which grant types there are.
        expectRefusal(yield* tokenRequest(world, { ...client, secret: "x" }, { grant_type }), 401, "invalid_client")
      }
      expectRefusal(
        yield* tokenRequest(world, client, { grant_type: "client_credentials" }),
        400,
        "unauthorized_client"
      )
      expect(lastReason(world)).toBe("UnauthorizedClient grant_type_not_registered")
      const other = yield* registerClient(world, { grant_types: ["client_credentials"] })
      for (const grant_type of ["authorization_code", "refresh_token"]) {
        expectRefusal(yield* tokenRequest(world, other, { grant_type, code: "x" }), 400, "unauthorized_client")
      }
    }))

  test("a scope or resource that is not to be had: invalid_scope, invalid_target", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, machine)
      const ask = (fields: Readonly<Record<string, string>>) =>
        tokenRequest(world, client, { grant_type: "client_credentials", ...fields })
      expectRefusal(yield* ask({ scope: "profile" }), 400, "invalid_scope")
      expectRefusal(yield* ask({ resource: "https://other.example" }), 400, "invalid_target")
      expect((yield* ask({ resource: `${theWorkspace.issuer}/rest` })).status).toBe(200)
      const code = yield* codeFor(world, client)
      expectRefusal(yield* redeem(world, client, code, { resource: "x" }), 400, "invalid_target")
      const tokens = yield* signInToApp(world, client)
      expectRefusal(yield* refresh(world, client, tokens.refresh, { resource: "x" }), 400, "invalid_target")
      expectRefusal(yield* refresh(world, client, tokens.refresh, { scope: "api profile" }), 400, "invalid_scope")
      expect((yield* refresh(world, client, tokens.refresh)).status).toBe(200)
    }))
})

describe("a form of which several fields are wrong", () => {
  test("is refused for the first of them in its order, its resources at their place", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const code = yield* codeFor(world, client)
      const rest = `${theWorkspace.issuer}/rest`
      const short = "v".repeat(42)
      for (const [fields, reason] of [
        [{ redirect_uri: undefined, resource: "x", code_verifier: short }, "InvalidRequest missing_parameter"],
        [{ resource: "x", code_verifier: short }, "InvalidTarget malformed"],
        [{ resource: [rest, "https://other.example"], code_verifier: short }, "InvalidTarget not_ours"],
        [{ resource: rest, code_verifier: short }, "InvalidRequest verifier_malformed"],
        [{ code_verifier: short }, "InvalidRequest verifier_malformed"]
      ] as const) {
        expect((yield* redeem(world, client, code, fields)).status).toBe(400)
        expect(lastReason(world)).toBe(reason)
      }
      expect((yield* redeem(world, client, code, { resource: rest })).status).toBe(200)
    }))
})

describe("a code or refresh token that is not good", () => {
  test("is invalid_grant in the same words, and the operator knows why", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const other = yield* registerClient(world)
      const { access, refresh: token } = yield* signInToApp(world, client)
      const attempts: ReadonlyArray<readonly [Effect.Effect<HttpResponse>, string]> = [
        [redeem(world, client, "x"), "malformed"],
        [redeem(world, client, token), "wrong_kind"],
        [refresh(world, client, access), "wrong_kind"],
        [refresh(world, client, "x"), "malformed"],
        [refresh(world, other, token), "other_client"],
        [redeem(world, other, yield* codeFor(world, client)), "other_client"],
        [
          redeem(world, client, yield* codeFor(world, client), { redirect_uri: "https://app.example.org/other" }),
          "redirect_uri_differs"
        ],
        [redeem(world, client, yield* codeFor(world, client), { code_verifier: "w".repeat(43) }), "verifier_wrong"],
        [redeem(world, client, yield* codeFor(world, client), { code_verifier: undefined }), "verifier_missing"],
        [
          redeem(
            world,
            client,
            yield* codeFor(world, client, { code_challenge: undefined, code_challenge_method: undefined })
          ),
          "verifier_unexpected"
        ]
      ]
      const words = new Set<string>()
      for (const [attempt, reason] of attempts) {
        const response = yield* attempt
        expectRefusal(response, 400, "invalid_grant")
        expect(lastReason(world)).toBe(`InvalidGrant ${reason}`)
        words.add(response.body)
      }
      expect(words.size).toBe(1)
    }))

  test("is so from the last moment of its time on", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const code = yield* codeFor(world, client)
      const late = yield* codeFor(world, client)
      yield* TestClock.adjust("59999 millis")
      expect((yield* redeem(world, client, code)).status).toBe(200)
      yield* TestClock.adjust("1 millis")
      expectRefusal(yield* redeem(world, client, late), 400, "invalid_grant")
      expect(lastReason(world)).toBe("InvalidGrant expired")
    }))

  test("of a grant that is gone from the store is refused too", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const { refresh: token } = yield* signInToApp(world, client)
      const page = yield* world.services.grants.ofUser(world.workspace.id, UserId.make("alice"), {
        after: undefined,
        limit: 10
      })
      for (const grant of page.values) yield* world.services.grants.removeGrant(world.workspace.id, grant.id)
      expectRefusal(yield* refresh(world, client, token), 400, "invalid_grant")
      expect(lastReason(world)).toBe("InvalidGrant unknown")
    }))
})

describe("a client's own grant", () => {
  test("that is gone from the store begins anew, and is not answered from memory", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, machine)
      const asked = tokenRequest(world, client, { grant_type: "client_credentials" })
      const access = Effect.map(asked, (answer) => text(jsonOf(answer).access_token))
      yield* access
      // The second time it is read, and remembered.
      const token = yield* access
      const known = yield* world.services.grants.examine(world.workspace, token)
      if (known.kind !== "access") throw new Error("no access token")
      yield* world.services.grants.removeGrant(world.workspace.id, known.token.grant)
      expect((yield* companies(world, token)).status).toBe(401)
      expect((yield* companies(world, yield* access)).status).toBe(200)
    }))
})

describe("client authentication at the token endpoint (RFC 6749 §2.3)", () => {
  const ask = { grant_type: "client_credentials" }

  test("is by the header or the body, whichever was registered", () =>
    inWorld(function* (world) {
      for (const method of ["client_secret_basic", "client_secret_post"]) {
        const client = yield* registerClient(world, { ...machine, token_endpoint_auth_method: method })
        expect((yield* tokenRequest(world, client, ask)).status).toBe(200)
        expect((yield* post(world, ask, basic(client.id, client.secret ?? ""))).status).toBe(200)
      }
    }))

  test("by the header is form-decoded, so a plus is a space and a percent sign starts a byte", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, machine)
      const percent = [...(client.secret ?? "")].map((at) => `%${at.charCodeAt(0).toString(16)}`).join("")
      expect(
        (yield* post(
          world,
          ask,
          basic(
            client.id.replace(/^./, (at) => `%${at.charCodeAt(0).toString(16)}`),
            percent
          )
        )).status
      ).toBe(200)
      for (const wrong of [`${client.secret}+`, `+${client.secret}`, `${client.secret}%20`]) {
        expectRefusal(yield* post(world, ask, basic(client.id, wrong)), 401, "invalid_client")
        expect(lastReason(world)).toBe("InvalidClient bad_secret")
      }
    }))

  test("by an unreadable header is invalid_client, and names the scheme", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, machine)
      const sound = btoa(`${client.id}:${client.secret}`)
      for (const authorization of [
        "Basic",
        "Basic ",
        "Basic !!!!",
        "Basic YQ===",
        "Basic A",
        `Basic ${btoa(client.id)}`,
        `Basic ${btoa(`${client.id}:%`)}`,
        `Basic ${btoa(`%zz:${client.secret}`)}`,
        `Basic ${sound} x`,
        `x Basic ${sound}`,
        `Basic${sound}`,
        `Digest ${sound}`,
        "Bearer x"
      ]) {
        const response = yield* post(world, ask, { authorization })
        expectRefusal(response, 401, "invalid_client")
        expect(header(response, "www-authenticate")).toBe('Basic realm="oauth"')
        expect([authorization, lastReason(world)]).toEqual([authorization, "InvalidClient unreadable"])
      }
      for (const authorization of [`basic   ${sound}`, `BASIC ${sound} `]) {
        expect((yield* post(world, ask, { authorization })).status).toBe(200)
      }
    }))

  test("by a secret that is not the client's, or none, is invalid_client in the same words", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, machine)
      const open = yield* registerClient(world, { token_endpoint_auth_method: "none" })
      const nobody = "A".repeat(22)
      const attempts: ReadonlyArray<readonly [Effect.Effect<HttpResponse>, string, boolean]> = [
        [post(world, ask), "none_presented", false],
        [post(world, { ...ask, client_id: "x" }), "unknown", false],
        [post(world, { ...ask, client_id: nobody, client_secret: "x" }), "unknown", false],
        [post(world, { ...ask, client_id: client.id }), "wrong_method", false],
        [post(world, { ...ask, client_id: client.id, client_secret: "" }), "wrong_method", false],
        [post(world, { ...ask, client_id: client.id, client_secret: "x" }), "bad_secret", false],
        [post(world, { ...ask, client_id: open.id, client_secret: "x" }), "wrong_method", false],
        [post(world, ask, basic("x", "y")), "unknown", true],
        [post(world, ask, basic(nobody, "y")), "unknown", true],
        [post(world, ask, basic(client.id, "")), "wrong_method", true],
        [post(world, ask, basic(client.id, "y")), "bad_secret", true]
      ]
      const words = new Set<string>()
      for (const [attempt, reason, header_] of attempts) {
        const response = yield* attempt
        expectRefusal(response, 401, "invalid_client")
        expect(header(response, "www-authenticate")).toBe(header_ ? 'Basic realm="oauth"' : undefined)
        expect(lastReason(world)).toBe(`InvalidClient ${reason}`)
        words.add(response.body)
      }
      expect(words.size).toBe(1)
    }))

  test("by an empty header is none, so the body counts", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, machine)
      const fields = { ...ask, client_id: client.id, client_secret: client.secret }
      expect((yield* post(world, fields, { authorization: "" })).status).toBe(200)
    }))

  test("by a public client is its id alone, with an empty secret or an empty Basic password too", () =>
    inWorld(function* (world) {
      const open = yield* registerClient(world, { token_endpoint_auth_method: "none" })
      const fields = { grant_type: "refresh_token", refresh_token: "x", client_id: open.id }
      for (const response of [
        yield* post(world, fields),
        yield* post(world, { ...fields, client_secret: "" }),
        yield* post(world, fields, basic(open.id, ""))
      ]) {
        expectRefusal(response, 400, "invalid_grant")
      }
    }))

  test("by both at once, or for two clients, is invalid_request", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, machine)
      const other = yield* registerClient(world, machine)
      const head = basic(client.id, client.secret ?? "")
      expectRefusal(yield* post(world, { ...ask, client_secret: client.secret }, head), 400, "invalid_request")
      expect(lastReason(world)).toBe("InvalidRequest two_client_credentials")
      expectRefusal(yield* post(world, { ...ask, client_id: other.id }, head), 400, "invalid_request")
      expect(lastReason(world)).toBe("InvalidRequest two_client_ids")
      expect((yield* post(world, { ...ask, client_id: client.id }, head)).status).toBe(200)
    }))

  test("fails for a client that is switched off or forgotten", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, machine)
      const off = (disabled: boolean) =>
        Effect.gen(function* () {
          const principal = yield* tokenRequest(world, client, ask)
          expect(principal.status).toBe(disabled ? 200 : 401)
          const page = yield* world.services.clients.list(world.workspace.id, { after: undefined, limit: 1 })
          for (const one of page.values) {
            yield* world.services.clients.change(world.workspace.id, one.id, (stored) => ({ ...stored, disabled }))
          }
        })
      yield* off(true)
      expectRefusal(yield* tokenRequest(world, client, ask), 401, "invalid_client")
      expect(lastReason(world)).toBe("InvalidClient disabled")
      yield* off(false)
      expect((yield* tokenRequest(world, client, ask)).status).toBe(200)
      const idle = yield* registerClient(world, machine)
      yield* TestClock.adjust("30 days")
      expectRefusal(yield* tokenRequest(world, idle, ask), 401, "invalid_client")
      expect(lastReason(world)).toBe("InvalidClient unknown")
    }))
})

test("a machine that registers for more gets tokens for more at once, and they are good", () => {
  const one = (name: string) => ({ name: ScopeName.make(name), meaning: "x", needsUser: false, byDefault: true })
  const scopes = ScopeRegistry.make([one("api"), one("orders")])
  return inWorld(
    function* (world) {
      const client = yield* registerClient(world, { ...machine, scope: "api" })
      const ask = tokenRequest(world, client, { grant_type: "client_credentials" })
      // The second time its own grant is at hand.
      for (const _ of [1, 2]) expect(jsonOf(yield* ask).scope).toBe("api")
      const changed = yield* world.send("PUT", new URL(client.registrationUri).pathname, {
        headers: { ...jsonHeaders, ...bearing(client.registrationToken) },
        body: JSON.stringify({
          client_id: client.id,
          redirect_uris: [client.redirectUri],
          token_endpoint_auth_method: "client_secret_post",
          ...machine,
          scope: "api orders"
        })
      })
      expect(changed.status).toBe(200)
      for (const _ of [1, 2]) {
        const made = jsonOf(yield* ask)
        expect(made.scope).toBe("api orders")
        expect((yield* companies(world, String(made.access_token))).status).toBe(200)
      }
    },
    { policy: { scopes } }
  )
})

test("a machine whose single tokens were revoked too often to tell them one by one gets good ones at once", () =>
  inWorld(function* (world) {
    const client = yield* registerClient(world, machine)
    const ask = Effect.map(tokenRequest(world, client, { grant_type: "client_credentials" }), (response) =>
      String(jsonOf(response).access_token)
    )
    for (let revoked = 0; revoked <= revokedSerialsKept; revoked++) {
      const token = yield* ask
      yield* revokeBy(world, client, token)
      expect((yield* companies(world, token)).status).toBe(401)
    }
    expect((yield* companies(world, yield* ask)).status).toBe(200)
  }))

test("a token with the longest scope and the longest resource that there may be is good", () => {
  const one = (name: string) => ({ name: ScopeName.make(name), meaning: "x", needsUser: false, byDefault: true })
  const scopes = ["api", ...Array.from({ length: 31 }, (_, n) => String(n).padEnd(64, "x"))].map(one)
  const registry = Schema.decodeUnknownOption(ScopeRegistry)
  expect(Option.isNone(registry([...scopes, one("y".repeat(64))]))).toBe(true)
  return inWorld(
    function* (world) {
      const client = yield* registerClient(world, machine)
      const resource = `${world.workspace.issuer}/`.padEnd(2048, "r")
      const scope = scopes.map(({ name }) => name).join(" ")
      const asked = { grant_type: "client_credentials", scope, resource }
      const token = String(jsonOf(yield* tokenRequest(world, client, asked)).access_token)
      const known = yield* introspectBy(world, client, token)
      expect(jsonOf(known)).toMatchObject({ active: true, scope, aud: resource })
    },
    { policy: { scopes: Option.getOrThrow(registry(scopes)) } }
  )
})

describe("shares at the token endpoint", () => {
  test("are a client's own once it has shown itself, and that of all unknown addresses where it has not", () => {
    const taken: Array<LimitKey> = []
    const limiter = Layer.succeed(Limiter, { take: (key) => Effect.sync(() => void taken.push(key)) })
    return inWorld(
      function* (world) {
        const client = yield* registerClient(world, machine)
        taken.length = 0
        yield* tokenRequest(world, client, { grant_type: "client_credentials" })
        expect(taken.map(({ allowance, of }) => [allowance.name, of])).toEqual([["client", client.id]])
        taken.length = 0
        yield* tokenRequest(world, { ...client, secret: "x" }, { grant_type: "client_credentials" })
        expect(taken.map(({ allowance, of }) => [allowance.name, of])).toEqual([["failed_client", ""]])
      },
      { limiter }
    )
  })

  test("used up answer 429 and when to come back", () => {
    const limiter = Layer.succeed(Limiter, {
      take: ({ allowance }) =>
        allowance.name === "client"
          ? Effect.fail(new TooManyRequests({ limit: "client", retryAfterSeconds: 7 }))
          : Effect.void
    })
    return inWorld(
      function* (world) {
        const client = yield* registerClient(world, machine)
        const response = yield* tokenRequest(world, client, { grant_type: "client_credentials" })
        expectRefusal(response, 429, "temporarily_unavailable")
        expect(header(response, "retry-after")).toBe("7")
      },
      { limiter }
    )
  })
})

const own = { grant_type: "client_credentials" }

describe("a client that another process deletes while it asks", () => {
  test("has no new grant made for it, and is known no longer", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, { grant_types: ["client_credentials"] })
      const access = text(jsonOf(yield* tokenRequest(world, client, own)).access_token)
      const workspace = world.workspace.id
      const stored = yield* world.services.clients.find(workspace, ClientId.make(client.id))
      const grant = { workspace, kind: "grant", id: stored?.workspaceGrant ?? "" } as const

      yield* world.storage.remove({ workspace, kind: "client", id: client.id })
      yield* world.storage.remove(grant)

      for (const _ of [1, 2]) {
        const answer = yield* tokenRequest(world, client, own)
        expect([answer.status, jsonOf(answer).error]).toEqual([401, "invalid_client"])
      }
      expect(Option.isNone(yield* world.storage.get(grant))).toBe(true)
      expect((yield* companies(world, access)).status).toBe(401)
    }))
})

const scope = (name: string, byDefault: boolean) => ({
  name: ScopeName.make(name),
  meaning: name,
  needsUser: false,
  byDefault
})

const scopes = ScopeRegistry.make([scope("read", true), scope("write", false)])

describe("a client's own access token", () => {
  test("never gains what the client registered for later", () =>
    inWorld(
      function* (world) {
        const metadata = { grant_types: ["client_credentials"], redirect_uris: [], scope: "read" }
        const client = yield* registerClient(world, metadata)
        const ask = () => tokenRequest(world, client, { grant_type: "client_credentials", scope: "read write" })
        const first = jsonOf(yield* ask())
        expect(first.scope).toBe("read")

        const changed = yield* world.send("PUT", new URL(client.registrationUri).pathname, {
          headers: { ...jsonHeaders, ...bearing(client.registrationToken) },
          body: JSON.stringify({
            ...metadata,
            client_id: client.id,
            token_endpoint_auth_method: "client_secret_post",
            scope: "read write"
          })
        })
        expect(changed.status).toBe(200)
        expect(jsonOf(yield* ask()).scope).toBe("read write")

        const admitted = (needed: string) =>
          Effect.map(
            world.guard("/", { scopes: [needed] }, bearing(text(first.access_token))),
            (guarded) => guarded._tag
          )
        expect(yield* admitted("read")).toBe("Admitted")
        expect(yield* admitted("write")).toBe("Refused")
      },
      { policy: { scopes } }
    ))
})
