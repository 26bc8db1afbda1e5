import { describe, expect, test } from "bun:test"
import { Schema } from "effect"
import { clientMember, type MemberStep, membersIn, membersTold } from "../../core/client/ClientMember.ts"
import {
  idTokenAlgorithmGiven,
  idTokenAlgorithmOf,
  logoutAddressOf,
  openIdMembers,
  userinfoAlgorithmOf
} from "../../core/client/openIdMembers.ts"
import { RedirectUri } from "../../core/rules/RedirectUri.ts"
import { ScopeRegistry } from "../../core/rules/Scope.ts"
import { client, policy } from "../grant/given.ts"

const scopes = Schema.decodeUnknownSync(ScopeRegistry)([
  { name: "api", meaning: "All", needsUser: false, byDefault: true },
  { name: "openid", meaning: "You", needsUser: true, byDefault: false }
])
const atSignIn = { ...policy, scopes }
const redirect_uris = ["https://app.example:8443/cb", "com.example.app:/cb", 7, "https://["]

const stepOf = (
  sent: Readonly<Record<string, unknown>>,
  over: Partial<MemberStep<unknown>> = {}
): Omit<MemberStep<unknown>, "kept"> => ({
  request: { redirect_uris, ...sent },
  grantTypes: [],
  method: "none",
  signs: false,
  by: "itself",
  policy: atSignIn,
  ...over
})

/** The rows that turn the request down, in words. */
const faultsOf = (sent: Readonly<Record<string, unknown>>, over: Partial<MemberStep<unknown>> = {}) =>
  openIdMembers.flatMap(({ fault, name }) => {
    const words = fault(stepOf(sent, over), undefined)
    expect(words).not.toBe("")
    return words === undefined ? [] : [name]
  })

const refused = [
  "frontchannel_logout_uri",
  "sector_identifier_uri",
  "request_uris",
  "id_token_encrypted_response_alg",
  "id_token_encrypted_response_enc",
  "userinfo_encrypted_response_alg",
  "userinfo_encrypted_response_enc",
  "request_object_encryption_alg",
  "request_object_encryption_enc"
]

describe("a member of OpenID Connect Registration", () => {
  const rows: ReadonlyArray<readonly [name: string, value: unknown, isTaken: boolean]> = [
    ...["id_token_signed_response_alg", "userinfo_signed_response_alg"].flatMap((name) => [
      ...["ES256", "RS256", "EdDSA"].map((value) => [name, value, true] as const),
      ...["none", "HS256", "PS256", "", "ES256 "].map((value) => [name, value, false] as const)
    ]),
    ["subject_type", "public", true],
    ["subject_type", "pairwise", false],
    ["subject_type", "", false],
    ...refused.flatMap((name) => [
      [name, "x", false] as const,
      [name, ["x"], false] as const,
      // It asks for nothing.
      [name, [], true] as const
    ]),
    ["backchannel_logout_uri", "https://app.example:8443/out", true],
    ["backchannel_logout_uri", "https://app.example/out", false],
    ["backchannel_logout_uri", "https://other.example:8443/out", false],
    ["backchannel_logout_uri", "https://ada@app.example:8443/out", false],
    ["backchannel_logout_uri", "https://:b@app.example:8443/out", false],
    ["backchannel_logout_uri", "https://[/", false]
  ]
  test.each(rows)("%s: %j", (name, value, isTaken) => {
    expect(faultsOf({ [name]: value })).toEqual(isTaken ? [] : [name])
    // Clients send it to every server; one without sign-ins refuses none of them for it.
    expect(faultsOf({ [name]: value }, { policy })).toEqual([])
  })

  test("refuses no client that does not send it", () => {
    expect(faultsOf({})).toEqual([])
  })

  test("may lead an owner's client to another host, and no client to an address that is none", () => {
    const by = { by: "owner" } as const
    expect(faultsOf({ backchannel_logout_uri: "https://other.example/out" }, by)).toEqual([])
    expect(faultsOf({ backchannel_logout_uri: "https://ada@other.example/out" }, by)).toEqual([
      "backchannel_logout_uri"
    ])
    // What stands behind a program's own scheme is a host that no person is sent to.
    const programs = ["com.example.app://app.example/", "cursor://app.example/oauth"]
    for (const uris of [undefined, "https://app.example/", [], [{ href: "https://app.example/" }], programs]) {
      const sent = { redirect_uris: uris, backchannel_logout_uri: "https://app.example/out" }
      expect(faultsOf(sent)).toEqual(["backchannel_logout_uri"])
    }
  })

  test("leads to no other host from a record either, that was written where the rule did not count", () => {
    const at = (address: string, uri: string, madeBy: "itself" | "owner" = "itself") =>
      logoutAddressOf(
        client({ madeBy, redirectUris: [RedirectUri.make(uri)], members: { backchannel_logout_uri: address } })
      )
    const [own, other] = ["https://app.example/out", "https://other.example/out"]
    expect(at(own, "https://app.example/cb")).toBe(own)
    expect(at(own, "com.example.app://app.example/cb")).toBeUndefined()
    expect(at(other, "https://app.example/cb")).toBeUndefined()
    expect(at(other, "https://app.example/cb", "owner")).toBe(other)
    expect(logoutAddressOf(client())).toBeUndefined()
  })

  const long = "x".repeat(2048 - "https://a.example/".length)
  const shapes: ReadonlyArray<readonly [name: string, value: unknown, isTaken: boolean]> = [
    ["default_max_age", 0, true],
    ["default_max_age", 3_155_760_000, true],
    ["default_max_age", 3_155_760_001, false],
    ["default_max_age", -1, false],
    ["default_max_age", 0.5, false],
    ["default_max_age", "1", false],
    ["require_auth_time", true, true],
    ["require_auth_time", "true", false],
    ["default_acr_values", Array(20).fill("x".repeat(256)), true],
    ["default_acr_values", Array(21).fill("x"), false],
    ["default_acr_values", ["x".repeat(257)], false],
    ["initiate_login_uri", `https://a.example/${long}`, true],
    ["initiate_login_uri", `https://a.example/${long}x`, false],
    ["initiate_login_uri", "http://a.example/", false],
    ["initiate_login_uri", "https://", false],
    ["initiate_login_uri", "https://a b", false],
    ["initiate_login_uri", 'https://a"b', false],
    ["initiate_login_uri", "see https://a.example", false],
    ["post_logout_redirect_uris", ["https://a.example/", "com.example.app:/out"], true],
    ["post_logout_redirect_uris", Array(20).fill("https://a.example/"), true],
    ["post_logout_redirect_uris", Array(21).fill("https://a.example/"), false],
    ["post_logout_redirect_uris", ["http://a.example/"], false],
    ["backchannel_logout_uri", `https://a.example/${long}`, true],
    ["backchannel_logout_uri", `https://a.example/${long}x`, false],
    ["backchannel_logout_uri", "http://a.example/", false],
    ["backchannel_logout_uri", "https://a.example/#x", false],
    ["backchannel_logout_uri", "see https://a.example/", false],
    ["backchannel_logout_session_required", false, true],
    ["backchannel_logout_session_required", "no", false],
    ["id_token_signed_response_alg", "x".repeat(32), true],
    ["id_token_signed_response_alg", "x".repeat(33), false],
    ["subject_type", "x".repeat(32), true],
    ["subject_type", "x".repeat(33), false]
  ]
  test.each(shapes)("has a shape: %s %j", (name, value, isTaken) => {
    const row = openIdMembers.find((one) => one.name === name)
    expect(row?.of({ members: { [name]: value } })).toEqual(isTaken ? value : undefined)
  })
})

