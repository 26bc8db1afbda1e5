import { expect, test } from "bun:test"
import * as oauth from "oauth4webapi"
import * as openid from "openid-client"
import { issuer, people, redirectUri, withHost } from "../embed/host.ts"
import { owner as anybody, approve, endSessionAddress, leave, signedOutAt, signedOutUri, within } from "./signIn.ts"

const owner = {
  ...anybody,
  signedIn: (request: Parameters<(typeof people)["signedIn"]>[0]) => {
    const here = people.signedIn(request)
    return here instanceof Promise || here === undefined || here === null
      ? here
      : { ...here, authenticatedAt: new Date() }
  }
}

for (const algorithm of ["ES256", "RS256", "EdDSA"] as const) {
  test(`openid-client signs a person in, refreshes, reads userinfo and signs out: ${algorithm}`, () =>
    withHost({ owner }, async (auth) => {
      const config = await openid.dynamicClientRegistration(
        new URL(issuer),
        {
          redirect_uris: [redirectUri],
          post_logout_redirect_uris: [signedOutUri],
          id_token_signed_response_alg: algorithm,
          userinfo_signed_response_alg: algorithm
        },
        undefined,
        { execute: [openid.allowInsecureRequests], [openid.customFetch]: within(auth) }
      )
      const verifier = openid.randomPKCECodeVerifier()
      const nonce = openid.randomNonce()
      const address = openid.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: "openid email",
        nonce,
        max_age: "600",
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256"
      })
      const back = await approve(auth, address)
      const tokens = await openid.authorizationCodeGrant(config, back, {
        pkceCodeVerifier: verifier,
        expectedNonce: nonce,
        maxAge: 600,
        idTokenExpected: true
      })
      expect(tokens.claims()?.sub).toBe("ada")
      const again = await openid.refreshTokenGrant(config, tokens.refresh_token ?? "")
      const { auth_time, iss, sub } = tokens.claims() ?? {}
      expect(again.claims()).toMatchObject({ iss, sub, aud: config.clientMetadata().client_id, auth_time })
      const told = await openid.fetchUserInfo(config, again.access_token, "ada")
      expect(told).toMatchObject({ sub: "ada", email: "ada@shop.example", email_verified: true })
      const asked = { post_logout_redirect_uri: signedOutUri, state: "over & out" }
      const out = openid.buildEndSessionUrl(config, { id_token_hint: again.id_token ?? "", ...asked })
      expect(await leave(auth, out)).toBe(signedOutAt)
      // Without a hint she is asked first, and another's address leads nowhere.
      expect(await leave(auth, openid.buildEndSessionUrl(config, asked))).toBe("still signed in: 200")
      const elsewhere = { ...asked, post_logout_redirect_uri: "https://evil.example/" }
      expect(await leave(auth, openid.buildEndSessionUrl(config, elsewhere))).toBe("still signed in: 400")
    }))
}

test("oauth4webapi signs a person in by OpenID's discovery, refreshes, reads userinfo and signs out", () =>
  withHost({ owner }, async (auth) => {
    const over = { [oauth.allowInsecureRequests]: true, [oauth.customFetch]: within(auth) } as const
    const at = new URL(issuer)
    const server = await oauth.processDiscoveryResponse(
      at,
      await oauth.discoveryRequest(at, { ...over, algorithm: "oidc" })
    )
    const made = await auth.clients.register({
      client_name: "App",
      redirect_uris: [redirectUri],
      post_logout_redirect_uris: [signedOutUri],
      token_endpoint_auth_method: "client_secret_post"
    })
    const client: oauth.Client = { client_id: made.client.id }
    const proof = oauth.ClientSecretPost(made.secret ?? "")
    const verifier = oauth.generateRandomCodeVerifier()
    const asked = new URLSearchParams({
      response_type: "code",
      client_id: made.client.id,
      redirect_uri: redirectUri,
      scope: "openid profile",
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256"
    })
    const back = await approve(auth, new URL(`${server.authorization_endpoint}?${asked}`))
    const parameters = oauth.validateAuthResponse(server, client, back, oauth.expectNoState)
    const answer = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      proof,
      parameters,
      redirectUri,
      verifier,
      over
    )
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, answer, { requireIdToken: true })
    await oauth.validateApplicationLevelSignature(server, answer, over)
    expect(oauth.getValidatedIdTokenClaims(tokens)).toMatchObject({ iss: issuer, sub: "ada", aud: made.client.id })
    const refreshed = await oauth.refreshTokenGrantRequest(server, client, proof, tokens.refresh_token ?? "", over)
    const again = await oauth.processRefreshTokenResponse(server, client, refreshed)
    await oauth.validateApplicationLevelSignature(server, refreshed, over)
    expect(oauth.getValidatedIdTokenClaims(again)).toMatchObject({ iss: issuer, sub: "ada", aud: made.client.id })
    const userinfo = await oauth.userInfoRequest(server, client, again.access_token, over)
    expect(await oauth.processUserInfoResponse(server, client, "ada", userinfo)).toEqual({ sub: "ada", name: "Ada" })
    expect(await leave(auth, endSessionAddress(server.end_session_endpoint, again.id_token))).toBe(signedOutAt)
  }))
