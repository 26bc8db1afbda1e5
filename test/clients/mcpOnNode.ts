import { createServer, type IncomingMessage } from "node:http"
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import { principalOf, remoteGuard } from "../../runtimes/guard.ts"
import { guard } from "../../runtimes/node.ts"
import { asTransport } from "./McpMemory.ts"
import { type Told, toolsFor } from "./mcpTools.ts"

/** What this program is told, as JSON in its one argument. */
export interface OnNode extends Told {
  readonly port: number
}

const bodyOf = async (request: IncomingMessage): Promise<{ readonly params?: { readonly name?: string } }> => {
  const parts: Array<Uint8Array> = []
  for await (const part of request) parts.push(part)
  return parts.length === 0 ? {} : JSON.parse(Buffer.concat(parts).toString())
}

/** An MCP server on `node:http`, which asks the issuer about each token. */
const serve = ({ apiKey, at, issuer, needed, port }: OnNode): void => {
  const remote = remoteGuard({ issuer, apiKey, resource: at, metadata: { scopes: [needed.read] }, cache: { ttl: 0 } })
  const guardOf = (scope: string) => guard(remote, { scopes: [scope], callers: ["User"] })
  const guards = { read: guardOf(needed.read), change: guardOf(needed.change) }
  createServer(async (request, response) => {
    const metadata = remote.serveMetadata(new Request(new URL(request.url ?? "/", at)))
    if (metadata !== undefined) {
      response.writeHead(metadata.status, Object.fromEntries(metadata.headers)).end(await metadata.text())
      return
    }
    const body = await bodyOf(request)
    guards[body.params?.name === "change" ? "change" : "read"](request, response, async () => {
      const caller = principalOf(request)
      const transport = new StreamableHTTPServerTransport()
      await toolsFor(at, caller?._tag === "User" ? caller.user : "nobody").connect(asTransport(transport))
      await transport.handleRequest(request, response, body)
    })
  }).listen(port, "127.0.0.1", () => process.stdout.write("ready\n"))
}

if (import.meta.main) serve(JSON.parse(process.argv[2] ?? "{}"))
