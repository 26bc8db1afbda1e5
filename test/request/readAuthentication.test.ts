import { describe, expect, test } from "bun:test"
import { Result } from "effect"
import type { AuthenticationAsked } from "../../core/grant/Authentication.ts"
import { readAuthentication } from "../../core/request/readAuthentication.ts"
import { claimScopes } from "../../core/rules/Claims.ts"
import type { Scopes } from "../../core/rules/Scope.ts"
import { client, scopes } from "../grant/given.ts"

type Sent = Parameters<typeof readAuthentication>[2]

const signIn = scopes("openid")

const read = (sent: Sent, scope: Scopes = signIn, members: Readonly<Record<string, unknown>> = {}) => {
  const widened: Array<ReadonlyArray<string>> = []
  const answer = readAuthentication(claimScopes, client({ members }), sent, scope, (names) => {
    widened.push(names)
    return scopes(...new Set([...scope, ...names]))
  })
  return { answer, widened }
}

const asked = (
  sent: Sent,
  scope?: Scopes,
  members?: Readonly<Record<string, unknown>>
): AuthenticationAsked | undefined => Result.getOrThrow(read(sent, scope, members).answer).signIn

const usual = { default_max_age: 60, require_auth_time: true, default_acr_values: ["a", "b"] }

describe("what a request asks about the sign-in (OpenID Connect Core §3.1.2.1, RFC 9470 §4)", () => {
  const rows: ReadonlyArray<readonly [string, Sent, AuthenticationAsked | undefined]> = [
    ["nothing", {}, undefined],
    ["an age", { max_age: "0" }, { maxAge: 0 }],
    ["a strength", { acr_values: " b  a " }, { acr: ["b", "a"] }],
    ["no strength at all", { acr_values: " " }, undefined],
    ["a person", { login_hint: "ada@example.com" }, { loginHint: "ada@example.com" }],
    ["a nonce", { nonce: "n" }, { nonce: "n" }],
    ["to act while they are away", { scope: "openid offline_access" }, { offline: true }],
    ["no such thing", { scope: "openid offline_accesss" }, undefined],
    ["a claim about it", { claims: '{"id_token":{"auth_time":null,"other":null}}' }, { claims: ["auth_time"] }],
    ["a person by a claim", { claims: '{"id_token":{"sub":{"value":"u"}}}' }, { sub: "u" }],
    [
      "a strength that has to be, before one that is wished",
      { claims: '{"id_token":{"acr":{"essential":true,"values":["x"]}}}', acr_values: "y" },
      { acr: ["x"], acrRequired: true, claims: ["acr"] }
    ]
  ]
  for (const [what, sent, expected] of rows) test(what, () => expect<unknown>(asked(sent)).toStrictEqual(expected))

  test("and what its client asks each time, where the request says nothing else", () => {
    expect(asked({}, signIn, usual)).toStrictEqual({ maxAge: 60, acr: ["a", "b"], claims: ["auth_time"] })
    expect(asked({ max_age: "5", acr_values: "c" }, signIn, usual)).toStrictEqual({
      maxAge: 5,
      acr: ["c"],
      claims: ["auth_time"]
    })
    expect(asked({}, signIn, { require_auth_time: false })).toBeUndefined()
  })

  test("of a request that signs no person in, only age and strength and who it may be", () => {
    const sent = { max_age: "5", acr_values: "c", login_hint: "a", nonce: "n", scope: "api offline_access" }
    // RFC 9470 §5: there the strength has to be.
    const strong = { acr: ["c"], acrRequired: true }
    expect(asked(sent, scopes("api"), usual)).toStrictEqual({ maxAge: 5, ...strong, loginHint: "a" })
    expect(asked({ acr_values: " " }, scopes("api"))).toBeUndefined()
    expect(asked({}, scopes("api"), usual)).toBeUndefined()
    // Nor are its claims read.
    expect(asked({ claims: "no JSON" }, scopes("api"))).toBeUndefined()
  })
})

describe("claims that are asked for by their names", () => {
  test("bring the scopes that cover them, and are told where those are had", () => {
    const claims = '{"userinfo":{"phone_number":null},"id_token":{"email":null,"nothing":null}}'
    const { answer, widened } = read({ claims })
    expect(widened).toEqual([["email", "phone"]])
    expect(answer).toEqual(Result.succeed({ scope: scopes("openid", "email", "phone"), signIn: { claims: ["email"] } }))
    const none = readAuthentication(claimScopes, client(), { claims }, signIn, () => signIn)
    expect(none).toEqual(Result.succeed({ scope: signIn, signIn: undefined }))
  })

  test("of no scope widen nothing", () => {
    const { answer, widened } = read({ claims: '{"id_token":{"nothing":null}}' })
    expect([widened, answer]).toEqual([[], Result.succeed({ scope: signIn, signIn: undefined })])
  })

  test("are refused where they are none", () => {
    for (const claims of ["", "no JSON", "[]", '{"userinfo":7}']) {
      const { answer } = read({ claims })
      expect(Result.mapError(answer, ({ reason }) => reason)).toEqual(Result.fail("malformed_parameter"))
    }
  })
})
