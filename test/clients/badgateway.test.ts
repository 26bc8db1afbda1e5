import { expect, test } from "bun:test"
import { generateCodeVerifier, OAuth2Client, OAuth2Fetch } from "@badgateway/oauth2-client"
import { serverOfFile } from "../given/serverOfFile.ts"
import { register, Visitor } from "../given/serverVisitor.ts"

const server = serverOfFile()
const redirectUri = "https://app.example.org/callback"

/** It finds the endpoints by itself, from the base address alone. */
const clientOf = (registered: Awaited<ReturnType<typeof register>>) =>
  new OAuth2Client({
    server: `${server().url}/`,
    clientId: registered.client_id,
    ...(typeof registered.client_secret === "string" ? { clientSecret: registered.client_secret } : {}),
    discoveryEndpoint: "/.well-known/oauth-authorization-server"
  })

test.each(["none", "client_secret_post", "client_secret_basic"] as const)(
  "@badgateway/oauth2-client: a complete flow with the method %s",
  async (method) => {
    const registered = await register(server().url, {
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: method
    })
    const client = clientOf(registered)
    const codeVerifier = await generateCodeVerifier()
    const url = await client.authorizationCode.getAuthorizeUri({
      redirectUri,
      state: "some-state",
      codeVerifier,
      scope: ["api", "profile"]
    })
    const back = await new Visitor(server().url).decide(url)
    const token = await client.authorizationCode.getTokenFromCodeRedirect(back, {
      redirectUri,
      state: "some-state",
      codeVerifier
    })

    // Its fetch adds the token, and refreshes when it is refused.
    let kept = { ...token, accessToken: "tss_at_expired", expiresAt: null }
    const wrapper = new OAuth2Fetch({
      client,
      getNewToken: () => null,
      storeToken: (fresh) => {
        kept = { ...fresh, expiresAt: null }
      },
      getStoredToken: () => kept,
      scheduleRefresh: false
    })
    const answer = await wrapper.fetch(`${server().url}/rest/companies`)
    expect(answer.status).toBe(200)
    expect(kept.accessToken).not.toBe("tss_at_expired")

    // Introspection is for clients that prove themselves.
    const asked = () => client.introspect(kept)
    if (method === "none") await expect(asked()).rejects.toMatchObject({ oauth2Code: "invalid_client" })
    else expect(await asked()).toMatchObject({ active: true, client_id: registered.client_id })
    await client.revoke(kept, "refresh_token")
    if (method !== "none") expect(await asked()).toMatchObject({ active: false })
  }
)

test("@badgateway/oauth2-client: client credentials", async () => {
  const registered = await register(server().url, {
    grant_types: ["client_credentials"],
    token_endpoint_auth_method: "client_secret_basic"
  })
  const token = await clientOf(registered).clientCredentials({ scope: ["api"] })
  const answer = await fetch(`${server().url}/rest/companies`, {
    headers: { authorization: `Bearer ${token.accessToken}` }
  })
  expect(answer.status).toBe(200)
})
