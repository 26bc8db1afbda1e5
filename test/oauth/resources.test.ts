import { describe, expect, test } from "bun:test"
import { Effect, Result, Schema } from "effect"
import { TestClock } from "effect/testing"
import { deviceGrant } from "../../core/client/Profile.ts"
import type { HttpResponse } from "../../core/http/Http.ts"
import { jwtBearer } from "../../core/oauth/grants/jwtBearer.ts"
import { grantTypes } from "../../core/oauth/grants/table.ts"
import { ResourceRegistry } from "../../core/rules/Resource.ts"
import { ScopeRegistry, signInScopes } from "../../core/rules/Scope.ts"
import type { Workspace } from "../../core/workspace/Workspace.ts"
import {
  authorizeTarget,
  bearing,
  codeFor,
  companies,
  header,
  jsonOf,
  redeem,
  refresh,
  registerClient,
  tokenRequest,
  tokensOf,
  type Values
} from "../given/flow.ts"
import { inWorld, realSignatures, type Steps, theWorkspace, type World } from "../given/World.ts"
import { voucher } from "./voucher.ts"

const { issuer } = theWorkspace
const api = "https://api.example.com"
const mcp = "https://mcp.example.com/mcp"
const reports = `${issuer}/reports`

const workspace: Workspace = {
  ...theWorkspace,
  scopes: Schema.decodeUnknownSync(ScopeRegistry)([
    { name: "api", meaning: "All", needsUser: false, byDefault: true, implies: ["api:read"] },
    { name: "api:read", meaning: "Read", needsUser: false, byDefault: false },
    { name: "mcp", meaning: "Tools", needsUser: false, byDefault: false },
    { name: "profile", meaning: "You", needsUser: true, byDefault: false }
  ]),
  resources: Schema.decodeUnknownSync(ResourceRegistry)([
    { at: `${api}/`, name: "API", scopes: ["api"] },
    { at: mcp, name: "Tools", scopes: ["mcp", "api:read"] },
    { at: reports, name: "Reports", scopes: ["api:read"] }
  ])
}

const listing = <A>(body: (world: World) => Steps<A>) => inWorld(body, { resolve: () => workspace })

const told = Effect.fnUntraced(function* (world: World, token: string) {
  const key = yield* world.services.grants.createKey(theWorkspace.id, { name: "rs", expiresAt: null })
  const answer = yield* world.send("POST", "/oauth/introspect", {
    headers: { ...bearing(world.reveal(key.text)), "content-type": "application/x-www-form-urlencoded" },
    body: `token=${token}`
  })
  const { aud, implied_scope, scope } = jsonOf(answer)
  return { aud, implied_scope, scope }
})

const errorOf = (response: HttpResponse) => [response.status, jsonOf(response).error]

const letIn = Effect.fnUntraced(function* (world: World, fields: Values) {
  const client = yield* registerClient(world, { scope: "api api:read mcp profile" })
  const code = yield* codeFor(world, client, fields)
  return { client, ...tokensOf(yield* redeem(world, client, code)) }
})

