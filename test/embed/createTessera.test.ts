import { describe, expect, spyOn, test } from "bun:test"
import type { RequestListener } from "node:http"
import { Effect } from "effect"
import { Elysia } from "elysia"
import { Hono } from "hono"
import Koa from "koa"
import { page } from "../../core/http/Route.ts"
import type { Policy } from "../../core/rules/Policy.ts"
import * as ofBun from "../../runtimes/bun.ts"
import * as ofElysia from "../../runtimes/elysia.ts"
import * as ofExpress from "../../runtimes/express.ts"
import * as ofFetch from "../../runtimes/fetch.ts"
import * as ofHono from "../../runtimes/hono.ts"
import * as ofKoa from "../../runtimes/koa.ts"
import * as ofNode from "../../runtimes/node.ts"
import { type AuditEntry, type CreateOptions, createTessera, type EmbeddedTessera } from "../../runtimes/tessera.ts"
import { listening } from "../guard/listening.ts"
import { bearer, issuer, letIn, machine, options, redirectUri, withHost } from "./host.ts"

const at = (path: string, init?: RequestInit) => new Request(`${issuer}${path}`, init)

describe("made in one call", () => {
  test("it answers the protocol, and nothing that is not its own", () =>
    withHost({}, async (auth) => {
      const metadata = await auth.handle(at("/.well-known/oauth-authorization-server"))
      expect(metadata.status).toBe(200)
      expect(await metadata.json()).toMatchObject({ issuer, token_endpoint: `${issuer}/oauth/token` })
      expect((await auth.handle(at("/orders"))).status).toBe(404)
    }))

  test("nothing of a host's own is in its way: no home page, health check, settings or example, unless asked for", async () => {
    const paths = [
      "/",
      "/healthz",
      "/readyz",
      "/settings",
      "/settings/apps",
      "/settings/keys",
      "/openapi.json",
      "/rest/companies"
    ]
    await withHost({}, async (auth) => {
      for (const path of paths) expect(auth.owns(path)).toBe(false)
      expect(auth.routes.some(({ path }) => path.startsWith("/settings") || path.startsWith("/rest"))).toBe(false)
      for (const path of ["/oauth/token", "/consent", "/oauth/register/abc", "/.well-known/oauth-protected-resource"]) {
        expect(auth.owns(path)).toBe(true)
      }
    })
    await withHost({ extras: ["settings", "home", "health", "openapi", "example"] }, async (auth) => {
      for (const path of paths) expect(auth.owns(path)).toBe(true)
    })
    await withHost({ extras: ["home"] }, async (auth) => {
      expect(auth.owns("/")).toBe(true)
      expect(auth.owns("/settings/apps")).toBe(false)
    })
  })

  test("below a path, it owns that path's and the well-known ones of RFC 8414", () =>
    withHost({ issuer: `${issuer}/auth` }, async (auth) => {
      expect(auth.prefix).toBe("/auth")
      expect(auth.owns("/auth/oauth/token")).toBe(true)
      expect(auth.owns("/.well-known/oauth-authorization-server/auth")).toBe(true)
      expect(auth.owns("/oauth/token")).toBe(false)
      expect(auth.owns("/authentic/oauth/token")).toBe(false)
      expect(auth.owns("/auth/orders")).toBe(false)
      expect((await auth.handle(at("/.well-known/oauth-authorization-server/auth"))).status).toBe(200)
    }))

  test("a mount over `fetch` leaves to the app what is the app's", () =>
    withHost({}, async (auth) => {
      const mount = ofFetch.mount(auth)
      expect(mount(at("/orders"))).toBeUndefined()
      expect((await mount(at("/oauth/token", { method: "POST" })))?.status).toBe(400)
    }))

  test("a mount on Bun leaves to the app what is the app's, and knows the caller by the socket", async () => {
    const peers: Array<string | undefined> = []
    const endpoints: CreateOptions["endpoints"] = [
      {
        path: "/extra",
        match: "exact",
        methods: {
          GET: page(() => ({ request: { peer } }) => {
            peers.push(peer)
            return Effect.succeed({ status: 200, headers: [], body: "" })
          })
        },
        errors: "oauth",
        cors: false
      }
    ]
    await withHost({ endpoints }, async (auth) => {
      const server = { requestIP: () => ({ address: "192.0.2.1" }) }
      expect(ofBun.mount(auth)(at("/orders"), server)).toBeUndefined()
      expect((await ofBun.mount(auth)(at("/extra"), server))?.status).toBe(200)
      await ofBun.mount(auth, { peer: (_request, socket) => `${socket} forwarded` })(at("/extra"), server)
      expect(peers).toEqual(["192.0.2.1", "192.0.2.1 forwarded"])
    })
  })

  test("a host's own routes come along", async () => {
    const endpoints: CreateOptions["endpoints"] = [
      {
        path: "/extra",
        match: "exact",
        methods: { GET: page(() => () => Effect.succeed({ status: 200, headers: [], body: "extra" })) },
        errors: "oauth",
        cors: false
      }
    ]
    await withHost({ endpoints }, async (auth) => {
      expect(await (await auth.handle(at("/extra"))).text()).toBe("extra")
    })
  })

  const others = ["/healthz", "/readyz", "/openapi.json", "/rest/companies"]
  const ownPaths: ReadonlyArray<readonly [extras: CreateOptions["extras"], own: ReadonlyArray<string>]> = [
    [[], ["/", "/settings", "/settings/apps", ...others]],
    [["home"], ["/settings", "/settings/apps", ...others]],
    [["settings"], ["/", ...others]],
    [["home", "settings", "health", "openapi", "example"], ["/orders"]]
  ]
  for (const [extras = [], own] of ownPaths) {
    test(`a host's own endpoints are served where ours are left out: with the extras [${extras}]`, () => {
      const endpoints: CreateOptions["endpoints"] = own.map((path) => ({
        path,
        match: "exact",
        methods: { GET: page(() => () => Effect.succeed({ status: 200, headers: [], body: "mine" })) },
        errors: "oauth",
        cors: false
      }))
      return withHost({ extras, endpoints }, async (auth) => {
        for (const path of own) {
          expect([path, auth.owns(path)]).toEqual([path, true])
          expect([path, await (await auth.handle(at(path))).text()]).toEqual([path, "mine"])
        }
      })
    })
  }

  test("options reach what applications are held to", async () => {
    await withHost({ par: "required" }, async (auth) => {
      const metadata = await (await auth.handle(at("/.well-known/oauth-authorization-server"))).json()
      expect(metadata).toMatchObject({ require_pushed_authorization_requests: true })
    })
    await withHost({ devices: false }, async (auth) => {
      const metadata = await (await auth.handle(at("/.well-known/oauth-authorization-server"))).json()
      expect(metadata).not.toHaveProperty("device_authorization_endpoint")
    })
    await withHost({ lifetimes: { device: "5 minutes" } }, async (auth) => {
      const { client } = await auth.clients.register({
        client_name: "Television",
        token_endpoint_auth_method: "none",
        grant_types: ["urn:ietf:params:oauth:grant-type:device_code"]
      })
      const body = new URLSearchParams({ client_id: client.id })
      const told = await auth.handle(at("/oauth/device_authorization", { method: "POST", body }))
      expect(await told.json()).toMatchObject({ expires_in: 300 })
    })
    await withHost({ profile: "fapi2" }, async (auth) => {
      const secretive = auth.clients.register({ client_name: "App", redirect_uris: [redirectUri] })
      expect(await secretive.then(String, String)).toContain("private_key_jwt")
    })
  })

  test("every option that is a rule reaches the rules", async () => {
    const seen: Array<Policy> = []
    const endpoints: CreateOptions["endpoints"] = [
      {
        path: "/extra",
        match: "exact",
        methods: {
          GET: page(({ policy }) => () => {
            seen.push(policy)
            return Effect.succeed({ status: 200, headers: [], body: "" })
          })
        },
        errors: "oauth",
        cors: false
      }
    ]
    const rules = {
      jwtAlgorithm: "PS256",
      maxUnprovenClients: 7,
      registrationRows: "at_consent",
      workspaceAccess: "approved",
      consent: "remember",
      requirePkce: true,
      devices: false,
      profile: "fapi2"
    } as const
    const lifetimes = {
      code: "2 seconds",
      access: "3 seconds",
      refreshIdle: "4 seconds",
      refreshMax: "5 seconds",
      refreshGrace: "6 seconds",
      consent: "7 seconds",
      device: "80 seconds"
    } as const
    const dpop = { required: true, nonces: "all" } as const
    await withHost({ ...rules, lifetimes, dpop, par: "required", endpoints }, async (auth) => {
      expect((await auth.handle(at("/extra"))).status).toBe(200)
    })
    expect(seen).toMatchObject([
      {
        ...rules,
        codeTtl: 2000,
        accessTtl: 3000,
        refreshIdleTtl: 4000,
        refreshMaxTtl: 5000,
        refreshGrace: 6000,
        consentTtl: 7000,
        deviceTtl: 80_000,
        dpop: "required",
        dpopNonce: "all",
        requirePush: true
      }
    ])
  })

  test("tokens are for the APIs that the options list, and for no other", () =>
    withHost({ resources: [{ at: "https://orders.example", scopes: ["api"] }] }, async (auth) => {
      const { token } = await machine(auth)
      const access = await token("https://orders.example")
      const needs = { scopes: ["api"], resource: "https://orders.example" }
      const checked = await auth.guard(bearer(`${issuer}/x`, access), needs)
      expect(checked._tag === "Admitted" && checked.principal.resources).toEqual(["https://orders.example"])
      expect(await token("https://invoices.example")).toBeUndefined()
    }))

  test.each([
    [{}, true],
    [{ clientDocuments: false }, undefined],
    [{ clientDocuments: ["claude.ai"] }, true],
    [{ registration: "closed" }, undefined],
    [{ registration: "closed", clientDocuments: true }, true]
  ] as const)("documents of applications are taken as %p has it", (over, offered) =>
    withHost(over, async (auth) => {
      const metadata = await (await auth.handle(at("/.well-known/oauth-authorization-server"))).json()
      expect(metadata.client_id_metadata_document_supported || undefined).toBe(offered)
    })
  )

  test("options reach what they are about: scopes, lifetimes, registration, PKCE, name", async () => {
    const over: Partial<CreateOptions> = {
      name: "Northwind",
      scopes: [
        { name: "orders:read", meaning: "See your orders", byDefault: true },
        { name: "orders:write", meaning: "Change your orders" }
      ],
      lifetimes: { access: "5 minutes" },
      registration: "closed",
      requirePkce: true
    }
    await withHost(over, async (auth) => {
      const metadata = await (await auth.handle(at("/.well-known/oauth-authorization-server"))).json()
      expect(metadata).toMatchObject({ scopes_supported: ["orders:read", "orders:write", "offline_access"] })
      expect(metadata).not.toHaveProperty("registration_endpoint")
      const { client } = await auth.clients.register({ client_name: "App", redirect_uris: [redirectUri] })
      const asked = new URLSearchParams({ response_type: "code", client_id: client.id, redirect_uri: redirectUri })
      const refused = await auth.handle(at(`/oauth/authorize?${asked}`, { headers: { cookie: "session=ada" } }))
      expect(new URL(refused.headers.get("location") ?? "").searchParams.get("error")).toBe("invalid_request")
      asked.set("code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
      asked.set("code_challenge_method", "S256")
      const page = await (
        await auth.handle(at(`/oauth/authorize?${asked}`, { headers: { cookie: "session=ada" } }))
      ).text()
      expect(page).toContain("Northwind")
      expect(page).toContain("See your orders")
      const { token } = await machine(auth)
      const checked = await auth.guard(bearer(`${issuer}/orders`, await token()), { scopes: ["orders:read"] })
      expect(checked._tag).toBe("Admitted")
    })
  })

  test("who may act for the workspace reaches registration, and its own applications may", () =>
    withHost({}, async (auth) => {
      const registered = await auth.handle(
        at("/oauth/register", {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ grant_types: ["client_credentials"] })
        })
      )
      expect(registered.status).toBe(400)
      const { token } = await machine(auth)
      const checked = await auth.guard(bearer(`${issuer}/orders`, await token()), { scopes: ["api"] })
      expect(checked._tag).toBe("Admitted")
    }))

  test("an application that registered itself acts for the workspace once it was approved, and until that is taken back", () =>
    withHost({ workspaceAccess: "approved" }, async (auth) => {
      const registered = await auth.handle(
        at("/oauth/register", {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({
            grant_types: ["client_credentials"],
            token_endpoint_auth_method: "client_secret_post"
          })
        })
      )
      expect(registered.status).toBe(201)
      // The shape is RFC 7591's; where it is not, what reads it fails.
      const { client_id, client_secret } = (await registered.json()) as Record<"client_id" | "client_secret", string>
      const token = async () => {
        const body = new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret })
        const answer = await auth.handle(at("/oauth/token", { method: "POST", body }))
        const { access_token } = (await answer.json()) as { readonly access_token?: string }
        return access_token
      }
      const standing = async () => (await auth.clients.get(client_id))?.workspaceAccess
      expect([await token(), await standing()]).toEqual([undefined, "waiting"])
      expect(await auth.clients.approve(client_id)).toBe(true)
      const text = (await token()) ?? ""
      const status = async () => (await auth.guard(bearer(`${issuer}/orders`, text), { scopes: ["api"] }))._tag
      expect([await status(), await standing()]).toEqual(["Admitted", "allowed"])
      expect(await auth.clients.refuse(client_id)).toBe(true)
      expect([await status(), await standing(), await token()]).toEqual(["Refused", "refused", undefined])
      const { client } = await machine(auth)
      expect([client.workspaceAccess, await auth.clients.approve(client.id)]).toEqual(["allowed", false])
      expect(await auth.clients.approve("nobody")).toBe(false)
    }))

  test("an application is approved by the id that holds its registration, which is no record before", () =>
    withHost({ workspaceAccess: "approved", registrationRows: "at_consent" }, async (auth) => {
      const registered = async () => {
        const answer = await auth.handle(
          at("/oauth/register", {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ client_name: "Job", grant_types: ["client_credentials"] })
          })
        )
        // The shape is RFC 7591's; where it is not, what reads it fails.
        return (await answer.json()) as Record<"client_id" | "client_secret", string>
      }
      const one = await registered()
      const other = await registered()
      const statusOf = async ({ client_id, client_secret }: typeof one) => {
        const headers = { authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}` }
        const body = new URLSearchParams({ grant_type: "client_credentials" })
        return (await auth.handle(at("/oauth/token", { method: "POST", headers, body }))).status
      }
      expect([await statusOf(one), (await auth.clients.list()).items]).toEqual([400, []])
      expect(await auth.clients.get(one.client_id)).toMatchObject({
        id: one.client_id,
        name: "Job",
        workspaceAccess: "waiting"
      })
      expect(await auth.clients.approve(`${one.client_id}AAAA`)).toBe(false)
      expect(await auth.clients.approve(one.client_id)).toBe(true)
      expect(await auth.clients.refuse(other.client_id)).toBe(true)
      const items = [...(await auth.clients.list()).items].map(({ id, workspaceAccess }) => [id, workspaceAccess])
      expect(Object.fromEntries(items)).toEqual({ [one.client_id]: "allowed", [other.client_id]: "refused" })
      expect([await statusOf(one), await statusOf(other)]).toEqual([200, 400])
    }))

  test("registration with a token takes that token, and no other", () =>
    withHost({ registration: { token: "initial-access-token" } }, async (auth) => {
      const register = (token: string) =>
        auth.handle(
          at("/oauth/register", {
            method: "POST",
            headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
            body: JSON.stringify({ redirect_uris: [redirectUri] })
          })
        )
      expect((await register("another-access-token")).status).toBe(401)
      expect((await register("initial-access-token")).status).toBe(201)
    }))
})

describe("its handler", () => {
  const registration = () =>
    at("/oauth/register", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ redirect_uris: [redirectUri] })
    })

  test("is one for Hono's `mount`, which hands over more than a request", () =>
    withHost({}, async (auth) => {
      const app = new Hono().mount("/", auth.handle)
      expect((await app.request(registration(), undefined, {})).status).toBe(201)
    }))

  test.each([
    ["a server, from Bun", { requestIP: () => ({ address: "192.0.2.1" }) }],
    ["what is known of the caller, from Deno", { remoteAddr: { hostname: "192.0.2.1" } }],
    ["a route's parameters, from Next", { params: Promise.resolve({}) }],
    ["nothing, from a host that writes null for it", null]
  ])("takes for a peer only what it can ask: not %s", (_what, given) =>
    withHost({}, async (auth) => {
      // As a platform calls it that asks no compiler.
      const handle: (request: Request, given: unknown) => Promise<Response> = auth.handle as never
      expect((await handle(registration(), given)).status).toBe(201)
    })
  )

  test("asks for the peer where it can be asked", () =>
    withHost({}, async (auth) => {
      let asked = 0
      const peer = () => {
        asked++
        return "192.0.2.1"
      }
      expect((await auth.handle(registration(), peer)).status).toBe(201)
      expect(asked).toBeGreaterThan(0)
    }))
})

describe("its log", () => {
  test.each([
    ["all", 1],
    ["problems", 0],
    ["none", 0]
  ] as const)("tells of a refusal, which is no problem of the host's, where all is wanted: %s", async (log, lines) => {
    const said = spyOn(console, "log").mockImplementation(() => undefined)
    try {
      await withHost({ log }, async (auth) => {
        expect((await auth.handle(at("/oauth/token", { method: "POST" }))).status).toBe(400)
      })
      expect(said).toHaveBeenCalledTimes(lines)
    } finally {
      said.mockRestore()
    }
  })

  const endpoints: CreateOptions["endpoints"] = [
    {
      path: "/unsendable",
      match: "exact",
      methods: { GET: page(() => () => Effect.succeed({ status: 200, headers: [["x-mine", "→"]], body: "" })) },
      errors: "oauth",
      cors: false
    }
  ]
  const unsendable = () => at("/unsendable")
  const over = async (listener: (auth: EmbeddedTessera) => RequestListener, auth: EmbeddedTessera) => {
    const { port, stop } = await listening(listener(auth))
    try {
      return (await fetch(`http://127.0.0.1:${port}/unsendable`)).status
    } finally {
      await stop()
    }
  }
  const express: (auth: EmbeddedTessera) => RequestListener = (auth) => (request, response) =>
    ofExpress.mount(auth)(request, response, () => undefined)
  const koa = (auth: EmbeddedTessera) => new Koa().use(ofKoa.mount(auth)).callback()
  const ways: ReadonlyArray<readonly [string, (auth: EmbeddedTessera) => Promise<number | undefined>]> = [
    ["handle", async (auth) => (await auth.handle(unsendable())).status],
    ["a mount over `fetch`", async (auth) => (await ofFetch.mount(auth)(unsendable()))?.status],
    ["Hono", async (auth) => (await new Hono().use(ofHono.mount(auth)).request(unsendable())).status],
    ["Elysia", async (auth) => (await new Elysia().use(ofElysia.mount(auth)).handle(unsendable())).status],
    ["Express", (auth) => over(express, auth)],
    ["Koa", (auth) => over(koa, auth)],
    ["a listener that is given it", (auth) => over(({ log, serve }) => ofNode.handler(serve, { log }), auth)]
  ]

  for (const [name, ask] of ways) {
    test.each([
      ["problems", 1],
      ["none", 0]
    ] as const)(`is as wanted where an answer can't be sent: ${name}, %s`, async (log, lines) => {
      const said = spyOn(console, "log").mockImplementation(() => undefined)
      try {
        await withHost({ log, endpoints }, async (auth) => {
          expect(await ask(auth)).toBe(500)
        })
        expect(said).toHaveBeenCalledTimes(lines)
      } finally {
        said.mockRestore()
      }
    })
  }
})

