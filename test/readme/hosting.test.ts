import { expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Result } from "effect"
import { Issuer, WorkspaceId } from "../../core/workspace/Workspace.ts"
import { workspacesOfFile } from "../../runtimes/server/hosting.ts"
import { throwawayFolder } from "../harness/throwawayFolder.ts"
import { command } from "../runtimes/given/tessera.ts"
import { serverPage, under } from "./blocks.ts"

const [file, commands] = under(serverPage, "Many workspaces")

test("the file of workspaces is one", () =>
  Effect.gen(function* () {
    const path = join(yield* throwawayFolder("printed"), "workspaces.json")
    writeFileSync(path, file?.text ?? "")
    const home = { id: WorkspaceId.make("default"), issuer: Issuer.make("https://auth.example.com"), name: "Home" }
    const read = workspacesOfFile(home, path)
    expect(Result.isSuccess(read) && read.success.map(({ id }) => String(id))).toEqual(["default", "acme", "beta"])
  }).pipe(Effect.scoped, Effect.runPromise))

test("the commands about workspaces do what they say", () =>
  Effect.gen(function* () {
    const cwd = yield* throwawayFolder("printed")
    const env = { WORKSPACES: "store", BASE_URL: "https://auth.example.com" }
    const lines = (commands?.text ?? "").split("\n")
    // An entry of the file above stands in one of its own.
    const [, beta] = JSON.parse(file?.text ?? "[]")
    writeFileSync(join(cwd, "beta.json"), JSON.stringify(beta))
    expect(lines.length).toBeGreaterThan(4)
    for (const line of lines) {
      const [npx, program, ...args] = (line.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', ""))
      expect([npx, program]).toEqual(["npx", "tessera"])
      const { status, stderr } = yield* command(args, { cwd, env })
      expect([line, status, stderr]).toEqual([line, 0, ""])
    }
  }).pipe(Effect.scoped, Effect.runPromise))
