import { expect, test } from "bun:test"
import { join } from "node:path"
import { Effect } from "effect"
import { httpsHost } from "../clients/httpsHost.ts"
import { McpMemory } from "../clients/McpMemory.ts"
import { askedFor, call, said } from "../clients/mcpCalls.ts"
import { freePort } from "../harness/freePort.ts"
import { workerd } from "../harness/given.ts"
import { startWorkers } from "../harness/startWorkers.ts"
import type { Words } from "./tesseraOnWorkers.ts"

const engine = workerd()

const withServer = Effect.fnUntraced(function* (engine: string, hasNodes: boolean) {
  const documents = yield* httpsHost
  const port = yield* freePort
  const issuer = `http://127.0.0.1:${port}`
  const env: Words = { issuer, allow: documents.fetch.allow }
  const module = join(import.meta.dir, "tesseraOnWorkers.ts")
  const server = yield* startWorkers(engine, {
    module,
    durableObject: "Auth",
    env: { ...env },
    hasNodes,
    ca: documents.fetch.ca,
    port
  })
  return { documents, issuer, server }
})

const redirectUri = "http://localhost:3118/callback"

/** What Ada is answered whom a client sends to the server. */
const askedBy = async (issuer: string, client: string, signal?: AbortSignal): Promise<number> => {
  const asked = { response_type: "code", client_id: client, redirect_uri: redirectUri, scope: "tools:read" }
  const query = new URLSearchParams({ ...asked, code_challenge: "A".repeat(43), code_challenge_method: "S256" })
  const headers = { cookie: "session=ada" }
  const init: RequestInit = { headers, redirect: "manual", ...(signal === undefined ? {} : { signal }) }
  return (await fetch(`${issuer}/oauth/authorize?${query}`, init)).status
}

if (engine !== undefined) {
  test.each([false, true])("an object of Workers is an authorization server, with Node's modules (%p)", (hasNodes) =>
    Effect.gen(function* () {
      const { documents, issuer, server } = yield* withServer(engine, hasNodes)
      const at = `${issuer}/mcp`
      const document = documents.publish("/mcp/client.json", { redirect_uris: ["http://localhost/callback"] })
      yield* Effect.promise(async () => {
        for (const memory of [new McpMemory({ document, renews: false }), new McpMemory({ renews: false })]) {
          expect(await call(memory, at, "read")).toEqual(said("read for ada"))
          expect(await call(memory, at, "change")).toEqual(said("change for ada"))
          expect(askedFor(memory)).toEqual([
            [at, "tools:read"],
            [at, "tools:read tools"]
          ])
        }
        const renewing = new McpMemory({ document })
        await call(renewing, at, "read")
        const first = renewing.held
        renewing.held = { ...(first ?? { token_type: "Bearer" }), access_token: "gone" }
        expect(await call(renewing, at, "read")).toEqual(said("read for ada"))
        expect([renewing.asked.length, renewing.held.refresh_token === first?.refresh_token]).toEqual([1, false])
      })
      expect(documents.asked).toEqual(["/mcp/client.json"])
      expect(yield* Effect.promise(() => askedBy(issuer, "https://unnamed.example/client.json"))).toBe(503)
      expect(server.log()).toContain("address_refused")
    }).pipe(Effect.scoped, Effect.runPromise)
  )

  test.each([false, true])("a module of Workers makes none outside of requests, with Node's modules (%p)", (hasNodes) =>
    Effect.gen(function* () {
      const { url } = yield* startWorkers(engine, { module: join(import.meta.dir, "tesseraAtTopLevel.ts"), hasNodes })
      const told = yield* Effect.promise(async (): Promise<unknown> => (await fetch(url)).json())
      expect(told).toEqual({ atTopLevel: expect.any(String), inRequest: null })
    }).pipe(Effect.scoped, Effect.runPromise)
  )

  test("an object of Workers goes on with what it fetches when who caused it is gone", () =>
    Effect.gen(function* () {
      const { documents, issuer } = yield* withServer(engine, false)
      const named = documents.publish("/named.json", { redirect_uris: [redirectUri] })
      const asked = (signal?: AbortSignal) => askedBy(issuer, named, signal)
      yield* Effect.promise(async () => {
        const { arrived, release } = documents.hold()
        const leaving = new AbortController()
        const gone = asked(leaving.signal).catch(() => "gone")
        await arrived
        const waiting = asked()
        leaving.abort()
        expect(await gone).toBe("gone")
        release()
        expect([await waiting, await asked()]).toEqual([200, 200])
        expect(documents.asked).toEqual(["/named.json"])
      })
    }).pipe(Effect.scoped, Effect.runPromise))
}
