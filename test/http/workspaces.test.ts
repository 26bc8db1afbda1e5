import { describe, expect, test } from "bun:test"
import { Effect, Option } from "effect"
import type { HttpRequest } from "../../core/http/Http.ts"
import { Pages } from "../../core/ports/Pages.ts"
import { StorageUnavailable } from "../../core/ports/Storage.ts"
import { readClientId, UserId } from "../../core/rules/Id.ts"
import { Issuer, type Workspace, WorkspaceId } from "../../core/workspace/Workspace.ts"
import {
  authorizeTarget,
  bearing,
  decide,
  form,
  formHeaders,
  header,
  hiddenFields,
  jsonOf,
  registerClient,
  returned,
  type TestClient,
  verifier
} from "../given/flow.ts"
import { inWorld, type World } from "../given/World.ts"

const workspace = (id: string, issuer: string): Workspace => ({
  id: WorkspaceId.make(id),
  issuer: Issuer.make(issuer),
  name: id
})

const red = workspace("red", "https://red.example")
const blue = workspace("blue", "https://blue.example")
const shared = workspace("shared", "https://both.example/shared")
const longer = workspace("longer", "https://both.example/shared/longer")
const workspaces = [red, blue, shared, longer]
const local = workspace("local", "http://localhost")
const odd = workspace("odd", "https://blue.example:8443")
const host = (of: Workspace) => new URL(of.issuer).host

const at = (world: World, of: Workspace) => {
  const base = new URL(of.issuer).pathname.replace(/\/$/, "")
  const send = (method: string, path: string, sent: Parameters<World["send"]>[2] = {}) =>
    world.send(method, base + path, { ...sent, host: host(of) })
  const here = { ...world, send }
  const token = (client: TestClient, fields: Readonly<Record<string, string>>) =>
    send("POST", "/oauth/token", {
      headers: formHeaders,
      body: form({ client_id: client.id, client_secret: client.secret, ...fields })
    })
  const ask = (path: string, client: TestClient, given: string) =>
    send("POST", path, {
      headers: formHeaders,
      body: form({ client_id: client.id, client_secret: client.secret, token: given })
    })
  const page = (client: TestClient) => send("GET", authorizeTarget(client), { as: "alice" })
  const code = (client: TestClient) =>
    Effect.map(
      Effect.flatMap(page(client), (shown) => decide(here, shown, "approve")),
      (response) => returned(response).get("code") ?? ""
    )
  const redeem = (client: TestClient, given: string) =>
    token(client, {
      grant_type: "authorization_code",
      code: given,
      redirect_uri: client.redirectUri,
      code_verifier: verifier
    })
  const register = () => registerClient(here, { grant_types: ["authorization_code", "client_credentials"] })
  return { send, token, ask, page, code, redeem, register }
}

/** A client known to both workspaces under one id and secret, so that nothing but the workspace keeps them apart. */
const twin = Effect.fnUntraced(function* (world: World, one: Workspace, other: Workspace) {
  const client = yield* at(world, one).register()
  const id = Option.getOrThrow(readClientId(client.id))
  const stored = yield* world.services.clients.find(one.id, id)
  if (stored === undefined) throw new Error("not registered")
  yield* world.services.clients.add(other.id, stored)
  return client
})

const machine = { grant_type: "client_credentials" }
const text = (value: unknown) => (typeof value === "string" ? value : "")