test("what an ID token and userinfo are signed by is what the client asks for, as far as that is here", () => {
  const rows = [
    [{}, "RS256", "ES256", undefined],
    [{ id_token_signed_response_alg: "EdDSA" }, "EdDSA", "EdDSA", undefined],
    [{ id_token_signed_response_alg: "PS256", userinfo_signed_response_alg: "PS256" }, "RS256", "ES256", undefined],
    [{ userinfo_signed_response_alg: "RS256" }, "RS256", "ES256", "RS256"]
  ] as const
  for (const [members, own, owners, userinfo] of rows) {
    expect(idTokenAlgorithmOf(client({ members }), policy)).toBe(own)
    expect(idTokenAlgorithmOf(client({ members, madeBy: "owner" }), policy)).toBe(owners)
    expect(userinfoAlgorithmOf(client({ members }), policy)).toBe(userinfo)
  }
  // FAPI 2.0 §5.4.1.
  const strict = { ...policy, profile: "fapi2" } as const
  const told = (members: object, madeBy: "itself" | "owner" = "itself", over: object = atSignIn) =>
    idTokenAlgorithmGiven(client({ members: { ...members }, madeBy }), { ...policy, ...over })
  const es256 = { id_token_signed_response_alg: "ES256" } as const
  expect([told({}), told({}, "owner"), told(es256), told({}, "itself", { ...atSignIn, profile: "fapi2" })]).toEqual([
    {},
    es256,
    {},
    es256
  ])
  expect(told({}, "owner", policy)).toEqual({})
  expect(idTokenAlgorithmOf(client(), strict)).toBe("ES256")
  expect(userinfoAlgorithmOf(client({ members: { userinfo_signed_response_alg: "RS256" } }), strict)).toBe("ES256")
})

describe("a row of members", () => {
  const seen: Array<unknown> = []
  const colour = clientMember({
    name: "colour",
    schema: Schema.Literals(["red", "blue"]),
    fault: (value, { kept }) => {
      seen.push([value, kept])
      return value === "red" ? "Not red." : undefined
    }
  })
  const size = clientMember({ name: "size", schema: Schema.Int })

  test("is asked with what is sent and what there was, as far as each can be read", () => {
    const ask = (sent: object, before?: object) =>
      colour.fault(stepOf({ ...sent }), before === undefined ? undefined : { members: { ...before } })
    expect(ask({ colour: "red" })).toBe("Not red.")
    expect([ask({ colour: "blue" }, { colour: "red" }), ask({}, { colour: "green" }), ask({ colour: 7 })]).toEqual([
      undefined,
      undefined,
      undefined
    ])
    expect(colour.fault(stepOf({}), {})).toBeUndefined()
    expect(seen).toEqual([
      ["red", undefined],
      ["blue", "red"],
      [undefined, undefined],
      [undefined, undefined],
      [undefined, undefined]
    ])
    expect(size.fault(stepOf({ size: "x" }), undefined)).toBeUndefined()
  })

  test("is kept and told where it was sent", () => {
    const rows = [colour, size]
    expect(membersIn(rows, { colour: "blue", other: 1 })).toEqual({ colour: "blue" })
    expect(membersIn(rows, { other: 1 })).toBeUndefined()
    expect(membersTold(rows, { members: { colour: "green", size: 7, other: 1 } })).toEqual({ size: 7 })
    expect(Object.keys(membersTold(rows, { members: { size: 7 } }))).toEqual(["size"])
    expect(membersTold(rows, {})).toEqual({})
  })
})
