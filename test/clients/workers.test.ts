import { expect, test } from "bun:test"
import { join } from "node:path"
import { Effect } from "effect"
import { holderOf, proofFor } from "../given/dpop.ts"
import { freePort } from "../harness/freePort.ts"
import { workerd } from "../harness/given.ts"
import { startWorkers } from "../harness/startWorkers.ts"
import { type Elsewhere, type OnWorkers, statusAt, withElsewhere } from "./elsewhere.ts"
import { httpsHost } from "./httpsHost.ts"
import { McpMemory } from "./McpMemory.ts"
import { askedFor, call, said } from "./mcpCalls.ts"

/** In the engine of Workers, where the platform has one, and without Node's modules. */
const engine = workerd()

/** A machine's token for an API, bound to a key, and what the API answers to it beside a proof. */
const boundCalls = async ({ auth, issuer }: Elsewhere, at: string) => {
  const ada = await holderOf("ES256")
  const eve = await holderOf("ES256")
  const now = { iat: Math.floor(Date.now() / 1000) }
  const proof = (holder: typeof ada, method: string, address: string, token?: string) =>
    Effect.runPromise(proofFor(holder, method, address, token, { claims: now }))
  const { client, secret } = await auth.clients.register({
    client_name: "Machine",
    grant_types: ["client_credentials"],
    token_endpoint_auth_method: "client_secret_post"
  })
  const asked = { grant_type: "client_credentials", client_id: client.id, client_secret: secret ?? "", resource: at }
  const answer = await fetch(`${issuer}/oauth/token`, {
    method: "POST",
    headers: { dpop: await proof(ada, "POST", `${issuer}/oauth/token`) },
    body: new URLSearchParams({ ...asked, scope: "tools:read" })
  })
  // The shape is RFC 6749's; where it is not, what reads it fails.
  const { access_token: token } = (await answer.json()) as { readonly access_token: string }
  const route = `${at}/bound`
  const statusWith = async (headers: Readonly<Record<string, string>>) => (await fetch(route, { headers })).status
  const shown = async (holder: typeof ada) => ({
    authorization: `DPoP ${token}`,
    dpop: await proof(holder, "GET", route, token)
  })
  const good = await shown(ada)
  return [
    await statusWith(good),
    await statusWith(good),
    await statusWith(await shown(eve)),
    await statusWith({ authorization: `Bearer ${token}` }),
    await statusWith(await shown(ada))
  ]
}

if (engine !== undefined) {
  test("the MCP SDK goes by the address of its document to guards on Workers, and steps up; who holds a key proves it", () =>
    Effect.gen(function* () {
      const documents = yield* httpsHost
      const document = documents.publish("/mcp/client.json", { redirect_uris: ["http://localhost/callback"] })
      const workersPort = yield* freePort
      const played = async (elsewhere: Elsewhere, { remote, signed }: OnWorkers) => {
        const tokens: Array<string> = []
        for (const { at } of [remote, signed]) {
          const memory = new McpMemory({ document, renews: false })
          expect(await call(memory, at, "read")).toEqual(said("read for ada"))
          expect(await call(memory, at, "change")).toEqual(said("change for ada"))
          expect(memory.client).toEqual({ client_id: document, issuer: elsewhere.issuer })
          expect(askedFor(memory)).toEqual([
            [at, "tools:read"],
            [at, "tools:read tools"]
          ])
          tokens.push(String(memory.held?.access_token))
          expect(await boundCalls(elsewhere, at)).toEqual([200, 401, 401, 401, 200])
        }
        const [asked = "", jwt = ""] = tokens
        expect([asked, jwt].map((token) => token.split(".").length)).toEqual([1, 3])
        expect([await statusAt(remote.at, jwt), await statusAt(signed.at, asked)]).toEqual([401, 401])
        expect(await statusAt(signed.at, `${jwt.slice(0, -8)}AAAAAAAA`)).toBe(401)
      }
      yield* Effect.promise(() =>
        withElsewhere(
          async (elsewhere) => {
            const { onWorkers } = elsewhere
            if (onWorkers === undefined) throw new Error("the issuer knows no API on Workers")
            const module = join(import.meta.dir, "guardsOnWorkers.ts")
            const served = startWorkers(engine, { module, env: { ...onWorkers }, port: workersPort })
            await Effect.flatMap(served, () => Effect.promise(() => played(elsewhere, onWorkers))).pipe(
              Effect.scoped,
              Effect.runPromise
            )
          },
          { fetch: documents.fetch, workersPort }
        )
      )
      expect(documents.asked).toEqual(["/mcp/client.json"])
    }).pipe(Effect.scoped, Effect.runPromise))
}
