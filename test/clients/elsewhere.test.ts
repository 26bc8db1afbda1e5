import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import { Effect } from "effect"
import * as oauth from "oauth4webapi"
import * as openid from "openid-client"
import { freePort } from "../harness/freePort.ts"
import { node24 } from "../harness/given.ts"
import { startChild } from "../runtimes/given/Child.ts"
import { adaDecides, type Elsewhere, statusAt, withElsewhere } from "./elsewhere.ts"
import { httpsHost } from "./httpsHost.ts"
import { McpMemory } from "./McpMemory.ts"
import { askedFor, call, said } from "./mcpCalls.ts"

/** APIs on other origins than the issuer, and clients of others that find and call them. */

const redirectUri = "http://localhost:3118/callback"

describe("the MCP SDK", () => {
  test("is led from each API to the issuer, and comes back for more where a tool takes more", () =>
    withElsewhere(async ({ orders, tools }) => {
      // With a refresh token this client would renew what it has, which brings no more.
      const [ofTools, ofOrders] = [new McpMemory({ renews: false }), new McpMemory({ renews: false })]
      expect(await call(ofTools, tools, "read")).toEqual(said("read for ada"))
      const first = String(ofTools.held?.access_token)
      expect(await call(ofTools, tools, "change")).toEqual(said("change for ada"))
      expect(askedFor(ofTools)).toEqual([
        [tools, "tools:read"],
        [tools, "tools:read tools"]
      ])
      // What implies the other one opens both.
      expect(await call(ofTools, tools, "read")).toEqual(said("read for ada"))
      expect(ofTools.asked).toHaveLength(2)
      const more = String(ofTools.held?.access_token)
      expect(more).not.toBe(first)

      expect(await call(ofOrders, orders, "change")).toEqual(said("change for ada"))
      expect(askedFor(ofOrders)).toEqual([
        [orders, "orders:read"],
        [orders, "orders:read orders"]
      ])
      expect(await call(ofOrders, orders, "read")).toEqual(said("read for ada"))
      expect(ofOrders.asked).toHaveLength(2)
      const other = String(ofOrders.held?.access_token)
      for (const token of [first, more])
        expect([await statusAt(tools, token), await statusAt(orders, token)]).toEqual([200, 401])
      expect([await statusAt(tools, other), await statusAt(orders, other)]).toEqual([401, 200])
    }))
})

test("the MCP SDK goes by the address of its document, on Bun and on Node, steps up, and renews", () =>
  Effect.gen(function* () {
    const documents = yield* httpsHost
    const document = documents.publish("/mcp/client.json", { redirect_uris: ["http://localhost/callback"] })
    const nodePort = yield* freePort
    const started = (told: object) =>
      startChild(node24(), [join(import.meta.dir, "mcpOnNode.ts"), JSON.stringify(told)])
    yield* Effect.promise(() =>
      withElsewhere(
        ({ issuer, onNode, tools }) =>
          Effect.gen(function* () {
            if (onNode === undefined) throw new Error("the issuer knows no API on Node")
            const child = yield* started(onNode)
            yield* Effect.promise(() => child.says(/^ready$/m))
            yield* Effect.promise(async () => {
              for (const at of [tools, onNode.at]) {
                const memory = new McpMemory({ document, renews: false })
                expect(await call(memory, at, "read")).toEqual(said("read for ada"))
                expect(await call(memory, at, "change")).toEqual(said("change for ada"))
                expect(memory.client).toEqual({ client_id: document, issuer })
                expect(askedFor(memory)).toEqual([
                  [at, "tools:read"],
                  [at, "tools:read tools"]
                ])
                expect(memory.asked.map(({ searchParams }) => searchParams.get("client_id"))).toEqual([
                  document,
                  document
                ])
              }
              const renewing = new McpMemory({ document })
              await call(renewing, tools, "read")
              const first = renewing.held
              renewing.held = { ...(first ?? { token_type: "Bearer" }), access_token: "gone" }
              expect(await call(renewing, tools, "read")).toEqual(said("read for ada"))
              expect([renewing.asked.length, renewing.held.refresh_token === first?.refresh_token]).toEqual([1, false])
            })
          }).pipe(Effect.scoped, Effect.runPromise),
        { fetch: documents.fetch, nodePort }
      )
    )
    expect(documents.asked).toEqual(["/mcp/client.json"])
  }).pipe(Effect.scoped, Effect.runPromise))

/** What a library does with several resources: asks for both, takes one with the code, the other by a refresh. */
interface Library {
  readonly authorize: (resources: ReadonlyArray<string>) => Promise<void>
  readonly redeem: (...resources: ReadonlyArray<string>) => Promise<string>
  readonly refresh: (...resources: ReadonlyArray<string>) => Promise<string>
}

