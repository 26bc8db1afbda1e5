import { expect, test } from "bun:test"
import * as oauth from "oauth4webapi"
import * as openid from "openid-client"
import { issuer, redirectUri, withHost } from "../embed/host.ts"
import { approve, within } from "./signIn.ts"

const asked = { extras: ["example"], dpop: { required: true, nonces: "all" }, rateLimits: false } as const
const companies = new URL(`${issuer}/rest/companies`)

test("oauth4webapi goes all the way with a key and nonces: pushed request, code, resource, refresh", () =>
  withHost(asked, async (auth) => {
    const over = { [oauth.allowInsecureRequests]: true, [oauth.customFetch]: within(auth) } as const
    const found = await oauth.discoveryRequest(new URL(issuer), { ...over, algorithm: "oauth2" })
    const as = await oauth.processDiscoveryResponse(new URL(issuer), found)
    expect(as.dpop_signing_alg_values_supported).toContain("ES256")
    const client = await oauth.processDynamicClientRegistrationResponse(
      await oauth.dynamicClientRegistrationRequest(
        as,
        { redirect_uris: [redirectUri], token_endpoint_auth_method: "none", dpop_bound_access_tokens: true },
        over
      )
    )
    const DPoP = oauth.DPoP({}, await oauth.generateKeyPair("ES256"))
    /** RFC 9449 §8: a client comes once more with the nonce that it was told. */
    const twice = async <A>(ask: () => Promise<A>): Promise<A> => {
      try {
        return await ask()
      } catch (error) {
        if (oauth.isDPoPNonceError(error)) return ask()
        throw error
      }
    }
    const verifier = oauth.generateRandomCodeVerifier()
    const state = oauth.generateRandomState()
    const fields = {
      response_type: "code",
      redirect_uri: redirectUri,
      scope: "api",
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      state
    }
    const pushed = await twice(async () =>
      oauth.processPushedAuthorizationResponse(
        as,
        client,
        await oauth.pushedAuthorizationRequest(as, client, oauth.None(), new URLSearchParams(fields), { ...over, DPoP })
      )
    )
    const url = new URL(String(as.authorization_endpoint))
    url.search = new URLSearchParams({ client_id: client.client_id, request_uri: pushed.request_uri }).toString()
    const parameters = oauth.validateAuthResponse(as, client, await approve(auth, url), state)
    const tokens = await twice(async () =>
      oauth.processAuthorizationCodeResponse(
        as,
        client,
        await oauth.authorizationCodeGrantRequest(as, client, oauth.None(), parameters, redirectUri, verifier, {
          ...over,
          DPoP
        })
      )
    )
    expect(tokens.token_type).toBe("dpop")
    const call = (token: string) =>
      twice(() => oauth.protectedResourceRequest(token, "GET", companies, undefined, undefined, { ...over, DPoP }))
    expect((await call(tokens.access_token)).status).toBe(200)
    const renewed = await twice(async () =>
      oauth.processRefreshTokenResponse(
        as,
        client,
        await oauth.refreshTokenGrantRequest(as, client, oauth.None(), String(tokens.refresh_token), { ...over, DPoP })
      )
    )
    expect((await call(renewed.access_token)).status).toBe(200)
    const bare = new Request(companies, { headers: { authorization: `Bearer ${renewed.access_token}` } })
    expect((await auth.handle(bare)).status).toBe(401)
  }))

test("openid-client goes all the way with a key and nonces, which it looks after by itself", () =>
  withHost(asked, async (auth) => {
    const config = await openid.dynamicClientRegistration(
      new URL(issuer),
      { redirect_uris: [redirectUri], token_endpoint_auth_method: "none", dpop_bound_access_tokens: true },
      openid.None(),
      { algorithm: "oauth2", execute: [openid.allowInsecureRequests], [openid.customFetch]: within(auth) }
    )
    const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair("EdDSA"))
    const pkceCodeVerifier = openid.randomPKCECodeVerifier()
    const expectedState = openid.randomState()
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: "api",
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: "S256",
      state: expectedState,
      dpop_jkt: await DPoP.calculateThumbprint()
    })
    const back = await approve(auth, url)
    const checks = { pkceCodeVerifier, expectedState }
    const tokens = await openid.authorizationCodeGrant(config, back, checks, undefined, { DPoP })
    expect(tokens.token_type).toBe("dpop")
    const renewed = await openid.refreshTokenGrant(config, String(tokens.refresh_token), undefined, { DPoP })
    for (const { access_token } of [tokens, renewed]) {
      const answer = await openid.fetchProtectedResource(config, access_token, companies, "GET", null, undefined, {
        DPoP
      })
      expect(answer.status).toBe(200)
    }
  }))
