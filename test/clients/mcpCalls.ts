import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client"
import { adaDecides } from "./elsewhere.ts"
import type { McpMemory } from "./McpMemory.ts"

const toolCalled = async (transport: StreamableHTTPClientTransport, name: string): Promise<unknown> => {
  const client = new Client({ name: "client", version: "1" })
  await client.connect(transport)
  const { content } = await client.callTool({ name, arguments: {} })
  await client.close()
  return content
}

/** Calls a tool as an application does: sent to the person, it comes back with a code and calls again. */
export const call = async (
  memory: McpMemory,
  url: string,
  name: string,
  most = memory.asked.length + 2
): Promise<unknown> => {
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: memory })
  try {
    return await toolCalled(transport, name)
  } catch (error) {
    const sentTo = memory.asked.at(-1)
    if (!(error instanceof UnauthorizedError) || sentTo === undefined || memory.asked.length > most) throw error
    const back = await adaDecides(sentTo)
    await transport.finishAuth(back.searchParams)
    return call(memory, url, name, most)
  }
}

/** What it asked for, each time that it sent its person away. */
export const askedFor = ({ asked }: McpMemory) =>
  asked.map(({ searchParams }) => [searchParams.getAll("resource").join(" "), searchParams.get("scope")])

/** What a tool answers. */
export const said = (text: string) => [{ type: "text", text }]
