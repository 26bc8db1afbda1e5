import { describe, expect, test } from "bun:test"
import * as oauth from "oauth4webapi"
import { serverOfFile } from "../given/serverOfFile.ts"
import { companiesStatus, Visitor } from "../given/serverVisitor.ts"

const server = serverOfFile()
const redirectUri = "https://app.example.org/callback"
const insecure = { [oauth.allowInsecureRequests]: true } as const

const discover = async (): Promise<oauth.AuthorizationServer> => {
  const issuer = new URL(server().url)
  const answer = await oauth.discoveryRequest(issuer, { ...insecure, algorithm: "oauth2" })
  return oauth.processDiscoveryResponse(issuer, answer)
}

const register = async (as: oauth.AuthorizationServer, metadata: Partial<oauth.Client>): Promise<oauth.Client> =>
  oauth.processDynamicClientRegistrationResponse(
    await oauth.dynamicClientRegistrationRequest(as, { redirect_uris: [redirectUri], ...metadata }, insecure)
  )

const secretOf = (client: oauth.Client): string => String(client.client_secret)

const asking = async (as: oauth.AuthorizationServer, client: oauth.Client, verifier: string, state: string) => {
  const url = new URL(String(as.authorization_endpoint))
  for (const [name, value] of Object.entries({
    response_type: "code",
    client_id: client.client_id,
    redirect_uri: redirectUri,
    scope: "api profile",
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    state
  }))
    url.searchParams.set(name, value)
  return url
}

const pair = await oauth.generateKeyPair("ES256")
const { kty = "", crv = "", x = "", y = "" } = await crypto.subtle.exportKey("jwk", pair.publicKey)
const jwks = { keys: [{ kty, crv, x, y, kid: "one" }] }
const methods = ["none", "client_secret_post", "client_secret_basic", "private_key_jwt"] as const

const keysOf = (method: string): Partial<oauth.Client> => (method === "private_key_jwt" ? { jwks } : {})

describe.each(methods)("a client of method %s", (method) => {
  const authOf = (client: oauth.Client): oauth.ClientAuth => {
    switch (method) {
      case "none":
        return oauth.None()
      case "client_secret_post":
        return oauth.ClientSecretPost(secretOf(client))
      case "client_secret_basic":
        return oauth.ClientSecretBasic(secretOf(client))
      case "private_key_jwt":
        return oauth.PrivateKeyJwt({ key: pair.privateKey, kid: "one" })
    }
  }

  test("goes all the way: discovery, registration, code with PKCE, refresh, introspection, revocation", async () => {
    const as = await discover()
    const client = await register(as, {
      ...keysOf(method),
      token_endpoint_auth_method: method,
      client_name: "oauth4webapi"
    })
    const auth = authOf(client)
    const [verifier, state] = [oauth.generateRandomCodeVerifier(), oauth.generateRandomState()]
    const back = await new Visitor(server().url).decide(await asking(as, client, verifier, state))
    expect(as.authorization_response_iss_parameter_supported).toBe(true)

    // It checks `iss` (RFC 9207) and `state` itself.
    const parameters = oauth.validateAuthResponse(as, client, back, state)
    const grant = await oauth.authorizationCodeGrantRequest(
      as,
      client,
      auth,
      parameters,
      redirectUri,
      verifier,
      insecure
    )
    const tokens = await oauth.processAuthorizationCodeResponse(as, client, grant)
    expect(tokens.scope).toBe("api profile")

    const resource = new URL(`${server().url}/rest/companies`)
    const answer = await oauth.protectedResourceRequest(
      tokens.access_token,
      "GET",
      resource,
      undefined,
      undefined,
      insecure
    )
    expect(answer.status).toBe(200)
    const who = await oauth.userInfoRequest(as, client, tokens.access_token, insecure)
    expect(await who.json()).toMatchObject({ email: "ada@northwind.example" })

    const renewed = await oauth.processRefreshTokenResponse(
      as,
      client,
      await oauth.refreshTokenGrantRequest(as, client, auth, String(tokens.refresh_token), insecure)
    )
    expect(renewed.refresh_token).not.toBe(tokens.refresh_token)
    expect(await companiesStatus(server().url, renewed.access_token)).toBe(200)

    const looked = async () =>
      oauth.processIntrospectionResponse(
        as,
        client,
        await oauth.introspectionRequest(as, client, auth, renewed.access_token, insecure)
      )
    // Introspection is for clients that prove themselves.
    if (method === "none") await expect(looked()).rejects.toMatchObject({ status: 401, error: "invalid_client" })
    else expect(await looked()).toMatchObject({ active: true, client_id: client.client_id, scope: "api profile" })

    await oauth.processRevocationResponse(
      await oauth.revocationRequest(as, client, auth, String(renewed.refresh_token), insecure)
    )
    if (method !== "none") expect(await looked()).toEqual({ active: false })
    expect(await companiesStatus(server().url, renewed.access_token)).toBe(401)
    expect(await companiesStatus(server().url, tokens.access_token)).toBe(401)
  })

  test("is told of a refusal in a way that it understands", async () => {
    const as = await discover()
    const client = await register(as, { ...keysOf(method), token_endpoint_auth_method: method })
    const state = oauth.generateRandomState()
    const denied = await new Visitor(server().url).decide(
      await asking(as, client, oauth.generateRandomCodeVerifier(), state),
      "deny"
    )
    try {
      oauth.validateAuthResponse(as, client, denied, state)
      expect.unreachable()
    } catch (error) {
      expect(error).toBeInstanceOf(oauth.AuthorizationResponseError)
      expect(error).toMatchObject({ error: "access_denied" })
    }
    const refused = await oauth.refreshTokenGrantRequest(as, client, authOf(client), "made-up", insecure)
    await expect(oauth.processRefreshTokenResponse(as, client, refused)).rejects.toMatchObject({
      name: "ResponseBodyError",
      error: "invalid_grant"
    })
  })
})

test("a client for itself: client credentials", async () => {
  const as = await discover()
  const client = await register(as, {
    redirect_uris: [],
    grant_types: ["client_credentials"],
    response_types: [],
    token_endpoint_auth_method: "client_secret_basic"
  })
  const answer = await oauth.clientCredentialsGrantRequest(
    as,
    client,
    oauth.ClientSecretBasic(secretOf(client)),
    { scope: "api" },
    insecure
  )
  const tokens = await oauth.processClientCredentialsResponse(as, client, answer)
  expect(tokens.refresh_token).toBeUndefined()
  expect(await companiesStatus(server().url, tokens.access_token)).toBe(200)
})

test("the protected resource says where its authorization server is", async () => {
  const resource = new URL(`${server().url}/rest/companies`)
  const found = await oauth.processResourceDiscoveryResponse(
    resource,
    await oauth.resourceDiscoveryRequest(resource, insecure)
  )
  expect(found.authorization_servers).toEqual([server().url])
})
