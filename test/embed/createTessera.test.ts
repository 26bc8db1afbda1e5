import { describe, expect, spyOn, test } from "bun:test"
import type { RequestListener } from "node:http"
import { setTimeout } from "node:timers/promises"
import { Deferred, Effect, Layer, Option } from "effect"
import { Elysia } from "elysia"
import { Hono } from "hono"
import Koa from "koa"
import * as memory from "../../adapters/memory/Memory.ts"
import { page } from "../../core/http/Route.ts"
import { Storage } from "../../core/ports/Storage.ts"
import * as ofBun from "../../runtimes/bun.ts"
import * as ofElysia from "../../runtimes/elysia.ts"
import * as ofExpress from "../../runtimes/express.ts"
import * as ofFetch from "../../runtimes/fetch.ts"
import * as ofHono from "../../runtimes/hono.ts"
import * as ofKoa from "../../runtimes/koa.ts"
import * as ofNode from "../../runtimes/node.ts"
import {
  type AuditEntry,
  type CreateOptions,
  createTessera,
  type EmbeddedTessera,
  StorageUnavailable
} from "../../runtimes/tessera.ts"
import { listening } from "../guard/listening.ts"
import { bearer, issuer, letIn, machine, options, redirectUri, testClock, withHost } from "./host.ts"

const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "it did not fail",
    (error) => error
  )

const at = (path: string, init?: RequestInit) => new Request(`${issuer}${path}`, init)

/** A layer that says how often it was opened and closed, and fails as often as it is told to. */
const watchedStorage = (failures = 0) => {
  const seen = { opened: 0, closed: 0 }
  const layer = Layer.effect(
    Storage,
    Effect.gen(function* () {
      seen.opened++
      yield* Effect.addFinalizer(() => Effect.sync(() => seen.closed++))
      if (seen.opened <= failures) {
        return yield* new StorageUnavailable({ outcome: "not_done", message: "the door is locked" })
      }
      return yield* Storage
    })
  ).pipe(Layer.provide(memory.layer))
  return { layer, seen }
}

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
    ["nothing, from whoever writes null for it", null]
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

test("a body that the app has read before is refused aloud by a mount over `fetch`", () =>
  withHost({}, async (auth) => {
    const request = at("/oauth/token", { method: "POST", body: new URLSearchParams({ grant_type: "x" }) })
    await request.text()
    const answered = await ofFetch.mount(auth)(request)
    expect([answered?.status, await answered?.text()]).toEqual([500, expect.stringContaining("before body parsers")])
  }))

