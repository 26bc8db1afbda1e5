import { describe, expect, test } from "bun:test"
import type { MemberStep } from "../../core/client/ClientMember.ts"
import {
  bindsAll,
  brokenRules,
  deviceGrant,
  leastProfile,
  needsChallenge,
  needsProof,
  needsPush,
  needsSignedRequest,
  profileOf,
  profilesFor,
  redirectTargetOf,
  requireSignedRequests,
  securityProfile,
  signedFor
} from "../../core/client/Profile.ts"
import { RedirectUri } from "../../core/rules/RedirectUri.ts"
import { digestOf } from "../../core/rules/Secret.ts"
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

  const secretive = { credential: { _tag: "Secret", digest: digestOf(""), method: "client_secret_basic" } } as const
  const asks: ReadonlyArray<
    readonly [what: string, members: object | undefined, rules: object, asked: ReadonlyArray<string>]
  > = [
    ["nothing", undefined, {}, []],
    ["members that ask for nothing", { dpop_bound_access_tokens: false, require_signed_request_object: false }, {}, []],
    ["what a later release has", { dpop_bound_access_tokens: "yes", security_profile: "fapi3" }, {}, []],
    ["its profile", strict, {}, ["challenge", "push", "proof"]],
    ["pushed requests", { require_pushed_authorization_requests: true }, {}, ["push"]],
    ["signed requests, which are pushed", { require_signed_request_object: true }, {}, ["push", "signed"]],
    ["keys for its tokens", { dpop_bound_access_tokens: true }, {}, ["proof"]],
    ["PKCE, of all", undefined, { requirePkce: true }, ["challenge"]],
    ["pushed requests, of all", undefined, { requirePush: true }, ["push"]],
    ["keys, of all", undefined, { dpop: "required" }, ["proof", "all"]],
    ["a profile, of all", undefined, { profile: "fapi2" }, ["challenge", "push", "proof", "all"]]
  ]
  test.each(asks)("asks for what the client or the server does: %s", (_, members, rules, asked) => {
    const by = { ...policy, requirePkce: false, ...rules }
    const of = client({ ...secretive, ...(members && { members: { ...members } }) })
    expect([
      ...(needsChallenge(of, by) ? ["challenge"] : []),
      ...(needsPush(of, by) ? ["push"] : []),
      ...(needsSignedRequest(of) ? ["signed"] : []),
      ...(needsProof(of, by) ? ["proof"] : []),
      ...(bindsAll(by) ? ["all"] : [])
    ]).toEqual([...asked])
    expect(needsChallenge(client(), by)).toBe(true)
  })

  test("is offered where it makes a difference, and says what the server signs by", () => {
    expect([policy, everywhere].map((by) => profilesFor(by).map(({ name }) => name))).toEqual([
      ["standard", "fapi2"],
      ["fapi2"]
    ])
    const signs = (["RS256", "PS256", "ES256", "EdDSA"] as const).map((algorithm) => [
      signedFor(client(), policy, algorithm),
      signedFor(client({ members: strict }), policy, algorithm)
    ])
    expect(signs).toEqual([
      ["RS256", "ES256"],
      ["PS256", "PS256"],
      ["ES256", "ES256"],
      ["EdDSA", "EdDSA"]
    ])
  })

  test("sends a browser to addresses that it lets a client register, whenever that was", () => {
    const own = ["com.example.app:/cb", "com.example.app:/?at=https://app.example"]
    const uris = ["https://app.example/cb", "http://127.0.0.1/cb", ...own]
    const redirectUris = uris.map((uri) => RedirectUri.make(uri))
    const all = [...uris, "http://127.0.0.1:4711/cb", "https://evil.example/cb"]
    const targets = (of: object, by: Parameters<typeof redirectTargetOf>[1]) =>
      all.filter((uri) => redirectTargetOf(client({ ...of, redirectUris }), by, uri) === uri)
    expect(targets({}, policy)).toEqual(all.slice(0, 5))
    for (const target of [targets({ members: strict }, policy), targets({}, everywhere)]) {
      expect(target).toEqual(all.slice(0, 1))
    }
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
    ["requests by RS256", { members: { request_object_signing_alg: "RS256" } }, 1],
    ["requests by PS256", { members: { request_object_signing_alg: "PS256" } }, 0],
    ["a key for RS256 alone", { members: { jwks: { keys: [{ ...rsa, alg: "RS256" }] } } }, 1],
    ["a key for both", { members: { jwks: { keys: [rsa] } } }, 0],
    [
      "one key of two",
      {
        members: {
          jwks: {
            keys: [
              { ...rsa, alg: "RS256" },
              { ...rsa, alg: "PS256" }
            ]
          }
        }
      },
      0
    ],
    ["keys elsewhere", { members: { jwks_uri: "https://app.example/keys" } }, 0],
    ["ID tokens by RS256", { members: { id_token_signed_response_alg: "RS256" } }, 1],
    ["ID tokens by another name", { members: { id_token_signed_response_alg: "Ed25519" } }, 0],
    ["ID tokens by what nobody knows", { members: { id_token_signed_response_alg: "none" } }, 0],
    ["userinfo by RS256", { members: { userinfo_signed_response_alg: "RS256" } }, 1],
    ["both by ES256", { members: { id_token_signed_response_alg: "ES256", userinfo_signed_response_alg: "ES256" } }, 0],
    ["http on loopback", { redirectUris: ["https://app.example/cb", "http://127.0.0.1/cb"] }, 1],
    ["a scheme of its own", { redirectUris: ["com.example.app:/cb"] }, 1],
    ["a scheme of its own, with https in it", { redirectUris: ["com.example.app:/?at=https://app.example"] }, 1],
    ["https in capitals", { redirectUris: ["HTTPS://app.example/cb"] }, 0],
    ["other grant types", { members: { grant_types: ["authorization_code"] } }, 0],
    ["codes for devices", { members: { grant_types: ["authorization_code", deviceGrant] } }, 1],
    ["two at once", { method: "none", redirectUris: ["http://[::1]/cb"] }, 2]
  ]
  test.each(broken)("fapi2 is broken by %s", (_, over, count) => {
    const rules = brokenRules(leastProfile(everywhere), { ...good, ...over })
    // Each in words, for the client that registers.
    expect(rules.map((words) => words !== "")).toEqual(Array(count).fill(true))
    expect(brokenRules(leastProfile(policy), { ...good, ...over })).toEqual([])
  })
})

