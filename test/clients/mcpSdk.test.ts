import { describe, expect, test } from "bun:test"
import type { OAuthClientMetadata, OAuthClientProvider } from "@modelcontextprotocol/client"
import * as latest from "@modelcontextprotocol/client"
import * as before from "@modelcontextprotocol/sdk/client/auth.js"
import { exportJWK, exportPKCS8, generateKeyPair } from "jose"
import { serverOfFile } from "../given/serverOfFile.ts"
import { companiesStatus, register, Visitor } from "../given/serverVisitor.ts"
import { McpMemory } from "./McpMemory.ts"

const server = serverOfFile()

/** The SDK's own orchestration, and every request that it makes noted. */
class Memory extends McpMemory {
  override readonly clientMetadata: OAuthClientMetadata & { readonly application_type: "native" }
  readonly requests: Array<{ readonly url: URL; readonly body: URLSearchParams | undefined }> = []

  constructor(method: "none" | "client_secret_post" | "client_secret_basic") {
    super()
    this.clientMetadata = {
      client_name: "MCP SDK",
      redirect_uris: [this.redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: method,
      application_type: "native"
    }
  }

  readonly state = () => "sdk-state"

  /** Where its person was sent last. */
  get sentTo(): URL | undefined {
    return this.asked.at(-1)
  }

  readonly fetch = (url: string | URL, init?: RequestInit): Promise<Response> => {
    this.requests.push({
      url: new URL(url),
      body: init?.body instanceof URLSearchParams ? init.body : undefined
    })
    return fetch(url, init)
  }
}

/** The one of most applications of today, and the one that they move to. */
const sdks = { 1: before, 2: latest } as const

const refused = async (resource: string): Promise<Response> => {
  const answer = await fetch(resource)
  expect(answer.status).toBe(401)
  return answer
}

const sentResources = (memory: Memory) => [
  memory.sentTo?.searchParams.get("resource"),
  ...memory.requests.flatMap(({ body }) => (body === undefined ? [] : [body.get("resource")]))
]

const methods = ["none", "client_secret_post", "client_secret_basic"] as const

describe.each(([1, 2] as const).flatMap((version) => methods.map((method) => [version, method] as const)))(
  "the MCP SDK %i with method %s",
  (version, method) => {
    const { auth, extractWWWAuthenticateParams } = sdks[version]
    test.each(["by the challenge", "by the well-known address"])("finds us %s and gets all the way", async (found) => {
      const serverUrl = `${server().url}/rest/companies`
      const hint = found === "by the challenge" ? extractWWWAuthenticateParams(await refused(serverUrl)) : {}
      const memory = new Memory(method)
      const options = { serverUrl, ...hint, fetchFn: memory.fetch }

      expect(await auth(memory, options)).toBe("REDIRECT")
      expect(memory.client).toMatchObject({ token_endpoint_auth_method: method, redirect_uris: [memory.redirectUrl] })
      expect(memory.sentTo?.searchParams.get("code_challenge_method")).toBe("S256")

      const back = await new Visitor(server().url).decide(String(memory.sentTo))
      expect(back.searchParams.get("state")).toBe("sdk-state")
      expect(back.searchParams.get("iss")).toBe(server().url)
      const authorizationCode = String(back.searchParams.get("code"))
      const iss = String(back.searchParams.get("iss"))
      expect(await auth(memory, { ...options, authorizationCode, iss })).toBe("AUTHORIZED")
      const first = memory.held
      expect(await companiesStatus(server().url, String(first?.access_token))).toBe(200)

      expect(await auth(memory, options)).toBe("AUTHORIZED")
      expect(memory.held?.refresh_token).not.toBe(first?.refresh_token)
      expect(await companiesStatus(server().url, String(memory.held?.access_token))).toBe(200)

      const resource = found === "by the challenge" ? server().url : serverUrl
      expect(sentResources(memory)).toEqual([resource, resource, resource])
    })
  }
)

test.each([1, 2] as const)("the MCP SDK %i sends the person again once its grant is gone", async (version) => {
  const { auth } = sdks[version]
  const serverUrl = `${server().url}/rest/companies`
  const memory = new Memory("none")
  const options = { serverUrl, fetchFn: memory.fetch }
  await auth(memory, options)
  const back = await new Visitor(server().url).decide(String(memory.sentTo))
  const [authorizationCode, iss] = ["code", "iss"].map((name) => String(back.searchParams.get(name)))
  await auth(memory, { ...options, ...(authorizationCode && { authorizationCode }), ...(iss && { iss }) })
  await fetch(`${server().url}/oauth/revoke`, {
    method: "POST",
    body: new URLSearchParams({
      client_id: String(memory.client?.client_id),
      token: String(memory.held?.refresh_token)
    })
  })
  // It forgets the tokens on `invalid_grant`, by its own rules, and starts over.
  const again = Object.assign(memory, {
    invalidateCredentials: () => {
      memory.held = undefined
    }
  })
  expect(await auth(again, options)).toBe("REDIRECT")
  expect(again.asked).toHaveLength(2)
  expect(again.sentTo).toBeInstanceOf(URL)
})

/** What the SDK itself makes of a server, with the tokens and proofs that it handles: the status of the call. */
const statusOf = async (provider: OAuthClientProvider): Promise<number> => {
  const serverUrl = `${server().url}/rest/companies`
  const asked = latest.applyMiddlewares(latest.withOAuth(provider, serverUrl))(fetch)
  return (await asked(serverUrl)).status
}

test("the MCP SDK 2 binds its tokens to its key, and renews and shows them with proofs (RFC 9449)", async () => {
  const session = latest.DpopSession.create()
  const memory = Object.assign(new Memory("none"), { dpop: () => session })
  const options = { serverUrl: `${server().url}/rest/companies` }
  expect(await latest.auth(memory, options)).toBe("REDIRECT")
  const { searchParams } = await new Visitor(server().url).decide(String(memory.sentTo))
  const back = { authorizationCode: String(searchParams.get("code")), iss: String(searchParams.get("iss")) }
  expect(await latest.auth(memory, { ...options, ...back })).toBe("AUTHORIZED")
  const first = memory.held
  expect(first?.token_type).toBe("DPoP")
  expect(await statusOf(memory)).toBe(200)
  expect(await companiesStatus(server().url, String(first?.access_token))).toBe(401)

  expect(await latest.auth(memory, options)).toBe("AUTHORIZED")
  expect([memory.held?.token_type, memory.held?.access_token === first?.access_token]).toEqual(["DPoP", false])
  expect(await statusOf(memory)).toBe(200)
  memory.held = first
  const thief = Object.assign(memory, { dpop: () => latest.DpopSession.create() })
  await expect(latest.auth(thief, options)).rejects.toBeInstanceOf(latest.OAuthError)
})

describe("the MCP SDK 2 without a person", () => {
  const asked = { redirect_uris: [], grant_types: ["client_credentials"] }

  test("calls by a secret", async () => {
    const { client_id, client_secret } = await register(server().url, asked)
    const known = { clientId: client_id, clientSecret: String(client_secret), expectedIssuer: server().url }
    expect(await statusOf(new latest.ClientCredentialsProvider(known))).toBe(200)
  })

  test.each(["ES256", "RS256"])("calls by assertions that it signs with %s (RFC 7523)", async (algorithm) => {
    const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true })
    const { client_id } = await register(server().url, {
      ...asked,
      token_endpoint_auth_method: "private_key_jwt",
      jwks: { keys: [await exportJWK(publicKey)] }
    })
    const known = { clientId: client_id, privateKey: await exportPKCS8(privateKey), algorithm }
    expect(await statusOf(new latest.PrivateKeyJwtProvider({ ...known, expectedIssuer: server().url }))).toBe(200)
  })
})