test("a caller that left while the app was busy holds no middleware of Koa's", () =>
  withHost({}, async (auth) => {
    // As Koa has one whose answer was destroyed: it closes no more.
    for (const res of [{ destroyed: true }, { destroyed: false, stream: { destroyed: true } }]) {
      const req = { headers: {}, url: "/oauth/jwks", method: "GET" }
      const context = { req, res, originalUrl: "/oauth/jwks", request: {} } as unknown as ofKoa.MountedContext
      await ofKoa.mount(auth)(context, () => Promise.reject(new Error("this is not the app's")))
      expect(context.respond).toBe(false)
    }
  }))

test("a body that the app has read before is refused aloud by a mount over `fetch`", () =>
  withHost({}, async (auth) => {
    const request = at("/oauth/token", { method: "POST", body: new URLSearchParams({ grant_type: "x" }) })
    await request.text()
    const answered = await ofFetch.mount(auth)(request)
    expect([answered?.status, await answered?.text()]).toEqual([500, expect.stringContaining("before body parsers")])
  }))

describe("its audit", () => {
  test("says of all that the host's own code does that it was the host program", async () => {
    const heard: Array<AuditEntry> = []
    await withHost({ audit: (entry) => heard.push(entry) }, async (auth) => {
      await letIn(auth, "ada")
      await auth.grants.revokeAll("ada")
      const { client } = await auth.clients.register({ client_name: "Job", grant_types: ["client_credentials"] })
      await auth.clients.disable(client.id)
      await auth.clients.disable(client.id)
      await auth.clients.delete(client.id)
      const { id } = await auth.apiKeys.create({ name: "Key" })
      await auth.apiKeys.revoke(id)
    })
    const own = heard.filter(({ requestId }) => requestId === "host program").map(({ event }) => event)
    expect(own.map(({ _tag }) => _tag)).toEqual([
      "ClientRegistered",
      "GrantRevoked",
      "ClientRegistered",
      "ClientChanged",
      "ClientDeleted",
      "KeyCreated",
      "KeyRevoked"
    ])
    for (const event of own) expect(event).toMatchObject({ by: "host program" })
  })

  test.each([
    ["unless nothing is wanted", {}, 1],
    ["and not where nothing is", { log: "none" }, 0]
  ] as const)("has what it throws logged, %s", async (_when, wanted, lines) => {
    const said = spyOn(console, "log").mockImplementation(() => undefined)
    try {
      const audit = async () => {
        throw new Error("the host's own trouble")
      }
      const { log: _, ...quiet } = options()
      const auth = createTessera({ ...quiet, audit, ...wanted })
      await auth.apiKeys.create({ name: "Key" })
      await auth.close()
      expect(said).toHaveBeenCalledTimes(lines)
      if (lines > 0) expect(String(said.mock.calls)).toContain("audit failed")
    } finally {
      said.mockRestore()
    }
  })

  test("hears of grants, refusals, revocations and changes; what it throws fails no request", async () => {
    const heard: Array<AuditEntry["event"]["_tag"]> = []
    const audit = ({ event }: AuditEntry) => {
      heard.push(event._tag)
      throw new Error("the host's own trouble")
    }
    await withHost({ audit }, async (auth) => {
      const { access } = await letIn(auth, "ada")
      expect((await auth.guard(bearer(`${issuer}/orders`, access), { scopes: ["api"] }))._tag).toBe("Admitted")
      await auth.guard(bearer(`${issuer}/orders`, "nonsense"), { scopes: ["api"] })
      const [grant] = (await auth.grants.list("ada")).items
      await auth.grants.revoke("ada", grant?.id ?? "")
      const { id } = await auth.apiKeys.create({ name: "Key" })
      await auth.apiKeys.revoke(id)
    })
    expect(heard).toEqual([
      "ClientRegistered",
      "ConsentGiven",
      "TokensIssued",
      "Refused",
      "GrantRevoked",
      "KeyCreated",
      "KeyRevoked"
    ])
  })
})