describe("several resources (RFC 8707)", () => {
  test("make one grant, whose tokens say what they are for", () =>
    listing(function* (world) {
      const both = yield* letIn(world, { resource: [`${mcp}/`, api, mcp], scope: "api mcp" })
      expect(yield* told(world, both.access)).toEqual({
        aud: [mcp, api],
        implied_scope: "api:read",
        scope: "api mcp"
      })
      const one = yield* refresh(world, both.client, both.refresh, { resource: api })
      expect(yield* told(world, tokensOf(one).access)).toEqual({ aud: api, implied_scope: "api:read", scope: "api" })
      expect(jsonOf(one).scope).toBe("api")
      // However it was narrowed on the way, the line is as wide as it was.
      const whole = yield* refresh(world, both.client, tokensOf(one).refresh)
      expect((yield* told(world, tokensOf(whole).access)).aud).toEqual([mcp, api])
      for (const resource of [issuer, reports, [api, reports]]) {
        const wider = yield* refresh(world, both.client, tokensOf(whole).refresh, { resource })
        expect(errorOf(wider)).toEqual([400, "invalid_target"])
      }
    }))

  test("are picked from with the code, and only what was granted", () =>
    listing(function* (world) {
      const client = yield* registerClient(world, { scope: "api api:read mcp" })
      const code = yield* codeFor(world, client, { resource: [api, mcp], scope: "api mcp" })
      for (const resource of [reports, [api, reports], "https://unheard-of.example", `${api}.evil.example`]) {
        expect(errorOf(yield* redeem(world, client, code, { resource }))).toEqual([400, "invalid_target"])
      }
      const picked = tokensOf(yield* redeem(world, client, code, { resource: `${mcp}/tools` }))
      expect(yield* told(world, picked.access)).toEqual({
        aud: `${mcp}/tools`,
        implied_scope: undefined,
        scope: "api:read mcp"
      })
    }))

  test("are refused together where one is a stranger", () =>
    listing(function* (world) {
      const client = yield* registerClient(world, { grant_types: ["authorization_code", "client_credentials"] })
      for (const resource of [[api, "https://unheard-of.example"], `${issuer}/rest`, "https://mcp.example.com"]) {
        const asked = yield* world.send("GET", authorizeTarget(client, { resource }), { as: "alice" })
        expect(asked.body).not.toContain('name="decision"')
        const machine = yield* tokenRequest(world, client, { grant_type: "client_credentials", resource })
        expect(errorOf(machine)).toEqual([400, "invalid_target"])
      }
    }))

  test("take the scopes that are theirs, and no others", () =>
    listing(function* (world) {
      const { access } = yield* letIn(world, { resource: api, scope: "api mcp profile" })
      expect((yield* told(world, access)).scope).toBe("api")
      const client = yield* registerClient(world, { scope: "api mcp", grant_types: ["client_credentials"] })
      const machine = (fields: Values) => tokenRequest(world, client, { grant_type: "client_credentials", ...fields })
      expect(jsonOf(yield* machine({ resource: mcp, scope: "mcp api" })).scope).toBe("mcp")
      expect(errorOf(yield* machine({ resource: mcp, scope: "api" }))).toEqual([400, "invalid_scope"])
      expect(jsonOf(yield* machine({ resource: mcp, scope: "api:read" })).scope).toBe("api:read")
      expect(jsonOf(yield* machine({ resource: [mcp, api] })).scope).toBe("api")
    }))

  test("that no request names are those that take one of the scopes, and the issuer", () =>
    listing(function* (world) {
      const { access } = yield* letIn(world, { scope: "api" })
      expect((yield* told(world, access)).aud).toEqual([issuer, api, mcp, reports])
      const tools = yield* letIn(world, { scope: "mcp" })
      expect((yield* told(world, tools.access)).aud).toEqual([issuer, mcp])
    }))
})