describe("its storage", () => {
  test("is opened by the first request that needs it, once for all, and closed with it", async () => {
    const { layer, seen } = watchedStorage()
    await withHost({ storage: layer }, async (auth) => {
      await auth.handle(at("/.well-known/oauth-authorization-server"))
      expect(seen.opened).toBe(0)
      await Promise.all([auth.clients.list(), auth.clients.list(), auth.apiKeys.list()])
      expect(seen).toEqual({ opened: 1, closed: 0 })
    })
    expect(seen).toEqual({ opened: 1, closed: 1 })
  })

  test("is opened by `ready`, which rejects with what the store says", async () => {
    const { layer, seen } = watchedStorage(1)
    await withHost({ storage: layer }, async (auth) => {
      expect(await auth.ready().catch((error) => error)).toMatchObject({ message: "the door is locked" })
      // What the failed try had taken is given back, and the next one may succeed.
      expect(seen).toEqual({ opened: 1, closed: 1 })
      await auth.ready()
      expect(seen).toEqual({ opened: 2, closed: 1 })
    })
  })

  test("that cannot be opened is 503 to a request, and tried again by the next", async () => {
    const { layer } = watchedStorage(1)
    await withHost({ storage: layer }, async (auth) => {
      const ask = () => auth.guard(bearer(`${issuer}/orders`, `tsr_ak_${"A".repeat(70)}`), { scopes: [] })
      const introspect = () =>
        auth.handle(
          at("/oauth/introspect", {
            method: "POST",
            headers: { "content-type": "application/x-www-form-urlencoded" },
            body: `client_id=${"A".repeat(22)}&client_secret=x&token=y`
          })
        )
      const away = await introspect()
      expect(away.status).toBe(503)
      expect(away.headers.get("retry-after")).toBe("2")
      expect((await introspect()).status).toBe(401)
      expect(await ask()).toMatchObject({ _tag: "Refused" })
    })
  })

  test("is opened once for all who need it while it is being opened", async () => {
    const mayOpen = Deferred.makeUnsafe<void>()
    let opened = 0
    const opening = Effect.andThen(Deferred.await(mayOpen), Storage).pipe(
      Effect.tap(() =>
        Effect.sync(() => {
          opened++
        })
      )
    )
    const storage = Layer.effect(Storage, opening).pipe(Layer.provide(memory.layer))
    await withHost({ storage }, async (auth) => {
      const all = [auth.clients.list(), auth.ready(), auth.apiKeys.list()]
      await Effect.runPromise(Deferred.succeed(mayOpen, undefined))
      await Promise.all(all)
      expect(opened).toBe(1)
    })
  })

  test("is opened no longer once the server is closed", async () => {
    const begun = Deferred.makeUnsafe<void>()
    let left = false
    const opening = Effect.andThen(Deferred.succeed(begun, undefined), Effect.never).pipe(
      Effect.onInterrupt(() =>
        Effect.sync(() => {
          left = true
        })
      )
    )
    const auth = createTessera(options({ storage: Layer.effect(Storage, opening) }))
    const ready = auth.ready().then(
      () => "ready",
      () => "refused"
    )
    await Effect.runPromise(Deferred.await(begun))
    await auth.close()
    expect(left).toBe(true)
    expect(await ready).toBe("refused")
  })

  test("that is opened in the midst of closing is given back before the server is closed", async () => {
    const begun = Deferred.makeUnsafe<void>()
    const mayOpen = Deferred.makeUnsafe<void>()
    const said: Array<string> = []
    const opening = Effect.andThen(
      // It cannot be interrupted, as whatever is being acquired.
      Effect.acquireRelease(Effect.andThen(Deferred.succeed(begun, undefined), Deferred.await(mayOpen)), () =>
        Effect.sync(() => said.push("given back"))
      ),
      Storage
    )
    const storage = Layer.effect(Storage, opening).pipe(Layer.provide(memory.layer))
    const auth = createTessera(options({ storage }))
    const ready = auth.ready().catch(() => "refused")
    await Effect.runPromise(Deferred.await(begun))
    const closing = auth.close().then(() => said.push("closed"))
    // Time enough to close, for a server that would not wait.
    await setTimeout(50)
    await Effect.runPromise(Deferred.succeed(mayOpen, undefined))
    await closing
    expect(said).toEqual(["given back", "closed"])
    expect(await ready).toBe("refused")
  })

  test("may be the verbs themselves", async () => {
    const storage = await Effect.runPromise(Effect.provide(Storage, memory.layer))
    await withHost({ storage }, async (auth) => {
      const { client } = await auth.clients.register({ client_name: "App", redirect_uris: [redirectUri] })
      const kept = await Effect.runPromise(storage.get({ workspace: "main", kind: "client", id: client.id }))
      expect(Option.isSome(kept)).toBe(true)
    })
  })

  test("once closed, everything is refused and nothing is thrown in passing", async () => {
    let kept: Parameters<Parameters<typeof withHost>[1]>[0] | undefined
    await withHost({}, async (auth) => {
      kept = auth
      await auth.ready()
    })
    if (kept === undefined) throw new Error("there was none")
    expect((await kept.handle(at("/oauth/token", { method: "POST" }))).status).toBe(503)
    const checked = await kept.guard(bearer(`${issuer}/orders`, "abc"), { scopes: [] })
    expect(checked._tag === "Refused" ? checked.response.status : 200).toBe(503)
    expect(await kept.clients.list().catch((error) => error)).toMatchObject({ _tag: "StorageUnavailable" })
    await kept.close()
  })
})