describe.each([
  ["another host", red, blue],
  ["a path below its own", shared, longer],
  ["a path above its own", longer, shared]
] as const)("one workspace, seen from another at %s", (_where, one, other) => {
  test("has no codes, tokens or grants, even for a client that both know", () =>
    inWorld(
      function* (world) {
        const client = yield* twin(world, one, other)
        const [here, there] = [at(world, one), at(world, other)]
        const code = yield* here.code(client)
        const foreign = yield* there.redeem(client, code)
        expect([foreign.status, jsonOf(foreign).error]).toEqual([400, "invalid_grant"])
        const tokens = jsonOf(yield* here.redeem(client, code))
        const access = text(tokens.access_token)
        const refresh = text(tokens.refresh_token)
        expect((yield* here.send("GET", "/rest/companies", { headers: bearing(access) })).status).toBe(200)
        expect((yield* there.send("GET", "/rest/companies", { headers: bearing(access) })).status).toBe(401)
        const refreshed = yield* there.token(client, { grant_type: "refresh_token", refresh_token: refresh })
        expect([refreshed.status, jsonOf(refreshed).error]).toEqual([400, "invalid_grant"])
        for (const token of [access, refresh]) {
          expect(jsonOf(yield* there.ask("/oauth/introspect", client, token))).toEqual({ active: false })
          expect((yield* there.ask("/oauth/revoke", client, token)).status).toBe(200)
          expect(jsonOf(yield* here.ask("/oauth/introspect", client, token)).active).toBe(true)
        }
        const alice = UserId.make("alice")
        const page = { after: undefined, limit: 10 }
        expect((yield* world.services.grants.ofUser(one.id, alice, page)).values).toHaveLength(1)
        expect((yield* world.services.grants.ofUser(other.id, alice, page)).values).toEqual([])
      },
      { workspaces }
    ))

  test("has no machine's tokens, even of a client with the same workspace grant", () =>
    inWorld(
      function* (world) {
        const client = yield* twin(world, one, other)
        const token = text(jsonOf(yield* at(world, one).token(client, machine)).access_token)
        yield* at(world, other).token(client, machine)
        const status = (of: Workspace) =>
          Effect.map(
            at(world, of).send("GET", "/rest/companies", { headers: bearing(token) }),
            (response) => response.status
          )
        expect([yield* status(one), yield* status(other)]).toEqual([200, 401])
      },
      { workspaces }
    ))

  test("has no API keys", () =>
    inWorld(
      function* (world) {
        const { grant, text: key } = yield* world.services.grants.createKey(one.id, { name: "k", expiresAt: null })
        const headers = bearing(world.reveal(key))
        expect((yield* at(world, one).send("GET", "/rest/companies", { headers })).status).toBe(200)
        expect((yield* at(world, other).send("GET", "/rest/companies", { headers })).status).toBe(401)
        const body = form({ token: "x" })
        const asked = { headers: { ...headers, ...formHeaders }, body }
        expect((yield* at(world, other).send("POST", "/oauth/introspect", asked)).status).toBe(401)
        const page = { after: undefined, limit: 10 }
        expect((yield* world.services.grants.keys(one.id, page)).values).toHaveLength(1)
        expect((yield* world.services.grants.keys(other.id, page)).values).toEqual([])
        expect(yield* world.services.grants.revokeGrant(other.id, grant.id, "by_owner")).toBe("unknown")
        expect((yield* at(world, one).send("GET", "/rest/companies", { headers })).status).toBe(200)
      },
      { workspaces }
    ))

  test("takes no consent page's form", () =>
    inWorld(
      function* (world) {
        const client = yield* twin(world, one, other)
        const mine = hiddenFields((yield* at(world, one).page(client)).body)
        const theirs = hiddenFields((yield* at(world, other).page(client)).body)
        const answer = (of: Workspace, fields: Record<string, string>) =>
          at(world, of).send("POST", "/consent", {
            as: "alice",
            headers: formHeaders,
            body: form({ ...fields, decision: "approve" })
          })
        expect((yield* answer(other, mine)).status).toBe(403)
        expect((yield* answer(other, { ...mine, csrf: theirs.csrf ?? "" })).status).toBe(403)
        expect((yield* answer(other, { ...theirs, csrf: mine.csrf ?? "" })).status).toBe(403)
        expect((yield* answer(one, mine)).status).toBe(303)
      },
      { workspaces }
    ))
})

/** Built as hosts do it, over a header that any client writes. */
const resolveOrThrow = (request: HttpRequest): Workspace | undefined => {
  const asked = request.headers.get("host") ?? ""
  if (!URL.canParse(`http://${asked}`)) throw new Error(`no such host: ${asked}`)
  return workspaces.find((one) => host(one) === asked)
}