describe("a sign-in beside resources (OpenID Connect Core §3.1.3.3)", () => {
  const signing: Workspace = {
    ...theWorkspace,
    scopes: signInScopes,
    resources: Schema.decodeUnknownSync(ResourceRegistry)([
      { at: api, name: "API", scopes: ["api"] },
      { at: mcp, name: "People", scopes: ["profile"] }
    ])
  }
  const inSigning = <A, E>(body: (world: World) => Effect.Effect<A, E>) =>
    inWorld(body, { resolve: () => signing, signatures: realSignatures, policy: { scopes: signInScopes } })

  const whatCame = (answer: HttpResponse) => {
    const { id_token, scope } = jsonOf(answer)
    return [answer.status, scope, typeof id_token]
  }

  test("has its ID token whatever the access token is for, with the code and at each refresh", () =>
    inSigning((world) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world, { scope: "openid api profile" })
        const scope = "openid api profile"
        const named = yield* redeem(world, client, yield* codeFor(world, client, { resource: api, scope }))
        expect(whatCame(named)).toEqual([200, "api openid", "string"])
        const code = yield* codeFor(world, client, { scope })
        const picked = yield* redeem(world, client, code, { resource: api })
        expect(whatCame(picked)).toEqual([200, "api openid", "string"])
        const { refresh: line } = tokensOf(picked)
        const elsewhere = yield* refresh(world, client, line, { resource: mcp })
        expect(whatCame(elsewhere)).toEqual([200, "profile openid", "string"])
        const narrowed = yield* refresh(world, client, tokensOf(elsewhere).refresh, { resource: mcp, scope: "profile" })
        expect(whatCame(narrowed)).toEqual([200, "profile", "undefined"])
      })
    ))

  test("opens no resource that takes none of the other scopes", () =>
    inSigning((world) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world, { scope: "openid api" })
        const alone = yield* world.send("GET", authorizeTarget(client, { resource: api, scope: "openid" }), {
          as: "alice"
        })
        expect(header(alone, "location") ?? alone.body).toContain("invalid_scope")
        const { client: asked, refresh: line } = yield* Effect.map(
          Effect.flatMap(codeFor(world, client, { scope: "openid api" }), (code) => redeem(world, client, code)),
          (answer) => ({ client, ...tokensOf(answer) })
        )
        expect(errorOf(yield* refresh(world, asked, line, { resource: mcp }))).toEqual([400, "invalid_target"])
        expect(errorOf(yield* refresh(world, asked, line, { resource: api, scope: "openid" }))).toEqual([
          400,
          "invalid_target"
        ])
      })
    ))
})

describe("a guard of a resource elsewhere, in the server's own process", () => {
  const admitted = (world: World, access: string, path: string, resource: string, scopes = ["api:read"]) =>
    Effect.map(world.guard(path, { scopes, resource }, bearing(access)), ({ _tag }) => _tag === "Admitted")

  test("takes tokens for it and nothing else, and scopes that imply what it needs", () =>
    listing(function* (world) {
      const forApi = yield* letIn(world, { resource: api, scope: "api" })
      expect(yield* admitted(world, forApi.access, "/orders", api)).toBe(true)
      expect(yield* admitted(world, forApi.access, "/orders", api, ["mcp"])).toBe(false)
      expect(yield* admitted(world, forApi.access, "/mcp", mcp)).toBe(false)
      expect((yield* companies(world, forApi.access)).status).toBe(401)
      const forTools = yield* letIn(world, { resource: mcp, scope: "mcp" })
      expect(yield* admitted(world, forTools.access, "/mcp/x", mcp, ["mcp"])).toBe(true)
      expect(yield* admitted(world, forTools.access, "/mcp-other", mcp, ["mcp"])).toBe(false)
      expect(yield* admitted(world, forTools.access, "/mcp/%2e%2e/admin", mcp, ["mcp"])).toBe(false)
      // Whatever path is called: a guard that stands before one API is no guard of its neighbour.
      const forReports = yield* letIn(world, { resource: reports, scope: "api:read" })
      expect(yield* admitted(world, forReports.access, "/reports/1", reports)).toBe(true)
      expect(yield* admitted(world, forReports.access, "/reports/1", `${issuer}/orders`)).toBe(false)
      const unnamed = yield* letIn(world, { scope: "mcp" })
      expect(yield* admitted(world, unnamed.access, "/mcp", mcp, ["mcp"])).toBe(true)
      expect(yield* admitted(world, unnamed.access, "/", api, [])).toBe(false)
    }))

  test("takes a key of the workspace wherever it stands, listed or not", () =>
    listing(function* (world) {
      const key = yield* world.services.grants.createKey(theWorkspace.id, { name: "job", expiresAt: null })
      const access = world.reveal(key.text)
      for (const [path, resource] of [
        ["/orders", api],
        ["/mcp", mcp],
        ["/x", "https://unlisted.example"]
      ] as const) {
        expect([resource, yield* admitted(world, access, path, resource, ["api:read"])]).toEqual([resource, true])
      }
      const unnamed = yield* letIn(world, { scope: "api" })
      expect(yield* admitted(world, unnamed.access, "/x", "https://unlisted.example", ["api:read"])).toBe(false)
    }))

  test("says what the route needs, and where its metadata is", () =>
    listing(function* (world) {
      const challenge = (scopes: ReadonlyArray<string>, resource: string | undefined, headers = {}) =>
        Effect.map(
          world.guard("/reports/1", { scopes, ...(resource === undefined ? {} : { resource }) }, headers),
          (guarded) => (guarded._tag === "Refused" ? header(guarded.response, "www-authenticate") : undefined)
        )
      const well = "/.well-known/oauth-protected-resource"
      expect(yield* challenge(["mcp", "api"], mcp)).toBe(
        `Bearer resource_metadata="https://mcp.example.com${well}/mcp", scope="mcp api"`
      )
      // The nearest that is listed.
      expect(yield* challenge([], undefined)).toBe(`Bearer resource_metadata="${issuer}${well}/reports"`)
      expect(yield* challenge(["mcp"], mcp, bearing("x"))).toContain('error="invalid_token"')
      expect(yield* challenge(["mcp"], mcp, bearing("x"))).toContain('scope="mcp"')
      // All that the operation takes, also what the caller has: a client asks for just this.
      const { access } = yield* letIn(world, { scope: "api:read mcp" })
      const narrow = yield* challenge(["api", "mcp"], undefined, bearing(access))
      expect(narrow).toContain('error="insufficient_scope"')
      expect(narrow).toContain('scope="api mcp"')
    }))
})

