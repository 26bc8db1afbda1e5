import { describe, expect, test } from "bun:test"
import {
  brokenRules,
  deviceGrant,
  leastProfile,
  needsChallenge,
  needsPush,
  profileOf
} from "../../core/client/Profile.ts"
import { client, policy } from "../grant/given.ts"

const strict = { security_profile: "fapi2" } as const
const everywhere = { ...policy, profile: "fapi2" } as const

describe("a profile", () => {
  test("is the stricter one of the client's and the server's", () => {
    const rows = [
      [client(), policy, "standard"],
      [client({ members: strict }), policy, "fapi2"],
      [client(), everywhere, "fapi2"],
      [client({ members: { security_profile: "standard" } }), everywhere, "fapi2"],
      [client({ members: { security_profile: "of a later release" } }), policy, "standard"]
    ] as const
    for (const [of, by, name] of rows) expect(profileOf(of, by).name).toBe(name)
    expect(leastProfile(everywhere).name).toBe("fapi2")
  })

  test("asks for what the client or the server asks for by itself too", () => {
    const pushes = client({ members: { require_pushed_authorization_requests: true } })
    expect([client(), pushes, client({ members: strict })].map((one) => needsPush(one, policy))).toEqual([
      false,
      true,
      true
    ])
    expect(needsPush(client(), { ...policy, requirePush: true })).toBe(true)
    expect(needsChallenge(client({ members: strict }), { ...policy, requirePkce: false })).toBe(true)
  })

  const good = {
    method: "private_key_jwt",
    redirectUris: ["https://app.example/cb"],
    members: { token_endpoint_auth_signing_alg: "PS256" }
  }
  const rsa = { kty: "RSA", n: "A".repeat(342), e: "AQAB" }
  const broken: ReadonlyArray<readonly [string, object, number]> = [
    ["nothing", {}, 0],
    ["no algorithm said", { members: {} }, 0],
    ["a secret", { method: "client_secret_basic" }, 1],
    ["no authentication", { method: "none" }, 1],
    ["RS256", { members: { token_endpoint_auth_signing_alg: "RS256" } }, 1],
    ["a key for RS256 alone", { members: { jwks: { keys: [{ ...rsa, alg: "RS256" }] } } }, 1],
    ["a key for both", { members: { jwks: { keys: [rsa] } } }, 0],
    ["http on loopback", { redirectUris: ["https://app.example/cb", "http://127.0.0.1/cb"] }, 1],
    ["a scheme of its own", { redirectUris: ["com.example.app:/cb"] }, 1],
    ["codes for devices", { members: { grant_types: ["authorization_code", deviceGrant] } }, 1],
    ["two at once", { method: "none", redirectUris: ["http://[::1]/cb"] }, 2]
  ]
  test.each(broken)("fapi2 is broken by %s", (_, over, count) => {
    expect(brokenRules(leastProfile(everywhere), { ...good, ...over })).toHaveLength(count)
    expect(brokenRules(leastProfile(policy), { ...good, ...over })).toEqual([])
  })
})