describe("which workspace a request is for", () => {
  const issuerAt = (world: World, authority: string | undefined, path = "/.well-known/oauth-authorization-server") =>
    Effect.map(world.send("GET", path, authority === undefined ? {} : { host: authority }), (response) =>
      response.status === 200 ? jsonOf(response).issuer : response.status
    )

  test("with its scheme's default port or without", () =>
    inWorld(
      function* (world) {
        expect(yield* issuerAt(world, "Red.example:443")).toBe(red.issuer)
        expect(yield* issuerAt(world, "localhost:80")).toBe(local.issuer)
        expect(yield* issuerAt(world, "localhost:443")).toBe(404)
        expect(yield* issuerAt(world, "red.example:80")).toBe(404)
        expect(yield* issuerAt(world, "blue.example:8443")).toBe(odd.issuer)
        expect(yield* issuerAt(world, "blue.example:443")).toBe(blue.issuer)
      },
      { workspaces: [...workspaces, local, odd] }
    ))

  const others = [undefined, "", "green.example", "red.example:8443", "red.example.evil.example"]

  test.each(others)("no workspace answers at another host, on any route: %p", (other) =>
    inWorld(
      function* (world) {
        const sent = other === undefined ? {} : { host: other }
        const headers = { ...formHeaders, origin: "https://page.example", accept: "text/html" }
        const targets = world.routes.flatMap(({ methods, path }) =>
          [...Object.keys(methods), "HEAD", "OPTIONS"].map((method) => [method, path] as const)
        )
        expect(targets.length).toBeGreaterThan(20)
        const [first] = targets
        const nowhere = yield* world.send(first?.[0] ?? "", first?.[1] ?? "", sent)
        expect([nowhere.status, jsonOf(nowhere).error]).toEqual([404, "not_found"])
        for (const [method, path] of [...targets, ["GET", "/nowhere"] as const]) {
          const response = yield* world.send(method, path, { ...sent, as: "alice", headers, body: "a=b" })
          expect([method, path, response.status]).toEqual([method, path, 404])
          // Neither a redirect nor a page of a workspace that this request is not for.
          expect([header(response, "location"), header(response, "set-cookie")]).toEqual([undefined, undefined])
          expect(response.body).not.toMatch(/red|blue|<html/)
        }
        const guarded = yield* world.guard("/x", { scopes: [] }, { host: other ?? "" })
        expect(guarded._tag === "Refused" && guarded.response.status).toBe(404)
        expect(Object.values(world.calls).flat()).toEqual([])
      },
      { workspaces }
    )
  )

  test("of two hosts it takes neither", () =>
    inWorld(
      function* (world) {
        const both = "red.example, blue.example"
        const guarded = yield* world.guard("/x", { scopes: [] }, { host: both })
        if (guarded._tag !== "Refused") throw new Error("admitted")
        for (const answer of [yield* world.send("GET", "/healthz", { host: both }), guarded.response]) {
          expect([answer.status, jsonOf(answer).error]).toEqual([400, "invalid_request"])
        }
      },
      { workspaces }
    ))

  test("a host's own way to tell that throws is a defect like any other: answered, and in the log under its id", () =>
    inWorld(
      function* (world) {
        const response = yield* world.send("GET", "/healthz", { host: "a b" })
        expect([response.status, jsonOf(response).error]).toEqual([500, "server_error"])
        expect(header(response, "x-content-type-options")).toBe("nosniff")
        expect(world.log.join("\n")).toMatch(
          new RegExp(`a defect.*${header(response, "x-request-id") ?? "no id"}.*no such host: a b`)
        )
        expect((yield* world.send("GET", "/healthz", { host: "red.example" })).status).toBe(200)
      },
      { resolve: resolveOrThrow }
    ))
})

describe("a guard, where a host's own way to tell workspaces apart throws", () => {
  test("refuses, and says so in the log under the answer's id", () =>
    inWorld(
      function* (world) {
        const guarded = yield* world.guard("/x", { scopes: [] }, { host: "a b" })
        const response = guarded._tag === "Refused" ? guarded.response : undefined
        expect(response?.status).toBe(500)
        const id = response && header(response, "x-request-id")
        expect(world.log.join("\n")).toMatch(new RegExp(`a defect.*${id ?? "no id"}.*no such host: a b`))
      },
      { resolve: resolveOrThrow }
    ))
})

