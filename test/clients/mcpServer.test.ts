import { describe, expect, test } from "bun:test"
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http"
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client"
import type { AuthInfo } from "@modelcontextprotocol/sdk/server/auth/types.js"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js"
import { Effect } from "effect"
import express from "express"
import { Hono } from "hono"
import { cors } from "hono/cors"
import * as ofExpress from "../../runtimes/express.ts"
import { type Caller, principalOf } from "../../runtimes/guard.ts"
import * as ofHono from "../../runtimes/hono.ts"
import { createTessera, type EmbeddedTessera } from "../../runtimes/tessera.ts"
import { options } from "../embed/host.ts"
import { Visitor } from "../given/serverVisitor.ts"
import { freePort } from "../harness/freePort.ts"
import { scoped } from "../harness/scoped.ts"
import { asTransport, McpMemory } from "./McpMemory.ts"

/** Two MCP servers of the SDK's own, in an application that has Tessera beside them. One takes a scope more. */
const guarded = {
  "/mcp": { scopes: ["api"], resource: "/mcp" },
  "/admin": { scopes: ["api", "admin"], resource: "/admin" }
} as const
type Path = keyof typeof guarded

const isPath = (url: string | undefined): url is Path => url === "/mcp" || url === "/admin"

const answering = async <T extends object>(transport: T): Promise<T> => {
  const server = new McpServer({ name: "companies", version: "1" })
  server.registerTool("greet", { description: "Says hello to whoever calls" }, ({ authInfo }) => {
    return { content: [{ type: "text", text: `hello ${authInfo?.extra?.user}` }] }
  })
  await server.connect(asTransport(transport))
  return transport
}

/** What the SDK hands to tools of who calls, with none of the token in it. */
const authInfoOf = (caller: Caller | undefined): AuthInfo => {
  if (caller?._tag !== "User") throw new Error("a person's application calls here")
  return { token: "", clientId: caller.client, scopes: [...caller.scope], extra: { user: caller.user } }
}

const hello = [{ type: "text", text: "hello ada" }]

type Stop = () => Promise<unknown>
type Start = (auth: EmbeddedTessera, port: number) => Promise<Stop>

const listen = (listener: RequestListener, port: number): Promise<Stop> => {
  const server = createServer(listener)
  const stop = () => new Promise((stopped) => server.close(stopped).closeAllConnections())
  return new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve(stop)))
}

const onExpress: Start = (auth, port) => {
  const app = express().use(ofExpress.mount(auth), express.json())
  for (const path of ["/mcp", "/admin"] as const) {
    app.post(path, ofExpress.guard(auth, guarded[path]), async (request, response) => {
      const transport = await answering(new StreamableHTTPServerTransport())
      const told = Object.assign(request, { auth: authInfoOf(request.principal) })
      await transport.handleRequest(told, response, request.body)
    })
  }
  return listen(app, port)
}

const ui = "http://ui.example"

const onHono: Start = async (auth, port) => {
  const app = new Hono<{ Variables: ofHono.GuardVariables }>()
  app.use(cors({ origin: ui, exposeHeaders: ["WWW-Authenticate", "Mcp-Session-Id"] }))
  app.use(ofHono.mount(auth))
  for (const path of ["/mcp", "/admin"] as const) {
    app.use(path, ofHono.guard(auth, guarded[path]))
    app.post(path, async (context) => {
      const transport = await answering(new WebStandardStreamableHTTPServerTransport())
      return transport.handleRequest(context.req.raw, { authInfo: authInfoOf(context.get("principal")) })
    })
  }
  const server = Bun.serve({ hostname: "127.0.0.1", port, fetch: app.fetch })
  return () => server.stop(true)
}

const onNode: Start = (auth, port) => {
  const mount = ofExpress.mount(auth)
  const guard = {
    "/mcp": ofExpress.guard(auth, guarded["/mcp"]),
    "/admin": ofExpress.guard(auth, guarded["/admin"])
  }
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const transport = await answering(new StreamableHTTPServerTransport())
    await transport.handleRequest(Object.assign(request, { auth: authInfoOf(principalOf(request)) }), response)
  }
  return listen(
    (request, response) =>
      mount(request, response, () => {
        if (isPath(request.url)) guard[request.url](request, response, () => void answer(request, response))
        else response.writeHead(404).end()
      }),
    port
  )
}

const frameworks = { Express: onExpress, Hono: onHono, "plain Node": onNode }

