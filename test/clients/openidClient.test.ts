import { expect, test } from "bun:test"
import * as client from "openid-client"
import { serverOfFile } from "../given/serverOfFile.ts"
import { companiesStatus, Visitor } from "../given/serverVisitor.ts"

const server = serverOfFile()
const redirectUri = "https://app.example.org/callback"

const pair = await client.randomDPoPKeyPair("EdDSA")
const { kty = "", crv = "", x = "" } = await crypto.subtle.exportKey("jwk", pair.publicKey)
const jwks = { keys: [{ kty, crv, x }] }

const methods = ["none", "client_secret_post", "client_secret_basic", "private_key_jwt"] as const
type Method = (typeof methods)[number]

/** How it proves itself; by a secret, it takes the method from the answer. */
const proofBy: Readonly<Record<Method, client.ClientAuth | undefined>> = {
  none: client.None(),
  client_secret_post: undefined,
  client_secret_basic: undefined,
  private_key_jwt: client.PrivateKeyJwt(pair.privateKey)
}

const registered = (method: Method) =>
  client.dynamicClientRegistration(
    new URL(server().url),
    {
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: method,
      client_name: "openid-client",
      ...(method === "private_key_jwt" ? { jwks } : {})
    },
    proofBy[method],
    { algorithm: "oauth2", execute: [client.allowInsecureRequests] }
  )

test.each(methods)("a complete flow with the method %s", async (method) => {
  const config = await registered(method)
  const verifier = client.randomPKCECodeVerifier()
  const state = client.randomState()
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: "api profile",
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    state
  })
  const back = await new Visitor(server().url).decide(url)
  const tokens = await client.authorizationCodeGrant(config, back, {
    pkceCodeVerifier: verifier,
    expectedState: state
  })
  const answer = await client.fetchProtectedResource(
    config,
    tokens.access_token,
    new URL(`${server().url}/rest/companies`),
    "GET"
  )
  expect(answer.status).toBe(200)

  const narrowed = await client.refreshTokenGrant(config, String(tokens.refresh_token), { scope: "profile" })
  expect(narrowed.scope).toBe("profile")
  expect(await companiesStatus(server().url, narrowed.access_token)).toBe(403)

  // Introspection is for clients that prove themselves.
  const asked = () => client.tokenIntrospection(config, narrowed.access_token)
  if (method === "none") await expect(asked()).rejects.toMatchObject({ error: "invalid_client" })
  else expect(await asked()).toMatchObject({ active: true })
  await client.tokenRevocation(config, String(narrowed.refresh_token))
  if (method !== "none") expect(await asked()).toMatchObject({ active: false })
  await expect(client.refreshTokenGrant(config, String(narrowed.refresh_token))).rejects.toMatchObject({
    error: "invalid_grant"
  })
})

test("a wrong state, and an answer of another server, are refused by the client before anything is sent", async () => {
  const config = await registered("none")
  const verifier = client.randomPKCECodeVerifier()
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    state: "right"
  })
  const back = await new Visitor(server().url).decide(url)
  const redeem = (from: URL, expectedState: string) =>
    client.authorizationCodeGrant(config, from, { pkceCodeVerifier: verifier, expectedState })
  const refused = (from: URL, expectedState: string) =>
    redeem(from, expectedState).then(
      () => "accepted",
      (error: Error) => String(error.cause)
    )
  expect(await refused(back, "wrong")).toContain("state")
  const elsewhere = new URL(back)
  elsewhere.searchParams.set("iss", "https://other.example")
  expect(await refused(elsewhere, "right")).toContain("iss")
  const without = new URL(back)
  without.searchParams.delete("iss")
  expect(await refused(without, "right")).toContain("iss")
  expect((await redeem(back, "right")).access_token).toBeString()
})

const fapi = { security_profile: "fapi2", dpop_bound_access_tokens: true }

test.each([
  ["pushed", fapi],
  ["pushed as a signed object", { ...fapi, require_signed_request_object: true }]
])("the FAPI 2.0 profile, its request %s", async (_, members) => {
  const config = await client.dynamicClientRegistration(
    new URL(server().url),
    { redirect_uris: [redirectUri], token_endpoint_auth_method: "private_key_jwt", jwks, ...members },
    client.PrivateKeyJwt(pair.privateKey),
    { algorithm: "oauth2", execute: [client.allowInsecureRequests] }
  )
  const verifier = client.randomPKCECodeVerifier()
  const state = client.randomState()
  const DPoP = client.getDPoPHandle(config, await client.randomDPoPKeyPair("ES256"))
  const asked = {
    redirect_uri: redirectUri,
    scope: "api",
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    state
  }
  const object =
    "require_signed_request_object" in members
      ? (await client.buildAuthorizationUrlWithJAR(config, asked, pair.privateKey)).searchParams
      : undefined
  const url = await client.buildAuthorizationUrlWithPAR(config, object ?? asked, { DPoP })
  expect([...url.searchParams.keys()].toSorted()).toEqual(["client_id", "request_uri"])
  const back = await new Visitor(server().url).decide(url)
  const tokens = await client.authorizationCodeGrant(
    config,
    back,
    { pkceCodeVerifier: verifier, expectedState: state },
    undefined,
    { DPoP }
  )
  expect(tokens.token_type).toBe("dpop")
  const companies = new URL(`${server().url}/rest/companies`)
  const call = (token: string) =>
    client.fetchProtectedResource(config, token, companies, "GET", undefined, undefined, { DPoP })
  expect((await call(tokens.access_token)).status).toBe(200)
  expect(await companiesStatus(server().url, tokens.access_token)).toBe(401)
  // No rotation: the one refresh token is good again and again.
  const first = await client.refreshTokenGrant(config, String(tokens.refresh_token), undefined, { DPoP })
  const again = await client.refreshTokenGrant(config, String(tokens.refresh_token), undefined, { DPoP })
  expect([first.refresh_token, again.refresh_token]).toEqual([tokens.refresh_token, tokens.refresh_token])
  expect((await call(again.access_token)).status).toBe(200)
  await expect(new Visitor(server().url).decide(url)).rejects.toThrow("no consent page but 400")
})
