import { expect, test } from "bun:test"
import { exchangeJwtAuthGrant } from "@modelcontextprotocol/client"
import { exportJWK, generateKeyPair, SignJWT } from "jose"
import * as client from "openid-client"
import type { EmbeddedTessera } from "../../runtimes/tessera.ts"
import { issuer, letIn, people, withHost } from "../embed/host.ts"

/** The host's own server, as openid-client reaches it: over `fetch`, without a socket. */
const discovered = (auth: EmbeddedTessera, id: string, secret: string) =>
  client.discovery(new URL(issuer), id, secret, undefined, {
    algorithm: "oauth2",
    execute: [client.allowInsecureRequests],
    [client.customFetch]: (url, sent) => auth.handle(new Request(url, sent as RequestInit))
  })

const registered = async (auth: EmbeddedTessera, grantTypes: ReadonlyArray<string>) => {
  const made = await auth.clients.register({ client_name: "Orders", redirect_uris: [], grant_types: grantTypes })
  const secret = made.secret ?? ""
  return { id: made.client.id, secret, config: await discovered(auth, made.client.id, secret) }
}

test("openid-client exchanges a token that an API was sent, once an owner lets it", () =>
  withHost({}, async (auth) => {
    const { access } = await letIn(auth, "ada", "api profile")
    const { config, id } = await registered(auth, ["client_credentials"])
    const exchange = () =>
      client.genericGrantRequest(config, "urn:ietf:params:oauth:grant-type:token-exchange", {
        subject_token: access,
        subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
        scope: "api"
      })
    await expect(exchange()).rejects.toMatchObject({ error: "unauthorized_client" })
    expect(await auth.clients.allowExchange(id, issuer)).toBe(true)
    const narrower = await exchange()
    expect(narrower).toMatchObject({
      scope: "api",
      issued_token_type: "urn:ietf:params:oauth:token-type:access_token"
    })
    expect(await client.tokenIntrospection(config, narrower.access_token)).toMatchObject({
      active: true,
      sub: "ada",
      client_id: id,
      act: { sub: id }
    })
  }))

test("openid-client and the MCP SDK bring an identity assertion of an issuer that the host trusts", async () => {
  const { privateKey, publicKey } = await generateKeyPair("ES256")
  const login = "https://login.acme.example"
  const trustedIssuers = [{ issuer: login, jwks: { keys: [{ ...(await exportJWK(publicKey)), kid: "one" }] } }]
  const owner = { ...people, asserted: ({ subject }: { readonly subject: string }) => subject }
  await withHost({ owner, trustedIssuers }, async (auth) => {
    const { config, id, secret } = await registered(auth, ["urn:ietf:params:oauth:grant-type:jwt-bearer"])
    expect(config.serverMetadata().authorization_grant_profiles_supported).toEqual([
      "urn:ietf:params:oauth:grant-profile:id-jag"
    ])
    const assertion = await new SignJWT({ client_id: id, scope: "api" })
      .setProtectedHeader({ alg: "ES256", kid: "one", typ: "oauth-id-jag+jwt" })
      .setIssuer(login)
      .setSubject("grace")
      .setAudience(issuer)
      .setJti("one")
      .setIssuedAt()
      .setExpirationTime("5 minutes")
      .sign(privateKey)
    const tokens = await client.genericGrantRequest(config, "urn:ietf:params:oauth:grant-type:jwt-bearer", {
      assertion
    })
    expect(tokens.refresh_token).toBeUndefined()
    expect(await client.tokenIntrospection(config, tokens.access_token)).toMatchObject({ active: true, sub: "grace" })
    const again = await exchangeJwtAuthGrant({
      tokenEndpoint: `${issuer}/oauth/token`,
      jwtAuthGrant: assertion,
      clientId: id,
      clientSecret: secret,
      fetchFn: (url, sent) => auth.handle(new Request(url, sent))
    })
    expect(await client.tokenIntrospection(config, again.access_token)).toMatchObject({ active: true, sub: "grace" })
    const [grant] = (await auth.grants.list("grace")).items
    expect(grant?.client.id).toBe(id)
    expect(await auth.grants.revoke("grace", grant?.id ?? "")).toBe(true)
    expect(await client.tokenIntrospection(config, tokens.access_token)).toMatchObject({ active: false })
  })
})
