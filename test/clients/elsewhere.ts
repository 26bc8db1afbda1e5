import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js"
import { type Caller, jwtGuard, type Needs, remoteGuard } from "../../runtimes/guard.ts"
import { type CreateOptions, createTessera, type EmbeddedTessera } from "../../runtimes/tessera.ts"
import { options } from "../embed/host.ts"
import { Visitor } from "../given/serverVisitor.ts"
import { asTransport } from "./McpMemory.ts"
import type { OnNode } from "./mcpOnNode.ts"
import { type Scopes, type Told, toolsFor } from "./mcpTools.ts"

/**
 * An issuer, and two MCP servers on origins of their own, which know it only by its address: `tools` asks it about each
 * token, `orders` takes JWTs and asks no server.
 */
export interface Elsewhere {
  readonly auth: EmbeddedTessera
  readonly issuer: string
  readonly tools: string
  readonly orders: string
  /** What a further MCP server, at an address of the test's own, is told to be one of the issuer's APIs. */
  readonly onNode: OnNode | undefined
  /** The same for a module of Workers. */
  readonly onWorkers: OnWorkers | undefined
}

/** Two MCP servers on one port: one asks the issuer, the other takes JWTs. */
export interface OnWorkers {
  readonly remote: Told
  readonly signed: Told
}

/** Each has two tools, `read` and `change`; of the scopes the second implies the first. */
const reads = { read: "tools:read", change: "tools" } as const
const takes = { read: "orders:read", change: "orders" } as const

const scopes = [
  { name: "tools:read", meaning: "See your tools", byDefault: true },
  { name: "tools", meaning: "Use your tools", implies: ["tools:read"] },
  { name: "orders:read", meaning: "See your orders" },
  { name: "orders", meaning: "Change your orders", implies: ["orders:read"] }
]

type Admit = (
  request: Request,
  needs: Needs<"User">
) => Promise<
  | { readonly _tag: "Admitted"; readonly principal: Extract<Caller, { readonly _tag: "User" }> }
  | { readonly _tag: "Refused"; readonly response: Response }
>

/** An MCP server that asks for a scope by the tool that is called. */
const mcpOf =
  (at: string, needed: Scopes, admit: Admit) =>
  async (request: Request): Promise<Response> => {
    // What is no JSON names no tool.
    const body = await request
      .clone()
      .json()
      .catch(() => undefined)
    const scope = body?.params?.name === "change" ? needed.change : needed.read
    const checked = await admit(request, { scopes: [scope], callers: ["User"], resource: at })
    if (checked._tag === "Refused") return checked.response
    const { user } = checked.principal
    const transport = new WebStandardStreamableHTTPServerTransport()
    await toolsFor(at, user).connect(asTransport(transport))
    return transport.handleRequest(request)
  }

type Late = (request: Request) => Response | undefined | Promise<Response | undefined>

const nobody: Late = () => new Response(null, { status: 503 })

/** What an issuer is told besides, and on which port an MCP server runs that the test starts itself. */
interface More {
  readonly fetch?: NonNullable<CreateOptions["fetch"]>
  readonly nodePort?: number
  readonly workersPort?: number
}

export const withElsewhere = async (
  body: (elsewhere: Elsewhere) => Promise<void>,
  { nodePort, workersPort, ...over }: More = {}
): Promise<void> => {
  const late = { auth: nobody, tools: nobody, orders: nobody }
  const listen = (name: keyof typeof late) =>
    Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: async (request) => (await late[name](request)) ?? new Response(null, { status: 404 })
    })
  const servers = { auth: listen("auth"), tools: listen("tools"), orders: listen("orders") }
  const issuer = `http://127.0.0.1:${servers.auth.port}`
  const tools = `http://localhost:${servers.tools.port}/mcp`
  const orders = `http://127.0.0.1:${servers.orders.port}/v1/orders`
  const at = (port: number | undefined, path = "/mcp") =>
    port === undefined ? undefined : `http://127.0.0.1:${port}${path}`
  const [notes, maps, charts] = [at(nodePort), at(workersPort), at(workersPort, "/signed/mcp")]
  const auth = createTessera(
    options({
      ...over,
      issuer,
      scopes,
      resources: [
        { at: tools, name: "Tools", scopes: [reads.change, reads.read] },
        { at: orders, name: "Orders", scopes: [takes.change, takes.read], accessTokenFormat: "jwt" },
        ...[notes, maps, charts].flatMap((at) =>
          at === undefined
            ? []
            : [
                {
                  at,
                  name: "Notes",
                  scopes: [reads.change, reads.read],
                  accessTokenFormat: at === charts ? ("jwt" as const) : ("opaque" as const)
                }
              ]
        )
      ]
    })
  )
  try {
    const { key } = await auth.apiKeys.create({ name: "APIs", introspectOnly: true })
    const asking = (at: string, first: string) =>
      remoteGuard({ issuer, apiKey: key, resource: at, metadata: { scopes: [first] }, cache: { ttl: 0 } })
    const ofTools = asking(tools, reads.read)
    const ofOrders = asking(orders, takes.read)
    const byKeys = jwtGuard({ issuer, resource: orders })
    late.auth = auth.handle
    const toolsMcp = mcpOf(tools, reads, ofTools.guard)
    late.tools = (request) => ofTools.serveMetadata(request) ?? toolsMcp(request)
    const ordersMcp = mcpOf(orders, takes, byKeys.guard)
    late.orders = (request) => ofOrders.serveMetadata(request) ?? ordersMcp(request)
    const onNode = notes && nodePort && { port: nodePort, issuer, apiKey: key, at: notes, needed: reads }
    const told = { issuer, apiKey: key, needed: reads }
    const onWorkers = maps && charts && { remote: { ...told, at: maps }, signed: { ...told, at: charts } }
    await body({ auth, issuer, tools, orders, onNode: onNode || undefined, onWorkers: onWorkers || undefined })
  } finally {
    await auth.close()
    await Promise.all(Object.values(servers).map((server) => server.stop(true)))
  }
}

/** What Ada decides at the address that an application sent her to: where she is led back. */
export const adaDecides = (sentTo: URL): Promise<URL> => {
  const ada = new Visitor(sentTo.origin)
  ada.cookies.set("session", "ada")
  return ada.decide(sentTo)
}

/** What an API answers to a token, where its tool `read` is called. */
export const statusAt = async (at: string, token: string): Promise<number> => {
  const answer = await fetch(at, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream"
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "read", arguments: {} } })
  })
  await answer.body?.cancel()
  return answer.status
}