describe("its chores", () => {
  test("begin when the storage is open, and remove what has expired", async () => {
    const { clock, wait } = await testClock()
    const storage = await Effect.runPromise(Effect.provide(Storage, memory.layer))
    const held = () =>
      Effect.runPromise(storage.list({ workspace: "main", kind: "grant", owner: "keys", after: undefined, limit: 9 }))
    await withHost({ clock, storage, housekeeping: false }, async (auth) => {
      const made = await auth.apiKeys.create({ name: "Soon gone", expiresIn: "1 minute" })
      expect(made.expiresAt).toEqual(new Date(made.createdAt.getTime() + 60_000))
    })
    // A day longer than it was good for: records stay for as long.
    await wait(24 * 60 * 60_000)
    await withHost({ clock, storage }, async (auth) => {
      await wait(5 * 60_000)
      expect((await held()).records.length).toBe(1)
      await auth.apiKeys.list()
      await wait(5 * 60_000)
      expect((await held()).records.length).toBe(0)
    })
  })

  test("are left alone where they are turned off, and done by hand", async () => {
    const { clock, wait } = await testClock()
    const storage = await Effect.runPromise(Effect.provide(Storage, memory.layer))
    await withHost({ clock, storage, housekeeping: false }, async (auth) => {
      await auth.apiKeys.create({ name: "Soon gone", expiresIn: "1 minute" })
      const held = () =>
        Effect.runPromise(storage.list({ workspace: "main", kind: "grant", owner: "keys", after: undefined, limit: 9 }))
      await wait(24 * 60 * 60_000 + 5 * 60_000)
      expect((await held()).records.length).toBe(1)
      await auth.housekeep()
      expect((await held()).records.length).toBe(0)
    })
  })

  test("done by hand note what was used, and how much of the rate limits", async () => {
    const used = async (rateLimits?: boolean) => {
      const storage = await Effect.runPromise(Effect.provide(Storage, memory.layer))
      const kinds = new Set<string>()
      let noted: ReadonlyArray<string> = []
      const insert: Storage["Service"]["insert"] = (record) => {
        kinds.add(record.kind)
        return storage.insert(record)
      }
      const limits = rateLimits === undefined ? {} : { rateLimits }
      await withHost({ storage: { ...storage, insert }, housekeeping: false, ...limits }, async (auth) => {
        const { token } = await machine(auth)
        // The first time it also counts the clients.
        await auth.housekeep()
        // Of a limit that is hardly touched nobody else has to hear.
        for (let count = 0; count < 400; count++) await token()
        kinds.clear()
        await auth.housekeep()
        noted = [...kinds].sort()
      })
      return noted
    }
    expect(await used()).toEqual(["limit", "usage"])
    expect(await used(false)).toEqual(["usage"])
  })

  test("closing notes what was used", async () => {
    const storage = await Effect.runPromise(Effect.provide(Storage, memory.layer))
    await withHost({ storage }, async (auth) => {
      const { key } = await auth.apiKeys.create({ name: "Used" })
      await auth.guard(bearer(`${issuer}/orders`, key), { scopes: [] })
    })
    await withHost({ storage }, async (auth) => {
      expect((await auth.apiKeys.list()).items[0]?.lastUsedAt).toBeInstanceOf(Date)
    })
  })
})