describe("a page of a host's own that throws", () => {
  const pages = Pages.layer(undefined, {
    error: () => {
      throw new Error("no page")
    }
  })

  test.each([
    ["for an unknown address", "/nowhere"],
    ["for a store that is away", `/oauth/authorize?client_id=${"c".repeat(22)}`]
  ])("is a defect like any other, %s", (_where, target) =>
    inWorld(
      function* (world) {
        world.away.add("get client")
        const response = yield* world.send("GET", target, { headers: { accept: "text/html" } })
        expect([response.status, jsonOf(response).error]).toEqual([500, "server_error"])
        const id = header(response, "x-request-id") ?? "no id"
        expect(world.log.join("\n")).toMatch(new RegExp(`a defect.*${id}.*no page`))
      },
      { pages }
    )
  )
})

const neighbour = (id: string, issuer: string): Workspace => ({
  id: WorkspaceId.make(id),
  issuer: Issuer.make(issuer),
  name: id
})

const acme = neighbour("acme", "https://id.example.com/acme")
const root = neighbour("root", "https://id.example.com")

describe("a workspace whose path is a part of a neighbour's addresses", () => {
  const documents = "/.well-known/oauth-protected-resource"

  test("does not stand in the way of the neighbour's documents", () =>
    inWorld(
      function* (world) {
        const send = (path: string) => world.send("GET", path, { host: "id.example.com" })
        expect(jsonOf(yield* send(`${documents}/acme/mcp`)).resource).toBe("https://id.example.com/acme/mcp")
        expect(jsonOf(yield* send(`${documents}/acme/mcp/tools`)).resource).toBe(
          "https://id.example.com/acme/mcp/tools"
        )
        expect(jsonOf(yield* send(`${documents}/mcp`)).resource).toBe("https://id.example.com/mcp")
        expect(jsonOf(yield* send(`${documents}/mcp`)).authorization_servers).toEqual(["https://id.example.com/mcp"])
      },
      { workspaces: [neighbour("hostile", "https://id.example.com/mcp"), acme] }
    ))

  test("nor of the one that has the whole host", () =>
    inWorld(
      function* (world) {
        const found = yield* world.send("GET", `${documents}/rest/mcp`, { host: "id.example.com" })
        expect(jsonOf(found)).toMatchObject({
          resource: "https://id.example.com/rest/mcp",
          authorization_servers: ["https://id.example.com"]
        })
      },
      { workspaces: [neighbour("hostile", "https://id.example.com/mcp"), root] }
    ))
})

describe("a workspace that is disabled", () => {
  const closed = { ...red, disabled: true }
  const issuerOf = (world: World) =>
    world.send("GET", "/.well-known/oauth-authorization-server", { host: "red.example" })

  test("answers 503 on every route that is there, and asks the store nothing", () =>
    inWorld(
      function* (world) {
        const targets = world.routes.flatMap(({ methods, path, match }) =>
          Object.keys(methods).map((method) => [method, match === "below" ? `${path}/x` : path] as const)
        )
        expect(targets.length).toBeGreaterThan(15)
        for (const [method, path] of targets) {
          const response = yield* world.send(method, path, { host: "red.example", as: "alice", body: "a=b" })
          expect([method, path, response.status]).toEqual([method, path, 503])
          expect(header(response, "retry-after")).toBe("300")
          expect([header(response, "location"), header(response, "set-cookie")]).toEqual([undefined, undefined])
        }
        expect(Object.values(world.calls).flat()).toEqual([])
        const guarded = yield* world.guard("/x", { scopes: [] }, { host: "red.example", ...bearing("x") })
        expect(guarded._tag === "Refused" && guarded.response.status).toBe(503)
      },
      { workspaces: [closed, blue] }
    ))

  test("tells a browser's script so at the routes of scripts, people on a page, and clients no invalid_client", () =>
    inWorld(
      function* (world) {
        const script = { host: "red.example", headers: { ...formHeaders, origin: "https://page.example" } }
        const asked = yield* world.send("POST", "/oauth/token", {
          ...script,
          body: form({ grant_type: "refresh_token" })
        })
        expect([asked.status, jsonOf(asked).error]).toEqual([503, "temporarily_unavailable"])
        expect(header(asked, "access-control-allow-origin")).toBe("*")
        const page = yield* world.send("GET", "/oauth/authorize", { host: "red.example" })
        expect(page.body).toContain('data-page="error-workspace-disabled"')
        const preflight = yield* world.send("OPTIONS", "/oauth/token", script)
        expect(preflight.status).toBe(204)
      },
      { workspaces: [closed, blue] }
    ))

  test("is no other workspace's trouble", () =>
    inWorld(
      function* (world) {
        expect((yield* issuerOf(world)).status).toBe(503)
        const other = yield* world.send("GET", "/.well-known/oauth-authorization-server", { host: "blue.example" })
        expect(jsonOf(other).issuer).toBe(blue.issuer)
      },
      { workspaces: [closed, blue] }
    ))

  test("goes on where it was once it is enabled again: its clients, tokens and keys", () => {
    let now: Workspace = red
    return inWorld(
      function* (world) {
        const client = yield* at(world, red).register()
        const code = yield* at(world, red).code(client)
        const tokens = jsonOf(yield* at(world, red).redeem(client, code))
        const access = text(tokens.access_token)
        const status = () =>
          Effect.map(
            at(world, red).send("GET", "/rest/companies", { headers: bearing(access) }),
            (response) => response.status
          )
        expect(yield* status()).toBe(200)
        now = closed
        expect(yield* status()).toBe(503)
        now = red
        expect(yield* status()).toBe(200)
        const refreshed = yield* at(world, red).token(client, {
          grant_type: "refresh_token",
          refresh_token: text(tokens.refresh_token)
        })
        expect(refreshed.status).toBe(200)
      },
      { workspaces: [red], resolve: () => now }
    )
  })
})

