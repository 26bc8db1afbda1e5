import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"

/** The scope that each of its two tools takes. */
export type Scopes = Readonly<Record<"read" | "change", string>>

/** Two tools that say for whom they were called. */
export const toolsFor = (at: string, user: string): McpServer => {
  const server = new McpServer({ name: at, version: "1" })
  for (const name of ["read", "change"]) {
    server.registerTool(name, { description: name }, () => ({
      content: [{ type: "text", text: `${name} for ${user}` }]
    }))
  }
  return server
}

/** What an MCP server is told that knows the issuer only by its address. */
export interface Told {
  readonly issuer: string
  readonly apiKey: string
  readonly at: string
  readonly needed: Scopes
}