const asked = (fields: Readonly<Record<string, string>>, resources: ReadonlyArray<string>) => {
  const parameters = new URLSearchParams(fields)
  for (const resource of resources) parameters.append("resource", resource)
  return parameters
}

const metadata = { redirect_uris: [redirectUri], token_endpoint_auth_method: "none" as const }
const scope = "tools orders"

const withOpenidClient = async ({ issuer }: Elsewhere): Promise<Library> => {
  const insecure = { algorithm: "oauth2" as const, execute: [openid.allowInsecureRequests] }
  const config = await openid.dynamicClientRegistration(new URL(issuer), metadata, openid.None(), insecure)
  const pkceCodeVerifier = openid.randomPKCECodeVerifier()
  const code_challenge = await openid.calculatePKCECodeChallenge(pkceCodeVerifier)
  let back = new URL(issuer)
  let held = ""
  const keep = (tokens: openid.TokenEndpointResponse) => {
    held = tokens.refresh_token ?? held
    return tokens.access_token
  }
  return {
    authorize: async (resources) => {
      const fields = { redirect_uri: redirectUri, scope, code_challenge, code_challenge_method: "S256" }
      back = await adaDecides(openid.buildAuthorizationUrl(config, asked(fields, resources)))
    },
    redeem: async (...resources) =>
      keep(await openid.authorizationCodeGrant(config, back, { pkceCodeVerifier }, asked({}, resources))),
    refresh: async (...resources) => keep(await openid.refreshTokenGrant(config, held, asked({}, resources)))
  }
}

const withOauth4webapi = async ({ issuer }: Elsewhere): Promise<Library> => {
  const insecure = { [oauth.allowInsecureRequests]: true } as const
  const url = new URL(issuer)
  const as = await oauth.processDiscoveryResponse(
    url,
    await oauth.discoveryRequest(url, { ...insecure, algorithm: "oauth2" })
  )
  const client = await oauth.processDynamicClientRegistrationResponse(
    await oauth.dynamicClientRegistrationRequest(as, metadata, insecure)
  )
  const verifier = oauth.generateRandomCodeVerifier()
  const code_challenge = await oauth.calculatePKCECodeChallenge(verifier)
  let back = new URLSearchParams()
  let held = ""
  const keep = (tokens: oauth.TokenEndpointResponse) => {
    held = tokens.refresh_token ?? held
    return tokens.access_token
  }
  return {
    authorize: async (resources) => {
      const fields = {
        response_type: "code",
        client_id: client.client_id,
        redirect_uri: redirectUri,
        scope,
        code_challenge,
        code_challenge_method: "S256"
      }
      const sentTo = new URL(String(as.authorization_endpoint))
      sentTo.search = String(asked(fields, resources))
      back = oauth.validateAuthResponse(as, client, await adaDecides(sentTo), oauth.expectNoState)
    },
    redeem: async (...resources) => {
      const more = { ...insecure, additionalParameters: asked({}, resources) }
      const answer = oauth.authorizationCodeGrantRequest(as, client, oauth.None(), back, redirectUri, verifier, more)
      return keep(await oauth.processAuthorizationCodeResponse(as, client, await answer))
    },
    refresh: async (...resources) => {
      const more = { ...insecure, additionalParameters: asked({}, resources) }
      const answer = oauth.refreshTokenGrantRequest(as, client, oauth.None(), held, more)
      return keep(await oauth.processRefreshTokenResponse(as, client, await answer))
    }
  }
}

test.each([
  ["openid-client", withOpenidClient],
  ["oauth4webapi", withOauth4webapi]
] as const)("%s asks for two resources at once, and takes a token for each", (_, over) =>
  withElsewhere(async (elsewhere) => {
    const { issuer, orders, tools } = elsewhere
    const library = await over(elsewhere)
    await library.authorize([tools, orders])
    const opened = async (token: string) => [await statusAt(tools, token), await statusAt(orders, token)]
    expect(await opened(await library.redeem(tools))).toEqual([200, 401])
    expect(await opened(await library.refresh(orders))).toEqual([401, 200])
    // A refresh narrows one token and not the grant.
    expect(await opened(await library.refresh(orders, tools))).toEqual([200, 200])
    expect(await opened(await library.refresh())).toEqual([200, 200])
    for (const other of [issuer, `${new URL(tools).origin}/`, "https://elsewhere.example"]) {
      await expect(library.refresh(other)).rejects.toMatchObject({ error: "invalid_target" })
    }
    await expect(library.refresh(tools, "https://elsewhere.example")).rejects.toMatchObject({ error: "invalid_target" })
    expect(await opened(await library.refresh(tools))).toEqual([200, 401])
  })
)
