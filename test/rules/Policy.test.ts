import { describe, expect, test } from "bun:test"
import { Result, Schema } from "effect"
import { Policy, standardPolicy } from "../../core/rules/Policy.ts"
import { ScopeName, ScopeRegistry, standardScopes } from "../../core/rules/Scope.ts"

const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000]

describe("the standard policy", () => {
  test("is what the design says", () => {
    expect(standardPolicy).toEqual({
      codeTtl: 60 * second,
      accessTtl: hour,
      refreshIdleTtl: 30 * day,
      refreshMaxTtl: 180 * day,
      refreshGrace: 60 * second,
      pushedTtl: minute,
      devices: true,
      deviceTtl: 10 * minute,
      consentTtl: 15 * minute,
      unusedClientTtl: 30 * day,
      maxUnprovenClients: 100_000,
      registrationRows: "at_once",
      clientStaleness: 5 * second,
      requirePkce: false,
      profile: "standard",
      requirePush: false,
      consent: "ask",
      workspaceAccess: "owner",
      jwtAlgorithm: "ES256",
      dpop: "optional",
      dpopNonce: "off",
      scopes: [
        {
          name: ScopeName.make("api"),
          meaning: "Read and change data through the API",
          needsUser: false,
          byDefault: true
        },
        { name: ScopeName.make("profile"), meaning: "See your name and email", needsUser: true, byDefault: false }
      ]
    })
  })
})

describe("a policy", () => {
  const read = Schema.decodeUnknownResult(Policy)

  test("names every choice, in whole milliseconds that are not negative", () => {
    expect(read(standardPolicy)).toEqual(Result.succeed(standardPolicy))
    expect(Result.isSuccess(read({ ...standardPolicy, refreshGrace: 0 }))).toBe(true)
    for (const name of Object.keys(standardPolicy)) {
      const { [name]: _, ...rest }: Record<string, unknown> = standardPolicy
      expect([name, Result.isFailure(read(rest))]).toEqual([name, true])
      for (const odd of [-1, 0.5, "1", Number.NaN, []]) {
        expect([name, Result.isFailure(read({ ...standardPolicy, [name]: odd }))]).toEqual([name, true])
      }
    }
  })

  test("has a registry of at least one scope, each with its name, words and rules", () => {
    const registry = Schema.decodeUnknownResult(ScopeRegistry)
    const [api] = standardScopes
    expect(registry([api])).toEqual(Result.succeed([api]))
    for (const name of Object.keys(api)) {
      const { [name]: _, ...rest }: Record<string, unknown> = { ...api }
      expect([name, Result.isFailure(registry([rest]))]).toEqual([name, true])
    }
    for (const odd of [[], [{ ...api, meaning: "" }], [{ ...api, name: "a b" }], [{ ...api, needsUser: 1 }]]) {
      expect(Result.isFailure(registry(odd))).toBe(true)
    }
  })
})
