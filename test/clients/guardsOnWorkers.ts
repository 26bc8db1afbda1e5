import { env } from "cloudflare:workers"
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js"
import { guard } from "../../runtimes/fetch.ts"
import { type Guard, jwtGuard, remoteGuard } from "../../runtimes/guard.ts"
import type { OnWorkers } from "./elsewhere.ts"
import { asTransport } from "./McpMemory.ts"
import { type Told, toolsFor } from "./mcpTools.ts"

/** The test's own words, unchecked here. */
const { remote, signed } = env as unknown as OnWorkers

/** An MCP server that asks for a scope by the tool that is called, and below it a route that takes bound tokens alone. */
const apiOf = (checks: Guard, { at, needed }: Told) => {
  const mcpFor = (scope: string) =>
    guard(checks, { scopes: [scope], callers: ["User"], resource: at }, async (request, { user }) => {
      const transport = new WebStandardStreamableHTTPServerTransport()
      await toolsFor(at, user).connect(asTransport(transport))
      return transport.handleRequest(request)
    })
  const read = mcpFor(needed.read)
  const change = mcpFor(needed.change)
  const bound = guard(checks, { scopes: [needed.read], dpop: "required" }, (_, caller) => Response.json(caller))
  const path = new URL(at).pathname
  return async (request: Request): Promise<Response | undefined> => {
    const { pathname } = new URL(request.url)
    if (pathname === `${path}/bound`) return bound(request)
    if (pathname !== path) return undefined
    // What is no JSON names no tool.
    const body = await request
      .clone()
      .json()
      .catch(() => undefined)
    return body?.params?.name === "change" ? change(request) : read(request)
  }
}

const asking = ({ apiKey, at, issuer, needed }: Told) =>
  remoteGuard({ issuer, apiKey, resource: at, metadata: { scopes: [needed.read] }, cache: { ttl: 0 } })

const byQuestions = asking(remote)
const ofSigned = asking(signed)
const byKeys = jwtGuard({ issuer: signed.issuer, resource: signed.at })
const apis = [apiOf(byQuestions, remote), apiOf(byKeys, signed)]

/** Two APIs as a module of Workers: one asks the issuer about each token, the other takes JWTs without asking. */
export default {
  fetch: async (request: Request): Promise<Response> => {
    const metadata = byQuestions.serveMetadata(request) ?? ofSigned.serveMetadata(request)
    if (metadata !== undefined) return metadata
    for (const api of apis) {
      const answer = await api(request)
      if (answer !== undefined) return answer
    }
    return new Response(null, { status: 404 })
  }
}
