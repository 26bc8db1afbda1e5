import { describe, expect, test } from "bun:test"
import { Result, Schema } from "effect"
import { InvalidScope } from "../../core/rules/Refusal.ts"
import {
  allScopes,
  apiScopes,
  commonScopes,
  faultOfScopes,
  formatScopes,
  grantScopes,
  impliedBy,
  isWithin,
  narrowScopes,
  reaches,
  readScopes,
  ScopeDefinition,
  ScopeRegistry,
  Scopes,
  scopesWithoutUser,
  signInScopes,
  standardScopes,
  withSignIn
} from "../../core/rules/Scope.ts"
import { scopes } from "../grant/given.ts"

const all = allScopes(standardScopes)
const none = Result.fail(new InvalidScope({ reason: "none_to_be_had" }))

describe("the registry", () => {
  test("knows api and profile, and that profile speaks of a person", () => {
    expect(all).toEqual(scopes("api", "profile"))
    expect(scopesWithoutUser(standardScopes)).toEqual(scopes("api"))
  })

  test("of a server that signs people in tells what is about the API from what is about them", () => {
    expect(apiScopes(signInScopes)).toEqual(scopes("api", "profile"))
    expect(allScopes(signInScopes)).toEqual(scopes("api", "profile", "openid", "email", "address", "phone"))
    expect(scopesWithoutUser(signInScopes, ["api", "openid"])).toEqual(scopes("api"))
    expect(scopesWithoutUser(signInScopes, ["profile"])).toEqual(scopes())
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

  test("gives a part, and drops unknown names", () => {
    expect(narrowScopes(standardScopes, all, "profile")).toEqual(Result.succeed(scopes("profile")))
    expect(narrowScopes(standardScopes, all, "api nonsense")).toEqual(Result.succeed(scopes("api")))
  })

  test("refuses one more than was granted, and unknown names alone", () => {
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

describe("a sign-in beside what resources take", () => {
  test("is there where it was granted and they take something, in the registry's order, and once", () => {
    const named = (text: string) => Result.getOrThrow(readScopes(text))
    for (const [granted, taken, expected] of [
      ["api openid profile", "profile", "profile openid"],
      ["api openid", "api", "api openid"],
      ["api openid", "openid", "openid"],
      ["api openid", "", ""],
      ["api profile", "api", "api"]
    ] as const) {
      expect(withSignIn(signInScopes, named(granted), named(taken)).join(" ")).toBe(expected)
    }
  })
})

describe("scopes that imply others", () => {
  const scope = (name: string, implies: ReadonlyArray<string> = [], more: object = {}) => ({
    name,
    meaning: name,
    needsUser: false,
    byDefault: name === "api",
    implies,
    ...more
  })
  const rows = [
    scope("api", ["api:read", "files"]),
    scope("api:read"),
    scope("files", ["files:read"]),
    scope("files:read"),
    scope("other")
  ]
  const made = () => Schema.decodeUnknownSync(ScopeRegistry)(rows)
  const registry = made()
  const every = allScopes(registry)

  test("are found anew in each registry, and the second time as the first", () => {
    const fresh = made()
    for (let time = 0; time < 2; time++) {
      expect(reaches(fresh, ["api"], ["files:read"])).toBe(true)
      expect(reaches(fresh, ["api"], ["other"])).toBe(false)
      expect(impliedBy(fresh, ["api"])).toEqual(scopes("api:read", "files", "files:read"))
    }
    const plain = ScopeRegistry.make([...standardScopes])
    for (let time = 0; time < 2; time++) {
      expect([reaches(plain, ["api"], ["profile"]), impliedBy(plain, ["api"]).length]).toEqual([false, 0])
    }
  })

  test("are enough for what they imply, however many steps away, and not the other way round", () => {
    expect(reaches(registry, ["api"], ["api:read", "files:read"])).toBe(true)
    expect(reaches(registry, ["files"], ["files", "files:read"])).toBe(true)
    expect(reaches(registry, ["files:read", "api:read"], ["files"])).toBe(false)
    expect(reaches(registry, ["api:read", "files", "files:read"], ["api"])).toBe(false)
    expect(reaches(registry, ["api"], ["other"])).toBe(false)
    expect(reaches(registry, [], [])).toBe(true)
    // One of two is not enough, and an unknown name is enough for itself alone.
    expect(reaches(registry, ["files"], ["files:read", "other"])).toBe(false)
    expect(reaches(registry, ["unknown"], ["files"])).toBe(false)
    expect(reaches(registry, ["unknown", "files"], ["files:read", "unknown"])).toBe(true)
    expect(impliedBy(registry, ["files", "other"])).toEqual(scopes("files:read"))
    expect(impliedBy(standardScopes, ["api"])).toEqual(scopes())
  })

  test("are told as they were asked for", () => {
    expect(grantScopes(registry, every, "api")).toEqual(Result.succeed(scopes("api")))
    expect(grantScopes(registry, every, "files:read api")).toEqual(Result.succeed(scopes("api", "files:read")))
  })

  test("let a client that may have much have a part of it", () => {
    expect(grantScopes(registry, scopes("files"), "files:read")).toEqual(Result.succeed(scopes("files:read")))
    expect(grantScopes(registry, scopes("files:read"), "files")).toEqual(none)
  })

  test("may be narrowed to a part, and never widened to the whole", () => {
    expect(narrowScopes(registry, scopes("api"), "files:read")).toEqual(Result.succeed(scopes("files:read")))
    expect(narrowScopes(registry, scopes("files"), "files files:read")).toEqual(
      Result.succeed(scopes("files", "files:read"))
    )
    const wider = Result.fail(new InvalidScope({ reason: "wider_than_granted" }))
    expect(narrowScopes(registry, scopes("files:read"), "files")).toEqual(wider)
    // All that it implies is not it.
    expect(narrowScopes(registry, scopes("api:read", "files", "files:read"), "api")).toEqual(wider)
  })

  test("come to what a resource takes of them", () => {
    expect(commonScopes(registry, scopes("api", "other"), ["api"])).toEqual(scopes("api"))
    expect(commonScopes(registry, scopes("api"), ["files"])).toEqual(scopes("files"))
    expect(commonScopes(registry, scopes("api"), ["api:read", "files:read"])).toEqual(scopes("api:read", "files:read"))
    expect(commonScopes(registry, scopes("files", "files:read"), ["api"])).toEqual(scopes("files", "files:read"))
    expect(commonScopes(registry, scopes("other"), ["api"])).toEqual(scopes())
  })

  test.each([
    [[scope("a", ["b"])], "imply b"],
    [[scope("a", ["a"])], "imply itself"],
    [[scope("a", ["b"]), scope("b", ["c"]), scope("c", ["a"])], "imply itself"],
    [[scope("a", ["b"]), scope("b", [], { needsUser: true })], "needs no user"],
    [[scope("a"), scope("a")], "twice"],
    [[scope("offline_access")], "offline_access"]
  ])("cannot be %#", (rows, why) => {
    expect(faultOfScopes(Schema.decodeUnknownSync(Schema.Array(ScopeDefinition))(rows))).toContain(why)
    expect(() => Schema.decodeUnknownSync(ScopeRegistry)(rows)).toThrow()
  })
})

describe("offline_access", () => {
  test("is taken, means nothing, and is never granted", () => {
    expect(grantScopes(standardScopes, all, "offline_access")).toEqual(Result.succeed(scopes("api")))
    expect(grantScopes(standardScopes, all, "profile offline_access")).toEqual(Result.succeed(scopes("profile")))
    expect(narrowScopes(standardScopes, all, "offline_access")).toEqual(Result.succeed(all))
    expect(narrowScopes(standardScopes, all, "offline_access profile")).toEqual(Result.succeed(scopes("profile")))
    expect(narrowScopes(standardScopes, scopes("api"), "offline_access unheard-of")).toEqual(none)
  })
})
