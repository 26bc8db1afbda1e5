import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { Hono } from "hono"
import type { HttpResponse } from "../../core/http/Http.ts"
import { localGuard } from "../../runtimes/guard.ts"
import * as ofHono from "../../runtimes/hono.ts"
import { node } from "../harness/given.ts"
import { elysiaApp } from "./frameworks/elysia.ts"
import { embedded, type Hosts, needs } from "./frameworks/embedded.ts"
import { honoApp, honoAppParsed } from "./frameworks/hono.ts"
import { startChild } from "./given/Child.ts"
import { nodeBuild } from "./given/nodeBuild.ts"
import { type Send, type Sent, sendTo } from "./given/wire.ts"
import { type Candidate, playEverywhere } from "./playEverywhere.ts"
import { limit, scripts } from "./transcript.ts"

interface Started {
  readonly name: string
  readonly issuer: string
  readonly hosts: Hosts
  readonly port: number
}

const prefixes = ["", "/auth"]
const issuerAt = (prefix: string) => `http://localhost:3000${prefix}`

const scope = Scope.makeUnsafe()
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

let started: Promise<ReadonlyArray<Started>> | undefined

/** One Node for all that runs on Node. */
const startNode = async (): Promise<ReadonlyArray<Started>> => {
  const folder = await Effect.runPromise(Scope.provide(nodeBuild, scope))
  const args = [join(folder, "test/runtimes/frameworks/main.js"), ...prefixes.map(issuerAt)]
  const child = await Effect.runPromise(Scope.provide(startChild(node(), args), scope))
  const [, line = ""] = await child.says(/^(\[.*\])$/m)
  // Our own program's words.
  return JSON.parse(line) as ReadonlyArray<Started>
}

const onNode =
  (name: string) =>
  (issuer: string, hosts: Hosts = "one") =>
    Effect.promise(async (): Promise<Send> => {
      started ??= startNode()
      const found = (await started).find((one) => one.name === name && one.issuer === issuer && one.hosts === hosts)
      if (found === undefined) throw new Error(`${name} did not start`)
      return sendTo(found.port)
    })

const honoOnBun =
  (made: typeof honoApp) =>
  (issuer: string, hosts: Hosts = "one") =>
    Effect.acquireRelease(
      Effect.promise(async () => {
        const app = made(await embedded(issuer, hosts))
        return Bun.serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" })
      }),
      (server) => Effect.promise(() => server.stop(true))
    ).pipe(Effect.map(({ port = 0 }) => sendTo(port)))

const elysiaOnBun = (issuer: string, hosts: Hosts = "one") =>
  Effect.acquireRelease(
    Effect.promise(async () => elysiaApp(await embedded(issuer, hosts)).listen({ port: 0, hostname: "127.0.0.1" })),
    (app) => Effect.promise(() => app.stop(true))
  ).pipe(Effect.map(({ server }) => sendTo(server?.port ?? 0)))

interface Application extends Omit<Candidate, "prefix" | "start"> {
  readonly start: (issuer: string, hosts?: Hosts) => ReturnType<Candidate["start"]>
}

const applications: ReadonlyArray<Application> = [
  { name: "Express 5", has: ["wire", "stray"], adds: ["x-mine", "x-powered-by"], start: onNode("Express 5") },
  // Fastify's router answers for a `%` that escapes nothing before any hook is asked.
  { name: "Fastify 5", has: ["wire"], adds: ["x-mine"], start: onNode("Fastify 5") },
  { name: "Hono, on Node", has: ["wire", "stray"], adds: ["x-mine"], start: onNode("Hono, on Node") },
  { name: "Hono, on Bun", has: ["wire", "stray"], adds: ["x-mine"], start: honoOnBun(honoApp) },
  { name: "Elysia", has: ["wire", "stray"], adds: ["x-mine"], start: elysiaOnBun },
  { name: "Koa", has: ["wire", "stray"], adds: ["x-mine"], start: onNode("Koa") }
]

const candidates: ReadonlyArray<Candidate> = prefixes.flatMap((prefix) =>
  applications.map((one) => ({ ...one, prefix, name: prefix === "" ? one.name : `${one.name}, below a path` }))
)

/** The same applications once more, for the scripts of a second workspace. */
const withMany: ReadonlyArray<Candidate> = prefixes.flatMap((prefix) =>
  applications.map(({ start, ...one }) => ({
    ...one,
    prefix,
    name: `${one.name}, with many workspaces${prefix && " below a path"}`,
    has: [...one.has, "second" as const],
    only: "second" as const,
    start: (issuer: string) => start(issuer, "many")
  }))
)

playEverywhere([...candidates, ...withMany])

