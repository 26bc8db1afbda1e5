import { describe, expect, test } from "bun:test"
import { AuthorizationCode, ClientCredentials } from "simple-oauth2"
import { serverOfFile } from "../given/serverOfFile.ts"
import { companiesStatus, register, Visitor } from "../given/serverVisitor.ts"

const server = serverOfFile()
const redirectUri = "https://app.example.org/callback"

const configure = (registered: Awaited<ReturnType<typeof register>>, authorizationMethod: "body" | "header") => ({
  client: { id: registered.client_id, secret: String(registered.client_secret) },
  auth: { tokenHost: server().url, tokenPath: "/oauth/token", revokePath: "/oauth/revoke" },
  options: { authorizationMethod }
})

describe.each([
  { method: "client_secret_post", authorizationMethod: "body" },
  { method: "client_secret_basic", authorizationMethod: "header" }
] as const)("simple-oauth2, the secret in the $authorizationMethod", ({ method, authorizationMethod }) => {
  test("a complete flow, without PKCE, which it does not know", async () => {
    const registered = await register(server().url, {
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: method
    })
    const client = new AuthorizationCode(configure(registered, authorizationMethod)) // Its authorizePath is ours by default.
    const url = client.authorizeURL({ redirect_uri: redirectUri, scope: "api", state: "3(#0/!~" })
    const back = await new Visitor(server().url).decide(url)
    expect(back.searchParams.get("state")).toBe("3(#0/!~")
    const code = String(back.searchParams.get("code"))
    const token = await client.getToken({ code, redirect_uri: redirectUri })
    const access = String(token.token.access_token)
    expect(token.expired()).toBe(false)
    expect(await companiesStatus(server().url, access)).toBe(200)

    const refreshed = await token.refresh()
    expect(refreshed.token.refresh_token).not.toBe(token.token.refresh_token)
    await refreshed.revokeAll()
    expect(await companiesStatus(server().url, String(refreshed.token.access_token))).toBe(401)
    expect(await companiesStatus(server().url, access)).toBe(401)
  })

  test("client credentials", async () => {
    const registered = await register(server().url, {
      grant_types: ["client_credentials"],
      token_endpoint_auth_method: method
    })
    const token = await new ClientCredentials(configure(registered, authorizationMethod)).getToken({ scope: "api" })
    expect(await companiesStatus(server().url, String(token.token.access_token))).toBe(200)
  })
})
