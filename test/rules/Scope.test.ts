import { describe, expect, test } from "bun:test"
import { Result, Schema } from "effect"
import { InvalidScope } from "../../core/rules/Refusal.ts"
import {
  allScopes,
  formatScopes,
  grantScopes,
  isWithin,
  narrowScopes,
  readScopes,
  ScopeRegistry,
  Scopes,
  scopesWithoutUser,
  standardScopes
} from "../../core/rules/Scope.ts"
import { scopes } from "../grant/given.ts"

const all = allScopes(standardScopes)
const none = Result.fail(new InvalidScope({ reason: "none_to_be_had" }))

describe("the registry", () => {
  test("knows api and profile, and that profile speaks of a person", () => {
    expect(all).toEqual(scopes("api", "profile"))
    expect(scopesWithoutUser(standardScopes)).toEqual(scopes("api"))
  })

  test("can be another, with other defaults", () => {
    const registry = ScopeRegistry.make([
      { ...standardScopes[0], byDefault: false },
      { name: scopes("read")[0] ?? standardScopes[0].name, meaning: "Read", needsUser: false, byDefault: true }
    ])
    expect(grantScopes(registry, allScopes(registry), undefined)).toEqual(Result.succeed(scopes("read")))
  })
})

describe("what a client gets for what it asks", () => {
  const cases: ReadonlyArray<readonly [asked: string | undefined, granted: ReadonlyArray<string>]> = [
    [undefined, ["api"]],
    ["", ["api"]],
    ["   ", ["api"]],
    ["api", ["api"]],
    ["profile", ["profile"]],
    ["profile api", ["api", "profile"]],
    ["api api  api", ["api"]],
    ["api offline_access", ["api"]],
    ["openid profile email", ["profile"]]
  ]
  for (const [asked, granted] of cases) {
    test(`${JSON.stringify(asked)} → ${granted.join(" ")}`, () => {
      expect(grantScopes(standardScopes, all, asked)).toEqual(Result.succeed(scopes(...granted)))
    })
  }

  test("nothing but names that are not to be had is refused", () => {
    for (const asked of ["openid", "API", "apis", "profile"]) {
      expect(grantScopes(standardScopes, scopes("api"), asked)).toEqual(none)
    }
    expect(grantScopes(standardScopes, scopes("profile"), undefined)).toEqual(none)
  })
})

describe("narrowing (RFC 6749 §6)", () => {
  test("gives what was granted where nothing is asked", () => {
    for (const asked of [undefined, "", " "]) {
      expect(narrowScopes(standardScopes, scopes("profile"), asked)).toEqual(Result.succeed(scopes("profile")))
    }
  })

  test("gives a part, and drops names nobody knows", () => {
    expect(narrowScopes(standardScopes, all, "profile")).toEqual(Result.succeed(scopes("profile")))
    expect(narrowScopes(standardScopes, all, "api nonsense")).toEqual(Result.succeed(scopes("api")))
  })

  test("refuses one more than was granted, and names nobody knows alone", () => {
    const wider = Result.fail(new InvalidScope({ reason: "wider_than_granted" }))
    expect(narrowScopes(standardScopes, scopes("api"), "api profile")).toEqual(wider)
    expect(narrowScopes(standardScopes, scopes("api"), "nonsense")).toEqual(none)
  })
})

describe("scopes as text", () => {
  test("go out and come back", () => {
    expect(formatScopes(all)).toBe("api profile")
    expect(readScopes("api profile")).toEqual(Result.succeed(all))
  })

  test("come back only as distinct names of allowed characters", () => {
    for (const bad of ["api api", 'a"b', "a\\b", "ä", "x".repeat(65)])
      expect(Result.isFailure(readScopes(bad))).toBe(true)
    expect(Schema.is(Scopes)(["api", "api"])).toBe(false)
    expect(Schema.is(Scopes)(["x".repeat(64)])).toBe(true)
  })

  test("are within one another, or not", () => {
    expect(isWithin(["api"], all)).toBe(true)
    expect(isWithin([], all)).toBe(true)
    expect(isWithin(["api", "other"], all)).toBe(false)
  })
})
