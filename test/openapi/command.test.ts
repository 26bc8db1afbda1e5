import { expect, test } from "bun:test"
import { readdirSync } from "node:fs"
import { Effect } from "effect"
import { signInScopes } from "../../core/rules/Scope.ts"
import { DocumentsWeb } from "../given/documentsWeb.ts"
import { inWorld, realSignatures } from "../given/World.ts"
import { scoped } from "../harness/scoped.ts"
import { throwawayFolder } from "../harness/throwawayFolder.ts"
import { command } from "../runtimes/given/tessera.ts"

test("`tessera openapi` prints the document of the configuration that it finds, and opens no storage", () =>
  scoped(function* () {
    const cwd = yield* throwawayFolder("openapi")
    const env = { BASE_URL: "https://auth.example.com", WORKSPACE_NAME: "Example" }
    const printed = yield* command(["openapi"], { cwd, env })
    expect([printed.status, printed.stderr]).toEqual([0, ""])
    const served = yield* Effect.promise(() =>
      inWorld((world) => world.send("GET", "/openapi.json"), {
        signatures: realSignatures,
        policy: { scopes: signInScopes },
        documents: new DocumentsWeb().layer()
      })
    )
    expect(JSON.parse(printed.stdout)).toEqual(JSON.parse(served.body))
    expect(readdirSync(cwd)).toEqual([])

    const closed = yield* command(["openapi"], { cwd, env: { ...env, REGISTRATION: "closed" } })
    expect(JSON.parse(closed.stdout).paths).not.toHaveProperty(["/oauth/register"])
    const wrong = yield* command(["openapi"], { cwd, env: { PORT: "nonsense" } })
    expect([wrong.status, wrong.stdout]).toEqual([2, ""])
    expect(wrong.stderr).toContain("PORT")
  }))