describe("documents", () => {
  const well = "/.well-known/oauth-protected-resource"

  test("there are of each resource on the issuer's host, with the name that was called (RFC 9728 §3.3)", () =>
    listing(function* (world) {
      const of = (suffix: string) => world.send("GET", well + suffix)
      expect(jsonOf(yield* of("/reports"))).toEqual({
        resource: reports,
        authorization_servers: [issuer],
        scopes_supported: ["api:read"],
        bearer_methods_supported: ["header"],
        resource_name: "Reports"
      })
      expect(jsonOf(yield* of("/reports/")).resource).toBe(`${reports}/`)
      expect(jsonOf(yield* of(""))).toMatchObject({
        resource: issuer,
        scopes_supported: ["api", "api:read", "mcp", "profile"]
      })
      for (const none of ["/rest", "/reports-other", "/reports/x", "/REPORTS", "/x/../reports", "/reports%2F"]) {
        expect((yield* of(none)).status).toBe(404)
      }
      const server = jsonOf(yield* world.send("GET", "/.well-known/oauth-authorization-server"))
      expect(server.protected_resources).toEqual([issuer, `${api}/`, mcp, reports])
      expect(server.scopes_supported).toEqual(["api", "api:read", "mcp", "profile", "offline_access"])
    }))

  test("there are of one beside an issuer with a path", () => {
    const nested: Workspace = {
      ...theWorkspace,
      issuer: `${issuer}/t/a` as Workspace["issuer"],
      resources: Schema.decodeUnknownSync(ResourceRegistry)([{ at: `${issuer}/mcp`, name: "Tools" }])
    }
    return inWorld(
      function* (world) {
        expect(jsonOf(yield* world.send("GET", `${well}/mcp`))).toMatchObject({ resource: `${issuer}/mcp` })
        expect((yield* world.send("GET", `${well}/t/a/mcp`)).status).toBe(404)
        expect((yield* world.send("GET", `${well}/other`)).status).toBe(404)
        expect(jsonOf(yield* world.send("GET", `${well}/t/a`)).resource).toBe(`${issuer}/t/a`)
      },
      { resolve: () => nested }
    )
  })
})

