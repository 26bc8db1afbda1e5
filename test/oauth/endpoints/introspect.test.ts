import { describe, expect, test } from "bun:test"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { setServedResource } from "../../../core/engine/administerClients.ts"
import { createKey } from "../../../core/engine/administerGrants.ts"
import type { Grants } from "../../../core/engine/Grants.ts"
import type { KeyTerms } from "../../../core/grant/apiKey.ts"
import type { Services } from "../../../core/http/Route.ts"
import { introspectEndpoint } from "../../../core/oauth/endpoints/introspect.ts"
import { ClientId, type GrantId, PlaceId, UserId } from "../../../core/rules/Id.ts"
import { Instant } from "../../../core/rules/Instant.ts"
import { ResourceRegistry } from "../../../core/rules/Resource.ts"
import type { Workspace } from "../../../core/workspace/Workspace.ts"
import { byOwner } from "../../given/auditContext.ts"
import { holderOf, tokenProof } from "../../given/dpop.ts"
import { orders, withOrders } from "../../given/enterprise.ts"
import {
  bearing,
  codeFor,
  companies,
  form,
  formHeaders,
  header,
  jsonOf,
  redeem,
  refresh,
  registerClient,
  signInToApp,
  type TestClient,
  tokenRequest,
  tokensOf,
  verifier
} from "../../given/flow.ts"
import { inWorld, realSignatures, requestOf, t0, theWorkspace, type World } from "../../given/World.ts"
import { watchedLimiter } from "../../given/watchedLimiter.ts"

const ask = (world: World, fields: Readonly<Record<string, string | undefined>>, headers = {}) =>
  world.send("POST", "/oauth/introspect", { headers: { ...formHeaders, ...headers }, body: form(fields) })

const by = (world: World, client: TestClient, token: string) =>
  ask(world, { client_id: client.id, client_secret: client.secret, token })

const makeKey = Effect.fnUntraced(function* (world: World, expiresAt: Instant | null = null) {
  return world.reveal((yield* world.services.grants.createKey(world.workspace.id, { name: "api", expiresAt })).text)
})

const machine = { grant_types: ["authorization_code", "client_credentials"] }
const inactive = { active: false }
const alice = UserId.make("alice")

/** What the audit stream calls the grant that was issued last. */
const lastMark = (world: World) => {
  const issued = world.audit.map(({ event }) => event).findLast((event) => event._tag === "TokensIssued")
  return issued?.grant ?? "none was issued"
}

/** By the handler itself, with other services than the server's. */
const introspecting = (world: World, other: Partial<Services>, client: TestClient, token: string) => {
  const handler = introspectEndpoint.methods.POST?.handler({ ...world.services, ...other }) ?? expect.unreachable()
  return handler({
    request: requestOf("POST", "/oauth/introspect", {
      headers: formHeaders,
      body: form({ client_id: client.id, client_secret: client.secret, token })
    }),
    workspace: world.workspace,
    path: "/oauth/introspect",
    endpoint: "/oauth/introspect",
    now: Instant.make(t0),
    requestId: "one"
  })
}