const withServer = (start: Start, body: (origin: string) => Promise<void>) =>
  scoped(function* () {
    const port = yield* freePort
    const issuer = `http://127.0.0.1:${port}`
    const scopes = [
      { name: "api", meaning: "Work with companies", byDefault: true },
      { name: "admin", meaning: "Look after the workspace" }
    ]
    const auth = createTessera(options({ issuer, scopes }))
    yield* Effect.addFinalizer(() => Effect.promise(auth.close))
    const stop = yield* Effect.promise(() => start(auth, port))
    yield* Effect.addFinalizer(() => Effect.promise(stop))
    yield* Effect.promise(() => body(issuer))
  })

const greeted = async (transport: StreamableHTTPClientTransport): Promise<unknown> => {
  const client = new Client({ name: "client", version: "1" })
  await client.connect(transport)
  const { content } = await client.callTool({ name: "greet", arguments: {} })
  await client.close()
  return content
}

/**
 * Calls as an application does: sent to the person, it comes back with a code and calls again, and so on. `firstScope`:
 * what it asks for the first time, instead of all that the metadata has.
 */
const call = async (memory: McpMemory, url: string, firstScope?: string): Promise<unknown> => {
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: memory })
  try {
    return await greeted(transport)
  } catch (error) {
    const sentTo = memory.asked.at(-1)
    if (!(error instanceof UnauthorizedError) || sentTo === undefined || memory.asked.length > 2) throw error
    if (firstScope !== undefined) sentTo.searchParams.set("scope", firstScope)
    const person = new Visitor(sentTo.origin)
    person.cookies.set("session", "ada")
    const back = await person.decide(sentTo)
    await transport.finishAuth(back.searchParams)
    return call(memory, url)
  }
}

const askedFor = (memory: McpMemory) => memory.asked.map(({ searchParams }) => searchParams.get("scope"))

describe.each(Object.entries(frameworks))("an MCP server behind the guard of %s", (_, start) => {
  test("is found, signed in to and called, with a token for it alone", () =>
    withServer(start, async (origin) => {
      const memory = new McpMemory()
      expect(await call(memory, `${origin}/mcp`)).toEqual(hello)
      expect(memory.asked.map(({ searchParams }) => searchParams.get("resource"))).toEqual([`${origin}/mcp`])
      const headers = { authorization: `Bearer ${memory.held?.access_token}` }
      expect((await fetch(`${origin}/admin`, { method: "POST", headers })).status).toBe(401)
    }))

  test("gets a bad access token renewed by two at once, without the person", () =>
    withServer(start, async (origin) => {
      const memory = new McpMemory()
      await call(memory, `${origin}/mcp`)
      const { client, held } = memory
      if (held === undefined) throw new Error("there are no tokens")
      const two = [new McpMemory(), new McpMemory()]
      for (const each of two) Object.assign(each, { client, held: { ...held, access_token: "gone" } })
      expect(await Promise.all(two.map((each) => call(each, `${origin}/mcp`)))).toEqual([hello, hello])
      expect(two.flatMap(({ asked }) => asked)).toEqual([])
      const [renewed, ...rest] = new Set(two.map(({ held }) => held?.refresh_token))
      expect([typeof renewed, rest]).toEqual(["string", []])
      expect(renewed).not.toBe(String(held.refresh_token))
    }))

  test("sends a client with too little scope to the person once more, for all that it takes", () =>
    withServer(start, async (origin) => {
      // With a refresh token this client would renew what it has, which brings no more.
      const memory = new McpMemory({ renews: false })
      expect(await call(memory, `${origin}/admin`, "api")).toEqual(hello)
      expect(askedFor(memory)).toEqual(["api", "api admin"])
      expect(memory.held?.scope).toBe("api admin")
    }))
})

test("the application's own CORS, before the guard, lets a page of another origin read its refusals", () =>
  withServer(onHono, async (origin) => {
    const from = { origin: ui }
    const asked = { "access-control-request-method": "POST", "access-control-request-headers": "authorization" }
    const preflight = await fetch(`${origin}/mcp`, { method: "OPTIONS", headers: { ...from, ...asked } })
    expect([preflight.status, preflight.headers.get("access-control-allow-headers")]).toEqual([204, "authorization"])
    const refused = await fetch(`${origin}/mcp`, { method: "POST", headers: from })
    expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([401, ui])
    expect(refused.headers.get("access-control-expose-headers")).toContain("WWW-Authenticate")
  }))