for (const { name, prefix, start } of candidates) {
  describe(`beside Tessera in ${name}`, () => {
    const own = Scope.makeUnsafe()
    let send: Send
    beforeAll(async () => {
      send = await Effect.runPromise(start(issuerAt(prefix)).pipe(Scope.provide(own)))
    }, 180_000)
    afterAll(() => Effect.runPromise(Scope.close(own, Exit.void)))
    const bodyOf = async (sent: Sent) => (await send(sent)).body

    test("the app's own routes answer", async () => {
      expect(await bodyOf({ method: "GET", target: "/" })).toBe("home")
      expect(await bodyOf({ method: "GET", target: "/users/7" })).toBe("7")
    })

    test("the app's own parsers read its own bodies, and hold them to its own limit", async () => {
      const json = ["content-type", "application/json"] as const
      const form = ["content-type", "application/x-www-form-urlencoded"] as const
      const post = { method: "POST", target: "/own" } as const
      expect(await bodyOf({ ...post, headers: [json], body: '{"a":1}' })).toBe('{"a":1}')
      expect(await bodyOf({ ...post, headers: [form], body: "a=b%20c" })).toBe('{"a":"b c"}')
      const large = JSON.stringify({ a: "b".repeat(limit) })
      expect(await bodyOf({ ...post, headers: [json], body: large })).toBe(large)
    })

    test("the app's own request is found again, with what its middleware put there", async () => {
      const native = ["x-native", "?"] as const
      expect(await bodyOf({ method: "GET", target: `${prefix}/oauth/authorize?a=b`, headers: [native] })).toBe("true")
      const post = { method: "POST", target: `${prefix}/oauth/token`, body: "a=b" } as const
      expect(await bodyOf({ ...post, headers: [native] })).toBe("true")
    })

    test("the guard stands before the app's own routes, in whatever router they are", async () => {
      const metadata = { grant_types: ["client_credentials"], token_endpoint_auth_method: "client_secret_post" }
      const registered = await bodyOf({
        method: "POST",
        target: `${prefix}/oauth/register`,
        headers: [["content-type", "application/json"]],
        body: JSON.stringify(metadata)
      })
      const { client_id, client_secret } = JSON.parse(registered)
      const tokenFor = async (more: Readonly<Record<string, string>>): Promise<string> => {
        const fields = { grant_type: "client_credentials", client_id, client_secret, ...more }
        const headers = [["content-type", "application/x-www-form-urlencoded"]] as const
        const body = new URLSearchParams(fields).toString()
        return JSON.parse(await bodyOf({ method: "POST", target: `${prefix}/oauth/token`, headers, body })).access_token
      }
      const orders = async (authorization: ReadonlyArray<string>, method = "GET") => {
        const headers = authorization.map((value) => ["authorization", value] as const)
        const { body, headers: told, status } = await send({ method, target: "/shop/orders?page=2", headers })
        return { status, body, challenge: told.find(([written]) => written === "www-authenticate")?.[1] ?? "" }
      }
      const bearer = `Bearer ${await tokenFor({})}`
      expect(await orders([bearer])).toEqual({ status: 200, body: "Workspace", challenge: "" })
      expect(await orders([])).toMatchObject({
        status: 401,
        challenge: expect.stringMatching(/^Bearer resource_metadata=/)
      })
      expect((await orders([], "HEAD")).status).toBe(401)
      const invalid = { status: 401, challenge: expect.stringContaining('error="invalid_token"') }
      expect(await orders(["Bearer forged"])).toMatchObject(invalid)
      // Two are one too many, whichever of them is good.
      expect(await orders([bearer, "Bearer forged"])).toMatchObject(invalid)
      // Bound to a part of the API (RFC 8707): the whole path counts, not what a router has left of it.
      const bound = async (path: string) => orders([`Bearer ${await tokenFor({ resource: issuerAt(path) })}`])
      expect(await bound(`${prefix}/orders`)).toMatchObject(invalid)
      // Where the issuer has a path, the app's routes beside it are no resource of the issuer's.
      if (prefix === "") expect((await bound("/shop")).status).toBe(200)
      else expect(await bound(prefix)).toMatchObject(invalid)
    })

    test("what has no route is the app's own 404", async () => {
      const elsewhere = prefix === "" ? "/oauth/token/x" : "/oauth/token"
      const paths = ["/nowhere", "/oauth", "/oauth/token/", "/OAuth/token", "/oauth%2Ftoken", "/%6Fauth/token"]
      const targets = [elsewhere, "/authx/oauth/token", "/.well-known/webfinger"]
      for (const target of [...paths.map((path) => prefix + path), ...targets]) {
        for (const method of ["GET", "OPTIONS"]) {
          const { body, status } = await send({ method, target })
          expect({ method, target, status, body }).toEqual({ method, target, status: 404, body: "my own 404" })
        }
      }
    })
  })
}

for (const name of ["Express 5", "Koa"]) {
  test(`a cookie that the app sets before Tessera answers stays beside its cookies, in ${name}`, async () => {
    const send = await Effect.runPromise(onNode(name)(issuerAt("")))
    const { headers } = await send({ method: "GET", target: "/test/cookies?cookie" })
    const cookies = headers.filter(([written]) => written === "set-cookie").map(([, value]) => value.split(";", 1)[0])
    expect(cookies).toEqual(["mine=1", "a=1", "b=2"])
  })
}