describe("introspection by a client (RFC 7662)", () => {
  test("tells of its access token: whose it is, how far it reaches, until when", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const { access } = yield* signInToApp(world, client, { scope: "profile api" })
      const response = yield* by(world, client, access)
      expect([response.status, header(response, "content-type")]).toEqual([200, "application/json"])
      expect([header(response, "cache-control"), header(response, "pragma")]).toEqual(["no-store", "no-cache"])
      expect(jsonOf(response)).toEqual({
        active: true,
        iss: theWorkspace.issuer,
        sub: "alice",
        client_id: client.id,
        scope: "api profile",
        token_type: "Bearer",
        exp: t0 / 1000 + 3600,
        principal: "User",
        grant: lastMark(world)
      })
    }))

  test("tells of its refresh token, which is not for bearing", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const rest = `${theWorkspace.issuer}/rest`
      const tokens = tokensOf(yield* redeem(world, client, yield* codeFor(world, client, { resource: rest })))
      expect(jsonOf(yield* by(world, client, tokens.refresh))).toEqual({
        active: true,
        iss: theWorkspace.issuer,
        sub: "alice",
        client_id: client.id,
        scope: "api",
        exp: t0 / 1000 + 30 * 24 * 3600,
        aud: rest,
        principal: "User",
        grant: lastMark(world)
      })
    }))

  test("tells of a machine's token, which speaks for the client itself", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, machine)
      const rest = [`${theWorkspace.issuer}/rest`, `${theWorkspace.issuer}/other`]
      const fields = { grant_type: "client_credentials", resource: rest }
      const token = jsonOf(yield* tokenRequest(world, client, fields)).access_token
      expect(jsonOf(yield* by(world, client, String(token)))).toEqual({
        active: true,
        iss: theWorkspace.issuer,
        sub: client.id,
        client_id: client.id,
        scope: "api",
        token_type: "Bearer",
        exp: t0 / 1000 + 3600,
        aud: rest,
        principal: "Workspace",
        grant: lastMark(world)
      })
    }))

  test("tells where, and how the person signed in, of both of its tokens, and to which key they are bound", async () => {
    const holder = await holderOf("ES256")
    const as = `alice; acr=high; since=${t0 - 5000}`
    return inWorld(
      function* (world) {
        const client = yield* registerClient(world, {
          scope: "api",
          token_endpoint_auth_method: "client_secret_post"
        })
        const code = yield* codeFor(world, client, { scope: "api", max_age: "60", acr_values: "high" }, as)
        const body = form({
          grant_type: "authorization_code",
          client_id: client.id,
          client_secret: client.secret,
          code,
          redirect_uri: client.redirectUri,
          code_verifier: verifier
        })
        const headers = { ...formHeaders, dpop: yield* tokenProof(holder) }
        const tokens = tokensOf(yield* world.send("POST", "/oauth/token", { headers, body }))
        const common = {
          active: true,
          iss: theWorkspace.issuer,
          sub: "alice",
          client_id: client.id,
          scope: "api",
          principal: "User",
          place: "acme",
          auth_time: t0 / 1000 - 5,
          acr: "high",
          grant: lastMark(world)
        }
        expect(jsonOf(yield* by(world, client, tokens.access))).toEqual({
          ...common,
          token_type: "DPoP",
          cnf: { jkt: holder.jkt },
          exp: t0 / 1000 + 3600
        })
        expect(jsonOf(yield* by(world, client, tokens.refresh))).toEqual({
          ...common,
          exp: t0 / 1000 + 30 * 24 * 3600
        })
        // Where nothing shows a bound token any more it opens nothing; a refresh token needs nothing that does.
        const presentations = world.services.presentations.filter(({ scheme }) => scheme !== "DPoP")
        expect(presentations).toHaveLength(world.services.presentations.length - 1)
        const told = (token: string) =>
          Effect.map(introspecting(world, { presentations }, client, token), (answer) => jsonOf(answer).active)
        expect([yield* told(tokens.access), yield* told(tokens.refresh)]).toEqual([false, true])
      },
      { places: () => [{ id: PlaceId.make("acme"), label: "Acme" }], signatures: realSignatures }
    )
  })

  test("rounds the expiry down to whole seconds, so that no resource server trusts a token too long", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      yield* TestClock.adjust("999 millis")
      const { access } = yield* signInToApp(world, client)
      expect(jsonOf(yield* by(world, client, access)).exp).toBe(t0 / 1000 + 3600)
    }))

  test("says inactive and nothing else of whatever is not live, not there or not its own", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, machine)
      const other = yield* registerClient(world, machine)
      const theirs = yield* signInToApp(world, other)
      const spent = yield* signInToApp(world, client)
      yield* refresh(world, client, spent.refresh)
      yield* TestClock.adjust(world.services.policy.refreshGrace)
      const code = yield* codeFor(world, client)
      const key = yield* makeKey(world)
      const noted = world.audit.length
      for (const token of ["x", "tsr_at_x", code, spent.refresh, theirs.access, theirs.refresh, key, "tsr_ak_x"]) {
        const response = yield* by(world, client, token)
        expect([response.status, jsonOf(response)]).toEqual([200, inactive])
      }
      // A live token of another client is no refusal.
      const said = world.audit.slice(noted).map(({ event }) => event)
      expect(said.map((event) => (event._tag === "Refused" ? event.reason : event._tag))).toEqual([
        "malformed",
        "malformed",
        "wrong_kind",
        "revoked",
        "malformed"
      ])
      const mine = yield* signInToApp(world, client)
      yield* TestClock.adjust("1 hour")
      expect(jsonOf(yield* by(world, client, mine.access))).toEqual(inactive)
      expect(jsonOf(yield* by(world, client, mine.refresh)).active).toBe(true)
    }))

  test("calls a refresh token active exactly as long as the token endpoint takes it, in its grace too", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const first = yield* signInToApp(world, client)
      const said = Effect.map(by(world, client, first.refresh), jsonOf)
      const before = yield* said
      yield* refresh(world, client, first.refresh)
      // A thief does not learn that the owner has refreshed.
      expect([before.active, yield* said]).toEqual([true, before])
      yield* TestClock.adjust(world.services.policy.refreshGrace - 1)
      expect(yield* said).toEqual(before)
      expect((yield* refresh(world, client, first.refresh)).status).toBe(200)
      yield* TestClock.adjust(1)
      expect(yield* said).toEqual(inactive)
      expect((yield* refresh(world, client, first.refresh)).status).toBe(400)
    }))

  test("tells nothing to a client that has no credentials, however it names itself", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, { token_endpoint_auth_method: "none" })
      const { access, refresh: token } = yield* signInToApp(world, client)
      const basic = { authorization: `Basic ${btoa(`${client.id}:`)}` }
      for (const asked of [
        ask(world, { client_id: client.id, token: access }),
        ask(world, { client_id: client.id, token }),
        ask(world, { client_id: client.id, token: "x" }),
        ask(world, { token }, basic)
      ]) {
        const response = yield* asked
        expect([response.status, jsonOf(response).error]).toEqual([401, "invalid_client"])
      }
      expect(header(yield* ask(world, { token }, basic), "www-authenticate")).toStartWith("Basic")
      expect(header(yield* ask(world, { client_id: client.id, token }), "www-authenticate")).toBeUndefined()
      // Giving its tokens back is still its own to do.
      const body = form({ client_id: client.id, token })
      expect((yield* world.send("POST", "/oauth/revoke", { headers: formHeaders, body })).status).toBe(200)
    }))

  test("takes one of the asker's share, though what it asks about went with its client or its grant", () => {
    const { limiter, taken } = watchedLimiter()
    return inWorld(
      function* (world) {
        const client = yield* registerClient(world, machine)
        const other = yield* registerClient(world, machine)
        const made = yield* tokenRequest(world, other, { grant_type: "client_credentials" })
        const token = String(jsonOf(made).access_token)
        const id = ClientId.make(other.id)
        const found = yield* world.services.clients.find(world.workspace.id, id)
        if (found === undefined) throw new Error("the other client is not there")
        const removals = [
          world.services.clients.remove(world.workspace.id, id),
          world.services.grants.removeGrant(world.workspace.id, found.workspaceGrant)
        ]
        for (const removal of removals) {
          yield* removal
          taken.length = 0
          expect(jsonOf(yield* by(world, client, token))).toEqual(inactive)
          expect(taken).toEqual([`client ${client.id}`])
        }
      },
      { limiter }
    )
  })

  for (const [what, end] of [
    ["deleted", (world: World, id: ClientId) => world.services.clients.remove(world.workspace.id, id)],
    [
      "deleted with its own grant",
      (world: World, id: ClientId, grant: GrantId) =>
        Effect.andThen(
          world.services.clients.remove(world.workspace.id, id),
          world.services.grants.removeGrant(world.workspace.id, grant)
        )
    ],
    [
      "switched off",
      (world: World, id: ClientId) =>
        world.services.clients.change(world.workspace.id, id, (stored) => ({ ...stored, disabled: true }))
    ]
  ] as const) {
    test(`tells a client nothing that was ${what} since it was let in`, () =>
      inWorld(function* (world) {
        const client = yield* registerClient(world, machine)
        const made = yield* tokenRequest(world, client, { grant_type: "client_credentials" })
        const id = ClientId.make(client.id)
        const found = yield* world.services.clients.find(world.workspace.id, id)
        if (found === undefined) throw new Error("the client is not there")
        const { examine } = world.services.grants
        const grants: Grants = {
          ...world.services.grants,
          examine: (...asked) => Effect.andThen(Effect.ignore(end(world, id, found.workspaceGrant)), examine(...asked))
        }
        const asked = introspecting(world, { grants }, client, String(jsonOf(made).access_token))
        const refusal = yield* Effect.flip(asked)
        expect(refusal._tag).toBe("InvalidClient")
      }))
  }

  test("takes authentication and a token", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const missing = yield* ask(world, { client_id: client.id, client_secret: client.secret })
      expect([missing.status, jsonOf(missing).error_description]).toEqual([400, "The parameter token is missing."])
      const wrong = yield* ask(world, { client_id: client.id, client_secret: "x", token: "x" })
      expect([wrong.status, jsonOf(wrong).error]).toEqual([401, "invalid_client"])
      const nobody = yield* ask(world, { token: "x" })
      expect([nobody.status, jsonOf(nobody).error]).toEqual([401, "invalid_client"])
      const json = yield* world.send("POST", "/oauth/introspect", { body: "{}" })
      expect([json.status, jsonOf(json).error]).toEqual([400, "invalid_request"])
    }))
})

