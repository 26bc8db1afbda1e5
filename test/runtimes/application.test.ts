import { expect, test } from "bun:test"
import { Issuer, WorkspaceId } from "../../core/workspace/Workspace.ts"
import { movesByItself } from "../../runtimes/server/application.ts"

test.each([
  ["http://127.0.0.1:3000", "http://localhost:4000", true],
  ["http://[::1]:3000", "http://127.0.0.1:3000/a", true],
  ["http://127.0.0.1:3000", "https://auth.example.com", false],
  ["https://auth.example.com", "http://127.0.0.1:3000", false],
  ["https://auth.example.com", "https://login.example.com", false]
] as const)("a workspace goes along by itself from port to port of one machine alone: %s to %s", (from, to, moves) => {
  const workspace = { id: WorkspaceId.make("default"), issuer: Issuer.make(to), name: "Northwind" }
  expect(movesByItself(Issuer.make(from), workspace)).toBe(moves && "server itself")
})
