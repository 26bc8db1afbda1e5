import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js"
import { guard } from "../../runtimes/fetch.ts"
import { remoteGuard } from "../../runtimes/guard.ts"
import { asTransport } from "./McpMemory.ts"
import { type Told, toolsFor } from "./mcpTools.ts"

const serverOf = ({ apiKey, at, issuer, needed }: Told) => {
  const remote = remoteGuard({ issuer, apiKey, resource: at, metadata: { scopes: [needed.read] }, cache: { ttl: 0 } })
  const mcpFor = (scope: string) =>
    guard(remote, { scopes: [scope], callers: ["User"] }, async (request, { user }) => {
      const transport = new WebStandardStreamableHTTPServerTransport()
      await toolsFor(at, user).connect(asTransport(transport))
      return transport.handleRequest(request)
    })
  return { remote, read: mcpFor(needed.read), change: mcpFor(needed.change) }
}

let server: ReturnType<typeof serverOf> | undefined

/** An MCP server as a module of Workers, which asks the issuer about each token. */
export default {
  fetch: async (request: Request, told: Told): Promise<Response> => {
    server ??= serverOf(told)
    const metadata = server.remote.serveMetadata(request)
    if (metadata !== undefined) return metadata
    // What is no JSON names no tool.
    const body = await request
      .clone()
      .json()
      .catch(() => undefined)
    return body?.params?.name === "change" ? server.change(request) : server.read(request)
  }
}
