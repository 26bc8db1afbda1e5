import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { Issuer, type Workspace, WorkspaceId } from "../../../core/workspace/Workspace.ts"
import { jsonOf } from "../../given/flow.ts"
import { inWorld } from "../../given/World.ts"

const at = (id: string, issuer: string): Workspace => ({
  id: WorkspaceId.make(id),
  issuer: Issuer.make(issuer),
  name: id
})

const acme = at("acme", "https://id.example.com/acme")
const root = at("root", "https://id.example.com")

describe("a workspace whose path is a part of a neighbour's addresses", () => {
  const documents = "/.well-known/oauth-protected-resource"

  test("does not stand in the way of the neighbour's documents", () =>
    inWorld(
      (world) =>
        Effect.gen(function* () {
          const send = (path: string) => world.send("GET", path, { host: "id.example.com" })
          expect(jsonOf(yield* send(`${documents}/acme/mcp`)).resource).toBe("https://id.example.com/acme/mcp")
          expect(jsonOf(yield* send(`${documents}/acme/mcp/tools`)).resource).toBe(
            "https://id.example.com/acme/mcp/tools"
          )
          expect(jsonOf(yield* send(`${documents}/mcp`)).resource).toBe("https://id.example.com/mcp")
          expect(jsonOf(yield* send(`${documents}/mcp`)).authorization_servers).toEqual(["https://id.example.com/mcp"])
        }),
      { workspaces: [at("hostile", "https://id.example.com/mcp"), acme] }
    ))

  test("nor of the one that has the whole host", () =>
    inWorld(
      (world) =>
        Effect.gen(function* () {
          const found = yield* world.send("GET", `${documents}/rest/mcp`, { host: "id.example.com" })
          expect(jsonOf(found)).toMatchObject({
            resource: "https://id.example.com/rest/mcp",
            authorization_servers: ["https://id.example.com"]
          })
        }),
      { workspaces: [at("hostile", "https://id.example.com/mcp"), root] }
    ))
})