describe("closing it", () => {
  type Verbs = Storage["Service"]

  /** A store in memory of which the test has some verbs of its own, and whether it was given back. */
  const storeWith = async (own: (kept: Verbs) => Partial<Verbs>) => {
    const kept = await Effect.runPromise(Effect.provide(Storage, memory.layer))
    const seen = { givenBack: false }
    const store = Storage.of({ ...kept, ...own(kept) })
    const giveBack = Effect.sync(() => {
      seen.givenBack = true
    })
    return {
      seen,
      layer: Layer.effect(
        Storage,
        Effect.acquireRelease(Effect.succeed(store), () => giveBack)
      )
    }
  }

  const useKey = async (auth: EmbeddedTessera) => {
    const { key } = await auth.apiKeys.create({ name: "Used" })
    await auth.guard(bearer(`${issuer}/orders`, key), { scopes: [] })
  }

  test("is done once, however many ask for it, and all of them wait for the end", async () => {
    const begun = Deferred.makeUnsafe<void>()
    const mayEnd = Deferred.makeUnsafe<void>()
    let notes = 0
    const { layer, seen } = await storeWith(({ insert }) => ({
      insert: (record) => {
        if (record.kind !== "usage") return insert(record)
        notes++
        const first = Effect.andThen(Deferred.succeed(begun, undefined), Deferred.await(mayEnd))
        return Effect.andThen(notes === 1 ? first : Effect.never, insert(record))
      }
    }))
    const auth = createTessera(options({ storage: layer }))
    await useKey(auth)
    const both = [auth.close(), auth.close()]
    await Effect.runPromise(Deferred.await(begun))
    both.push(auth.close())
    expect(await failureOf(auth.apiKeys.list())).toMatchObject({ _tag: "StorageUnavailable", outcome: "not_done" })
    await Effect.runPromise(Deferred.succeed(mayEnd, undefined))
    expect((await Promise.allSettled(both)).map(({ status }) => status)).toEqual(both.map(() => "fulfilled"))
    expect({ notes, ...seen }).toEqual({ notes: 1, givenBack: true })
  })

  test.each<[string, Partial<Record<keyof Verbs, true>>, (auth: EmbeddedTessera) => Promise<unknown>]>([
    ["apiKeys.create", { insert: true }, ({ apiKeys }) => apiKeys.create({ name: "Cut off" })],
    ["clients.list", { list: true }, ({ clients }) => clients.list()],
    ["housekeep", { sweep: true }, ({ housekeep }) => housekeep()]
  ])("leaves what is under way with a tagged error: %s", async (_name, silent, call) => {
    const asked = Deferred.makeUnsafe<void>()
    const silence = Effect.andThen(Deferred.succeed(asked, undefined), Effect.never)
    const { layer } = await storeWith(({ insert, list, sweep }) => ({
      insert: silent.insert ? () => silence : insert,
      list: silent.list ? () => silence : list,
      sweep: silent.sweep ? () => silence : sweep
    }))
    const auth = createTessera(options({ storage: layer, housekeeping: false }))
    const failure = failureOf(call(auth))
    await Effect.runPromise(Deferred.await(asked))
    await auth.close()
    expect(await failure).toMatchObject({ _tag: "StorageUnavailable", outcome: "unknown" })
  })

  test("gives back a store that never answers to what was to be noted last", async () => {
    const asked = Deferred.makeUnsafe<void>()
    const { clock, wait } = await testClock()
    const { layer, seen } = await storeWith(({ insert }) => ({
      insert: (record) =>
        record.kind === "usage" ? Effect.andThen(Deferred.succeed(asked, undefined), Effect.never) : insert(record)
    }))
    const auth = createTessera(options({ clock, storage: layer, housekeeping: false }))
    await useKey(auth)
    const closed = auth.close()
    await Effect.runPromise(Deferred.await(asked))
    await wait(5000)
    await closed
    expect(seen.givenBack).toBe(true)
  })

  test("gives back a store that dies of what was to be noted last", async () => {
    const { layer, seen } = await storeWith(({ insert }) => ({
      insert: (record) => (record.kind === "usage" ? Effect.die(new Error("a fault of the store's")) : insert(record))
    }))
    const auth = createTessera(options({ storage: layer }))
    await useKey(auth)
    await auth.close()
    expect(seen.givenBack).toBe(true)
  })
})

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

  test("hears of grants, refusals, revocations and changes; what it throws hurts nobody", async () => {
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
