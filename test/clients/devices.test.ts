import { expect, test } from "bun:test"
import * as oauth from "oauth4webapi"
import * as openid from "openid-client"
import { deviceGrant } from "../../core/client/Profile.ts"
import type { EmbeddedTessera } from "../../runtimes/tessera.ts"
import { issuer, withHost } from "../embed/host.ts"
import { hiddenFields } from "../given/flow.ts"
import { within } from "./signIn.ts"

/** RFC 8628: Ada enters the code that the device shows, in a browser elsewhere. */
const approve = async (auth: EmbeddedTessera, verificationUri: string, userCode: string): Promise<void> => {
  const browser = { cookie: "session=ada", origin: auth.issuer }
  const get = (url: string | URL) => auth.handle(new Request(url, { headers: browser }))
  const post = (url: string, fields: Readonly<Record<string, string>>) =>
    auth.handle(
      new Request(url, {
        method: "POST",
        headers: { ...browser, "content-type": "application/x-www-form-urlencoded" },
        body: new URLSearchParams(fields).toString()
      })
    )
  const page = await (await get(verificationUri)).text()
  const entered = await post(verificationUri, { ...hiddenFields(page), user_code: userCode })
  const consent = await get(new URL(entered.headers.get("location") ?? "", auth.issuer))
  const answer = await post(`${auth.issuer}/consent`, { ...hiddenFields(await consent.text()), decision: "approve" })
  expect(answer.status).toBe(200)
}

const metadata = { grant_types: [deviceGrant, "refresh_token"], token_endpoint_auth_method: "none" }
const companies = new URL(`${issuer}/rest/companies`)
const host = { extras: ["example"], rateLimits: false } as const

test("oauth4webapi gets a device its tokens, bound to its key", () =>
  withHost(host, async (auth) => {
    const over = { [oauth.allowInsecureRequests]: true, [oauth.customFetch]: within(auth) } as const
    const found = await oauth.discoveryRequest(new URL(issuer), { ...over, algorithm: "oauth2" })
    const as = await oauth.processDiscoveryResponse(new URL(issuer), found)
    const client = await oauth.processDynamicClientRegistrationResponse(
      await oauth.dynamicClientRegistrationRequest(as, metadata, over)
    )
    const none = oauth.None()
    const told = await oauth.processDeviceAuthorizationResponse(
      as,
      client,
      await oauth.deviceAuthorizationRequest(as, client, none, new URLSearchParams({ scope: "api" }), over)
    )
    const DPoP = oauth.DPoP({}, await oauth.generateKeyPair("ES256"))
    const poll = async () =>
      oauth.processDeviceCodeResponse(
        as,
        client,
        await oauth.deviceCodeGrantRequest(as, client, none, told.device_code, { ...over, DPoP })
      )
    await expect(poll()).rejects.toMatchObject({ error: "authorization_pending" })
    await approve(auth, told.verification_uri, told.user_code)
    const tokens = await poll()
    expect(tokens.token_type).toBe("dpop")
    const called = await oauth.protectedResourceRequest(tokens.access_token, "GET", companies, undefined, undefined, {
      ...over,
      DPoP
    })
    expect(called.status).toBe(200)
  }))

test("openid-client gets a device its tokens, and refreshes them", () =>
  withHost(host, async (auth) => {
    const config = await openid.dynamicClientRegistration(new URL(issuer), metadata, openid.None(), {
      [openid.customFetch]: within(auth),
      algorithm: "oauth2",
      execute: [openid.allowInsecureRequests]
    })
    const told = await openid.initiateDeviceAuthorization(config, { scope: "api" })
    await approve(auth, told.verification_uri, told.user_code)
    const tokens = await openid.pollDeviceAuthorizationGrant(config, { ...told, interval: 0 })
    expect((await openid.fetchProtectedResource(config, tokens.access_token, companies, "GET")).status).toBe(200)
    const renewed = await openid.refreshTokenGrant(config, String(tokens.refresh_token))
    expect(renewed.scope).toBe("api")
  }))
