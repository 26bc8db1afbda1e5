import { describe, expect, test } from "bun:test"
import { auth, extractWWWAuthenticateParams, type OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js"
import type {
  OAuthClientInformationMixed,
  OAuthClientMetadata,
  OAuthTokens
} from "@modelcontextprotocol/sdk/shared/auth.js"
import { serverOfFile } from "../given/serverOfFile.ts"
import { companiesStatus, Visitor } from "../given/serverVisitor.ts"

const server = serverOfFile()
const redirectUri = "http://localhost:3118/callback"

/** The SDK's own orchestration with the simplest memory that it can have, and every request that it makes noted. */
class Memory implements OAuthClientProvider {
  readonly redirectUrl = redirectUri
  readonly clientMetadata: OAuthClientMetadata & { readonly application_type: "native" }
  readonly requests: Array<{ readonly url: URL; readonly body: URLSearchParams | undefined }> = []
  client: OAuthClientInformationMixed | undefined
  held: OAuthTokens | undefined
  verifier = ""
  sentTo: URL | undefined

  constructor(method: "none" | "client_secret_post" | "client_secret_basic") {
    this.clientMetadata = {
      client_name: "MCP SDK",
      redirect_uris: [redirectUri],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: method,
      application_type: "native"
    }
  }

  readonly state = () => "sdk-state"
  readonly clientInformation = () => this.client
  readonly saveClientInformation = (client: OAuthClientInformationMixed) => {
    this.client = client
  }
  readonly tokens = () => this.held
  readonly saveTokens = (tokens: OAuthTokens) => {
    this.held = tokens
  }
  readonly redirectToAuthorization = (url: URL) => {
    this.sentTo = url
  }
  readonly saveCodeVerifier = (verifier: string) => {
    this.verifier = verifier
  }
  readonly codeVerifier = () => this.verifier

  readonly fetch = (url: string | URL, init?: RequestInit): Promise<Response> => {
    this.requests.push({
      url: new URL(url),
      body: init?.body instanceof URLSearchParams ? init.body : undefined
    })
    return fetch(url, init)
  }
}

const challenged = async (resource: string) => {
  const answer = await fetch(resource)
  expect(answer.status).toBe(401)
  return extractWWWAuthenticateParams(answer)
}

const sentResources = (memory: Memory) => [
  memory.sentTo?.searchParams.get("resource"),
  ...memory.requests.flatMap(({ body }) => (body === undefined ? [] : [body.get("resource")]))
]

describe.each(["none", "client_secret_post", "client_secret_basic"] as const)(
  "the MCP SDK with method %s",
  (method) => {
    test.each(["by the challenge", "by the well-known address"])("finds us %s and gets all the way", async (found) => {
      const serverUrl = `${server().url}/rest/companies`
      const hint = found === "by the challenge" ? await challenged(serverUrl) : {}
      const memory = new Memory(method)
      const options = { serverUrl, ...hint, fetchFn: memory.fetch }

      expect(await auth(memory, options)).toBe("REDIRECT")
      expect(memory.client).toMatchObject({ token_endpoint_auth_method: method, redirect_uris: [redirectUri] })
      expect(memory.sentTo?.searchParams.get("code_challenge_method")).toBe("S256")

      const back = await new Visitor(server().url).decide(String(memory.sentTo))
      expect(back.searchParams.get("state")).toBe("sdk-state")
      expect(back.searchParams.get("iss")).toBe(server().url)
      const authorizationCode = String(back.searchParams.get("code"))
      expect(await auth(memory, { ...options, authorizationCode })).toBe("AUTHORIZED")
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

test("the MCP SDK sends the person again once its grant is gone", async () => {
  const serverUrl = `${server().url}/rest/companies`
  const memory = new Memory("none")
  const options = { serverUrl, fetchFn: memory.fetch }
  await auth(memory, options)
  const back = await new Visitor(server().url).decide(String(memory.sentTo))
  await auth(memory, { ...options, authorizationCode: String(back.searchParams.get("code")) })
  await fetch(`${server().url}/oauth/revoke`, {
    method: "POST",
    body: new URLSearchParams({
      client_id: String(memory.client?.client_id),
      token: String(memory.held?.refresh_token)
    })
  })
  memory.sentTo = undefined
  // It forgets the tokens on `invalid_grant`, by its own rules, and starts over.
  const again = Object.assign(memory, {
    invalidateCredentials: () => {
      memory.held = undefined
    }
  })
  expect(await auth(again, options)).toBe("REDIRECT")
  expect(again.sentTo).toBeInstanceOf(URL)
})
