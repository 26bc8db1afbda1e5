import { expect, test } from "bun:test"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { startServer } from "../given/server.ts"
import { register, Visitor } from "../given/serverVisitor.ts"
import { freePort } from "../harness/freePort.ts"
import { node22 } from "../harness/given.ts"
import { scoped } from "../harness/scoped.ts"
import { startChild } from "../runtimes/given/Child.ts"
import { httpsHost } from "./httpsHost.ts"

const program = join(import.meta.dir, "../../node_modules/@modelcontextprotocol/conformance/dist/index.js")

interface Check {
  readonly id: string
  readonly status: string
  readonly errorMessage?: string
}

const checksIn = (folder: string): ReadonlyArray<Check> =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith("checks.json"))
    // The shape is the tool's; where it is not, the assertions fail.
    .flatMap((file) => JSON.parse(readFileSync(join(folder, file), "utf8")) as ReadonlyArray<Check>)

/**
 * Public clients, one that registered and one that goes by its document: 0.2.0-alpha.12 sends no secret to any server that also knows the method `none`, whatever it was
 * given.
 */
test("`conformance authorization` has nothing to find fault with", () =>
  scoped(function* () {
    const documents = yield* httpsHost
    const document = documents.publish("/conformance.json", { redirect_uris: ["http://127.0.0.1/callback"] })
    const server = yield* startServer({ env: documents.env })
    const registered = yield* Effect.promise(() =>
      register(server.url, {
        client_name: "conformance",
        redirect_uris: ["http://127.0.0.1/callback"],
        token_endpoint_auth_method: "none"
      })
    )
    for (const client of [registered.client_id, document]) {
      const port = yield* freePort
      const results = join(server.folder, `results of ${port}`)
      const child = yield* startChild(node22(), [
        program,
        "authorization",
        ...["--url", server.url, "--client-id", client, "--port", String(port)],
        ...["--resource", server.url, "--output-dir", results]
      ])
      // It prints the address and waits for a person; this one needs no screen.
      const [url] = yield* Effect.promise(() => child.says(/^http\S+\/oauth\/authorize\?\S+/m))
      const back = yield* Effect.promise(() => new Visitor(server.url).decide(url))
      yield* Effect.promise(() => fetch(back))
      const { status } = yield* Effect.promise(() => child.ended)

      const checks = checksIn(results)
      const failed = checks.filter((check) => !["SUCCESS", "INFO"].includes(check.status))
      expect(failed).toEqual([])
      expect(checks.filter((check) => check.status === "SUCCESS").map((check) => check.id)).toEqual(
        expect.arrayContaining([
          "authorization-server-metadata",
          "authorization-server-metadata-cimd",
          "authorization-code-grant"
        ])
      )
      expect(status).toBe(0)
    }
    expect(documents.asked).toEqual(["/conformance.json"])
  }))