describe("workspaces that are kept elsewhere", () => {
  const elsewhere = (answer: Effect.Effect<Workspace | undefined, StorageUnavailable>) => ({
    workspaces: [red],
    find: () => answer
  })
  const asked = (world: World) => world.send("GET", "/.well-known/oauth-authorization-server", { host: "red.example" })
  const guarded = (world: World) => world.guard("/x", { scopes: [] }, { host: "red.example" })
  const away = new StorageUnavailable({ outcome: "not_done", message: "the table is away" })

  test.each([
    ["one that is found at once", Effect.succeed(red), 200, 401],
    ["one that is found later", Effect.andThen(Effect.yieldNow, Effect.succeed(red)), 200, 401],
    ["none", Effect.succeed(undefined), 404, 404],
    ["where nobody can say", Effect.fail(away), 503, 503],
    ["where what looks for it breaks", Effect.die(new Error("no look")), 500, 500],
    ["where what looks for it is stopped", Effect.interrupt, 503, 503]
  ] as const)("%s", (which, answer, status, guardStatus) =>
    inWorld(function* (world) {
      const answered = yield* asked(world)
      expect(answered.status).toBe(status)
      const admitted = yield* guarded(world)
      if (admitted._tag !== "Refused") throw new Error("admitted")
      expect(admitted.response.status).toBe(guardStatus)
      // What is in the log is there under the id of the answer.
      const ids = [answered, admitted.response].map((each) => header(each, "x-request-id") ?? "no id")
      const isFault = status === 500 || which === "where nobody can say"
      const logged = isFault ? ids : guardStatus === 401 ? ids.slice(1) : []
      expect(world.log).toEqual(logged.map((id) => expect.stringContaining(id)))
      const refused = { _tag: "Refused", endpoint: "guard", refusal: "TokenRequired", reason: null } as const
      expect(world.audit.map(({ event }) => event)).toEqual(guardStatus === 401 ? [refused] : [])
    }, elsewhere(answer))
  )

  test("are not looked for where one is at hand", () =>
    inWorld(
      function* (world) {
        expect(jsonOf(yield* asked(world)).issuer).toBe(red.issuer)
        const refused = yield* world.guard("/x", { scopes: [] }, {})
        expect(refused._tag === "Refused" && refused.response.status).toBe(401)
      },
      { workspaces: [red], resolve: () => red, find: () => Effect.die(new Error("looked")) }
    ))

  test("a page that throws behind the look is a defect like any other", () =>
    inWorld(
      function* (world) {
        const response = yield* world.send("GET", "/nowhere", {
          host: "red.example",
          headers: { accept: "text/html" }
        })
        expect([response.status, jsonOf(response).error]).toEqual([500, "server_error"])
      },
      {
        ...elsewhere(Effect.andThen(Effect.yieldNow, Effect.succeed(red))),
        pages: Pages.layer(undefined, {
          error: () => {
            throw new Error("no page")
          }
        })
      }
    ))
})