describe("resources that an owner lists", () => {
  const add = (world: World, at: string) =>
    world.services.openings.list({ ...theWorkspace, sealedBefore: false }, (listed) => ({
      next: [...listed, ...Schema.decodeUnknownSync(ResourceRegistry)([{ at, name: "Added" }])],
      outcome: Result.void
    }))

  test("are known here at once, and elsewhere in a few seconds", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, { grant_types: ["client_credentials"] })
      const other = yield* world.elsewhere
      const status = (at: World) =>
        Effect.map(
          tokenRequest(at, client, { grant_type: "client_credentials", resource: api }),
          (answer) => answer.status
        )
      expect([yield* status(world), yield* status(other)]).toEqual([400, 400])
      yield* add(world, api)
      expect([yield* status(world), yield* status(other)]).toEqual([200, 400])
      yield* TestClock.adjust("5 seconds")
      expect(yield* status(other)).toBe(200)
    }))

  test("stand in the documents of a server that has just been started, and that has issued no token", () =>
    inWorld(
      function* (world) {
        yield* add(world, `${issuer}/reports/new`)
        const document = (at: World) => at.send("GET", "/.well-known/oauth-protected-resource/reports/new")
        const fresh = yield* world.elsewhere
        expect(jsonOf(yield* document(fresh)).resource_name).toBe("Added")
        const server = jsonOf(yield* (yield* world.elsewhere).send("GET", "/.well-known/oauth-authorization-server"))
        expect(server.protected_resources).toContain(`${issuer}/reports/new`)
        // Read once: later requests are answered as it was then, as for any resource.
        world.calls.get.length = 0
        expect((yield* document(fresh)).status).toBe(200)
        expect(world.calls.get).toEqual([])
        const without = yield* world.elsewhere
        world.away.add("get workspace")
        expect((yield* document(without)).status).toBe(404)
        world.calls.get.length = 0
        expect((yield* document(without)).status).toBe(404)
        expect(world.calls.get).toEqual([])
        world.away.clear()
        yield* TestClock.adjust("5 seconds")
        expect((yield* document(without)).status).toBe(200)
      },
      { resolve: () => workspace }
    ))

  test.each([
    ["client credentials without a resource", {}, 200, 503],
    ["client credentials for one", { resource: `${issuer}/rest` }, 503, 503],
    ["client credentials for two", { resource: [`${issuer}/rest`, issuer] }, 503, 503],
    // A row that takes no resource has nothing to look up, whatever is sent beside it.
    ["a voucher", { grant_type: voucher.name, voucher: "voucher-of-ada", resource: issuer }, 200, 200],
    ["a device's code", { grant_type: deviceGrant, device_code: "x" }, 503, 503],
    ["no grant type of the client's", { grant_type: "authorization_code", resource: issuer }, 400, 400],
    ["none of its own that issuers may give", { grant_type: jwtBearer.name, assertion: "x" }, 400, 400]
  ] as const)("are looked up where a request could name one: %s", async (_, fields, alone, listed) => {
    const statusIn = (resolve: () => Workspace) =>
      inWorld(
        function* (world) {
          const client = yield* registerClient(world, {
            redirect_uris: [],
            grant_types: ["client_credentials", voucher.name, deviceGrant]
          })
          const ask = (sent: Values) => tokenRequest(world, client, { grant_type: "client_credentials", ...sent })
          yield* ask({})
          // A moment in which the store is asked anew who speaks for the workspace, and what is listed, and is away.
          yield* TestClock.adjust("5 seconds")
          world.away.add("get workspace")
          return (yield* ask(fields)).status
        },
        { resolve, grants: [...grantTypes, voucher], signatures: realSignatures }
      )
    expect([await statusIn(() => theWorkspace), await statusIn(() => workspace)]).toEqual([alone, listed])
  })
})