test.each([
  ["at once", false],
  ["later", true]
])(
  "what a Hono app puts on an answer before Tessera gives it stays beside it and never in its place: %s",
  async (_when, waits) => {
    const answer: HttpResponse = {
      status: 200,
      headers: [
        ["cache-control", "no-store"],
        ["set-cookie", "a=1"],
        ["set-cookie", "b=2"]
      ],
      body: "ours"
    }
    const serve = () => (waits ? Promise.resolve(answer) : answer)
    const refusing = localGuard(async () => ({ _tag: "Refused", response: answer }))
    const mounted = ofHono.mount({ serve, routes: [], prefix: "", owns: (path) => path === "/ours" })
    const app = new Hono()
      .use(async (c, next) => {
        c.res.headers.set("cache-control", "public")
        c.header("set-cookie", "mine=1")
        c.header("x-mine", "1")
        await next()
        c.header("x-after", "1")
      })
      .use(mounted)
      .get("/guarded", ofHono.guard(refusing, needs), (c) => c.text("admitted"))
      .get("/own", (c) => c.text("own"))
    for (const path of ["/ours", "/guarded"]) {
      const response = await app.request(path)
      expect([response.status, await response.text()]).toEqual([200, "ours"])
      expect([...response.headers].sort()).toEqual([
        ["cache-control", "no-store"],
        ["set-cookie", "a=1"],
        ["set-cookie", "b=2"],
        ["set-cookie", "mine=1"],
        ["x-after", "1"],
        ["x-mine", "1"]
      ])
    }
    expect((await app.request("/own")).headers.get("cache-control")).toBe("public")
    // Alone in its app, Hono goes a shorter way.
    const alone = await new Hono().use(mounted).request("/ours")
    expect([alone.status, await alone.text(), alone.headers.getSetCookie()]).toEqual([200, "ours", ["a=1", "b=2"]])
  }
)

describe("bodies that the app has read before", () => {
  const onBun = "Hono, on Bun, bodies read first"
  const startAs = (name: string) =>
    Effect.runPromise(Scope.provide((name === onBun ? honoOnBun(honoAppParsed) : onNode(name))(issuerAt("")), scope))
  const start = () => startAs("Express 5, parsers first")
  const flows = ["a client, from its registration to its end", "the whole code flow", "client credentials, by Basic"]

  const parsed = ["Express 5, parsers first", "Fastify 5, parsers first", "Hono, on Node, bodies read first", onBun]

  for (const name of parsed) {
    for (const script of scripts.filter(({ title }) => flows.includes(title))) {
      test(`are taken as they were parsed: ${script.title}, in ${name}`, async () => {
        expect(await script.run({ send: await startAs(name), prefix: "" })).not.toEqual([])
      })
    }
  }

  test.each(["Express 5, parsers first", "Hono, on Node, bodies read first"])(
    "keep a parameter that came twice, and what is too large, in %s",
    async (name) => {
      const send = await startAs(name)
      const form = ["content-type", "application/x-www-form-urlencoded"] as const
      const post = { method: "POST", target: "/oauth/token", headers: [form] } as const
      const twice = await send({ ...post, body: "grant_type=client_credentials&client_id=a&client_id=b" })
      expect([twice.status, JSON.parse(twice.body)]).toMatchObject([400, { error: "invalid_request" }])
      const large = await send({ ...post, body: `grant_type=${"a".repeat(limit)}` })
      expect(large.status).toBe(413)
    }
  )

  test("are refused aloud where a parser has lost what was sent", async () => {
    const send = await start()
    const form = ["content-type", "application/x-www-form-urlencoded"] as const
    const nested = await send({ method: "POST", target: "/oauth/token", headers: [form], body: "a[b]=c" })
    expect([nested.status, nested.body]).toEqual([500, expect.stringContaining("before body parsers")])
  })

  test("are refused aloud where the app kept nothing of them", async () => {
    const send = await startAs("Hono, on Node, bodies read first")
    const headers = [
      ["content-type", "application/x-www-form-urlencoded"],
      ["x-read", "raw"]
    ] as const
    const { body, status } = await send({ method: "POST", target: "/oauth/token", headers, body: "a=b" })
    expect([status, body]).toEqual([500, expect.stringContaining("before body parsers")])
  })

  test("are refused aloud by a listener that is told nothing of them", async () => {
    const send = await startAs("Express 5, a listener behind parsers")
    const form = ["content-type", "application/x-www-form-urlencoded"] as const
    const { body, status } = await send({ method: "POST", target: "/oauth/token", headers: [form], body: "a=b" })
    expect([status, body]).toEqual([500, expect.stringContaining("before body parsers")])
    expect((await send({ method: "GET", target: "/.well-known/oauth-authorization-server" })).status).toBe(200)
  })
})