/** RFC 7662 §2.1: most libraries of resource servers show a client's credentials, and nothing else. */
describe("introspection by a client of which an owner said which API it is", () => {
  const workspace: Workspace = {
    ...withOrders,
    resources: Schema.decodeUnknownSync(ResourceRegistry)([
      { at: orders, name: "Orders" },
      { at: "https://billing.example", name: "Billing" }
    ])
  }
  const inScene = <A, E>(body: (world: World, api: TestClient) => Effect.Effect<A, E>) =>
    inWorld(
      function* (world) {
        const api = yield* registerClient(world, { grant_types: ["client_credentials"], redirect_uris: [] })
        const id = ClientId.make(api.id)
        expect(yield* setServedResource(world.services, byOwner(world), workspace, id, orders)).toBe("done")
        return yield* body(world, api)
      },
      { resolve: () => workspace }
    )
  const isActive = (world: World, client: TestClient, token: string) =>
    Effect.map(by(world, client, token), (answer) => jsonOf(answer).active)

  test("tells of an access token that may be sent there, whoever's it is, as long as the owner says so", () =>
    inScene((world, api) =>
      Effect.gen(function* () {
        const app = yield* registerClient(world)
        const other = yield* registerClient(world)
        const { access } = yield* signInToApp(world, app, { resource: orders })
        expect(jsonOf(yield* by(world, api, access))).toMatchObject({
          active: true,
          aud: orders,
          client_id: app.id,
          sub: "alice",
          scope: "api"
        })
        const anywhere = (yield* signInToApp(world, app)).access
        expect(yield* isActive(world, api, anywhere)).toBe(true)
        expect(yield* isActive(world, other, anywhere)).toBe(false)

        yield* setServedResource(world.services, byOwner(world), workspace, ClientId.make(api.id), null)
        yield* TestClock.adjust("1 minute")
        expect(yield* isActive(world, api, access)).toBe(false)
      })
    ))

  test("says inactive of a token for another API, and of any refresh token", () =>
    inScene((world, api) =>
      Effect.gen(function* () {
        const app = yield* registerClient(world)
        const elsewhere = yield* signInToApp(world, app, { resource: "https://billing.example" })
        const here = yield* signInToApp(world, app, { resource: orders })
        for (const token of [elsewhere.access, here.refresh])
          expect(jsonOf(yield* by(world, api, token))).toEqual(inactive)
      })
    ))

  test("tells of a key that opens it, and not of one that opens nothing", () =>
    inScene((world, api) =>
      Effect.gen(function* () {
        const keyFor = (opens: KeyTerms["opens"] & (string | object)) =>
          Effect.map(createKey(world.services, byOwner(world), { name: "k", lasts: undefined, opens }), ({ text }) =>
            world.reveal(text)
          )
        expect(jsonOf(yield* by(world, api, yield* keyFor(["api"])))).toMatchObject({ active: true, scope: "api" })
        expect(jsonOf(yield* by(world, api, yield* keyFor("introspection")))).toEqual(inactive)
      })
    ))

  test("notes that what it asked about was used", () =>
    inScene((world, api) =>
      Effect.gen(function* () {
        const { grants, usage } = world.services
        const job = yield* grants.createKey(world.workspace.id, { name: "job", expiresAt: null })
        yield* by(world, api, world.reveal(job.text))
        expect(yield* usage.lastUse("grant", world.workspace.id, job.grant.id)).toBe(Instant.make(t0))
      })
    ))
})

