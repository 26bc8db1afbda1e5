import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js"
import * as memory from "../../adapters/memory/Memory.ts"
import { guard, mount } from "../../runtimes/fetch.ts"
import { createTessera } from "../../runtimes/tessera.ts"
import { asTransport } from "../clients/McpMemory.ts"
import { toolsFor } from "../clients/mcpTools.ts"
import { aKey, people } from "./host.ts"

/** What the module is told. */
export interface Words {
  readonly issuer: string
  /** From where it may fetch. */
  readonly allow: ReadonlyArray<string>
}

/** An authorization server and an API of its own, in one object of Workers: its requests share what they wait for. */
export class Auth {
  readonly #serve: (request: Request) => Response | Promise<Response>

  constructor(_: unknown, { allow, issuer }: Words) {
    const auth = createTessera({
      issuer,
      storage: memory.layer,
      keys: aKey,
      owner: people,
      scopes: [
        { name: "tools:read", meaning: "See your tools", byDefault: true },
        { name: "tools", meaning: "Use your tools", implies: ["tools:read"] }
      ],
      resources: [{ at: `${issuer}/mcp`, name: "Tools", accessTokenFormat: "jwt" }],
      fetch: { allow }
    })
    const mounted = mount(auth)
    const mcpFor = (scope: string) =>
      guard(auth, { scopes: [scope], callers: ["User"], resource: "/mcp" }, async (request, { user }) => {
        const transport = new WebStandardStreamableHTTPServerTransport()
        await toolsFor(issuer, user).connect(asTransport(transport))
        return transport.handleRequest(request)
      })
    const read = mcpFor("tools:read")
    const change = mcpFor("tools")
    const answerApi = async (request: Request) => {
      // What is no JSON names no tool.
      const body = await request
        .clone()
        .json()
        .catch(() => undefined)
      return body?.params?.name === "change" ? change(request) : read(request)
    }
    this.#serve = (request) =>
      new URL(request.url).pathname === "/mcp"
        ? answerApi(request)
        : (mounted(request) ?? new Response(null, { status: 404 }))
  }

  fetch(request: Request): Response | Promise<Response> {
    return this.#serve(request)
  }
}

interface Objects {
  readonly idFromName: (name: string) => object
  readonly get: (id: object) => Auth
}

export default {
  fetch: (request: Request, env: { readonly Auth: Objects }) =>
    env.Auth.get(env.Auth.idFromName("the one")).fetch(request)
}