describe("a member of registration that a profile has a say in", () => {
  const fapi = { security_profile: "fapi2", redirect_uris: ["https://app.example/cb"] }
  interface Row {
    readonly by?: "owner"
    readonly method?: string
    readonly kept?: string
    readonly rules?: object
    readonly sent: Readonly<Record<string, unknown>>
  }
  const stepOf = ({ by, method = "private_key_jwt", rules, sent }: Row): Omit<MemberStep<unknown>, "kept"> => ({
    request: sent,
    grantTypes: [],
    method,
    signs: method === "private_key_jwt",
    by: by ?? "itself",
    policy: { ...policy, ...rules }
  })
  const before = (kept: string | undefined) =>
    kept === undefined ? undefined : { members: { security_profile: kept } }

  const profiles: ReadonlyArray<readonly [string, Row, boolean]> = [
    ["none", { sent: {} }, true],
    ["the usual one", { sent: { security_profile: "standard" } }, true],
    ["the strict one, kept to", { sent: fapi }, true],
    ["the strict one, broken", { method: "client_secret_basic", sent: fapi }, false],
    ["the strict one, and no redirects", { sent: { security_profile: "fapi2" } }, true],
    ["the strict one, of redirects that are no list", { sent: { ...fapi, redirect_uris: "x" } }, true],
    ["the server's, broken", { method: "none", rules: { profile: "fapi2" }, sent: {} }, false],
    ["a looser one than before", { kept: "fapi2", sent: { security_profile: "standard" } }, false],
    ["none where there was one", { kept: "fapi2", sent: {} }, false],
    ["a looser one, by an owner", { by: "owner", kept: "fapi2", sent: { security_profile: "standard" } }, true],
    ["none, by an owner", { by: "owner", kept: "fapi2", sent: {} }, true],
    ["the same as before", { kept: "fapi2", sent: fapi }, true],
    ["a stricter one than before", { kept: "standard", sent: fapi }, true],
    ["the strict one, broken, by an owner", { by: "owner", method: "none", sent: fapi }, false]
  ]
  test.each(profiles)("its profile: %s", (_, row, isTaken) => {
    const fault = securityProfile.fault(stepOf(row), before(row.kept))
    expect(fault === undefined).toBe(isTaken)
    expect(fault).not.toBe("")
  })

  const keyed = "private_key_jwt"
  test.each([
    [{ require_signed_request_object: true }, keyed, false],
    [{ require_signed_request_object: true, jwks: { keys: [] } }, keyed, true],
    [{ require_signed_request_object: true, jwks_uri: "https://app.example/keys" }, keyed, true],
    // What no method keeps verifies nothing.
    [{ require_signed_request_object: true, jwks: { keys: [] } }, "client_secret_basic", false],
    [{ require_signed_request_object: false }, "client_secret_basic", true],
    [{}, keyed, true]
  ] as const)("signed requests, of a client with keys: %j by %s", (sent, method, isTaken) => {
    expect(requireSignedRequests.fault(stepOf({ sent, method }), undefined) === undefined).toBe(isTaken)
  })

  test.each([
    [{ request_object_signing_alg: "RS256" }, {}, true],
    [{ request_object_signing_alg: "RS256", security_profile: "fapi2" }, {}, false],
    [{ request_object_signing_alg: "PS256", security_profile: "fapi2" }, {}, true],
    [{ request_object_signing_alg: "RS256" }, { profile: "fapi2" }, false],
    [{ security_profile: "fapi2" }, {}, true]
  ] as const)("the algorithm of requests: %j, of a server with %j", (sent, rules, isTaken) => {
    const fault = securityProfile.fault(stepOf({ sent, rules }), undefined)
    expect(fault === undefined).toBe(isTaken)
    expect(fault).not.toBe("")
  })
})