describe("introspection by a resource server", () => {
  test("with an API key of the workspace sees all of the workspace's tokens", () =>
    inWorld(function* (world) {
      const key = yield* makeKey(world)
      const client = yield* registerClient(world)
      const { access, refresh: token } = yield* signInToApp(world, client)
      for (const scheme of ["Bearer", "bearer", "BEARER"]) {
        const response = yield* ask(world, { token: access }, { authorization: `${scheme} ${key}` })
        expect(jsonOf(response)).toMatchObject({ active: true, client_id: client.id, sub: "alice" })
      }
      expect(jsonOf(yield* ask(world, { token }, bearing(key))).active).toBe(true)
      // A caller with a key is no client, so the server looks for none.
      expect(jsonOf(yield* ask(world, { token, client_id: "?" }, bearing(key))).active).toBe(true)
      expect(jsonOf(yield* ask(world, { token: "x" }, bearing(key)))).toEqual(inactive)
    }))

  test("sees keys too, which belong to the workspace and to no client", () =>
    inWorld(function* (world) {
      const key = yield* makeKey(world)
      const brief = yield* makeKey(world, Instant.make(t0 + 5999))
      expect(jsonOf(yield* ask(world, { token: key }, bearing(key)))).toEqual({
        active: true,
        iss: theWorkspace.issuer,
        sub: "home",
        scope: "api profile",
        token_type: "Bearer",
        principal: "ApiKey",
        // A key's text begins with its grant's id.
        grant: key.slice("tsr_ak_".length).slice(0, 8)
      })
      expect(jsonOf(yield* ask(world, { token: brief }, bearing(key))).exp).toBe(t0 / 1000 + 5)
      yield* TestClock.adjust("6 seconds")
      expect(jsonOf(yield* ask(world, { token: brief }, bearing(key)))).toEqual(inactive)
    }))

  test("is told of a key that it opens all, whatever is listed, and of a token what it is for", () =>
    inWorld(
      function* (world) {
        const key = yield* makeKey(world)
        const { access } = yield* signInToApp(world, yield* registerClient(world), { resource: orders })
        expect(jsonOf(yield* ask(world, { token: key }, bearing(key)))).not.toHaveProperty("aud")
        expect(jsonOf(yield* ask(world, { token: access }, bearing(key))).aud).toBe(orders)
      },
      { resolve: () => withOrders }
    ))

  test("is not told that a token is worth nothing while the store does not answer", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const tokens = yield* signInToApp(world, client)
      const key = yield* makeKey(world)
      yield* ask(world, { token: key }, bearing(key))
      yield* TestClock.adjust("1 minute")
      world.away.add("get grant")
      for (const asked of [ask(world, { token: tokens.refresh }, bearing(key)), by(world, client, tokens.refresh)]) {
        const answer = yield* asked
        expect([answer.status, jsonOf(answer).error]).toEqual([503, "temporarily_unavailable"])
      }
    }))

  test("notes that what it asked about was used, as a check here does; what a client asks of its own is no use", () =>
    inWorld(function* (world) {
      const { grants, usage } = world.services
      const job = yield* grants.createKey(world.workspace.id, { name: "job", expiresAt: null })
      const lastUse = () => usage.lastUse("grant", world.workspace.id, job.grant.id)
      const client = yield* registerClient(world)
      yield* by(world, client, world.reveal(job.text))
      expect(yield* lastUse()).toBeUndefined()
      yield* ask(world, { token: world.reveal(job.text) }, bearing(yield* makeKey(world)))
      expect(yield* lastUse()).toBe(Instant.make(t0))

      // A refresh token is borne nowhere, so to ask about one is no sign that it was.
      const tokens = yield* signInToApp(world, client)
      const [grant] = (yield* grants.ofUser(world.workspace.id, alice, { after: undefined, limit: 1 })).values
      const appsUse = () => usage.lastUse("grant", world.workspace.id, grant?.id ?? "none")
      yield* ask(world, { token: tokens.refresh }, bearing(yield* makeKey(world)))
      expect(yield* appsUse()).toBeUndefined()
      yield* ask(world, { token: tokens.access }, bearing(yield* makeKey(world)))
      expect(yield* appsUse()).toBe(Instant.make(t0))
    }))

  test("is open to a key made for it, and closed to one of a few scopes", () =>
    inWorld(function* (world) {
      const keyFor = (opens: KeyTerms["opens"] & (string | object)) =>
        Effect.map(createKey(world.services, byOwner(world), { name: "k", lasts: undefined, opens }), ({ text }) =>
          world.reveal(text)
        )
      const asks = yield* keyFor("introspection")
      const narrow = yield* keyFor(["api", "profile"])
      const { access: token } = yield* signInToApp(world, yield* registerClient(world))
      expect(jsonOf(yield* ask(world, { token }, bearing(asks))).active).toBe(true)
      expect(jsonOf(yield* ask(world, { token: asks }, bearing(asks)))).toMatchObject({ active: true, scope: "" })
      const refused = yield* ask(world, { token }, bearing(narrow))
      expect([refused.status, jsonOf(refused).error]).toEqual([401, "invalid_token"])
      const statusWith = (key: string) => Effect.map(companies(world, key), ({ status }) => status)
      expect([yield* statusWith(asks), yield* statusWith(narrow)]).toEqual([403, 200])
    }))

  test("is refused by a scheme that keys do not have, beside a client's secret too", () =>
    inWorld(
      function* (world) {
        const client = yield* registerClient(world)
        const { access: token } = yield* signInToApp(world, client)
        const dpop = { authorization: `DPoP ${token}` }
        for (const own of [{}, { client_id: client.id, client_secret: client.secret }]) {
          const shown = yield* ask(world, { ...own, token }, dpop)
          expect([shown.status, jsonOf(shown).error]).toEqual([401, "invalid_client"])
          expect(header(shown, "www-authenticate")).toStartWith("Basic")
        }
      },
      { signatures: realSignatures }
    ))

  test("is refused with anything but a live key", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, machine)
      const { access } = yield* signInToApp(world, client)
      const made = yield* tokenRequest(world, client, { grant_type: "client_credentials" })
      const own = String(jsonOf(made).access_token)
      const dead = yield* makeKey(world, Instant.make(t0))
      for (const token of [access, own, dead, "x", "a b"]) {
        const response = yield* ask(world, { token: access }, bearing(token))
        expect([response.status, jsonOf(response).error]).toEqual([401, "invalid_token"])
        expect(header(response, "www-authenticate")).toStartWith('Bearer error="invalid_token"')
      }
      expect(world.audit.flatMap(({ event }) => (event._tag === "Refused" ? [event.reason] : []))).toEqual([
        "wrong_kind",
        "wrong_kind",
        "expired",
        "malformed",
        "malformed"
      ])
    }))
})
