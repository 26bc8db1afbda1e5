import { describe, expect, test } from "bun:test"
import {
  type ClaimScope,
  claimScopes,
  claimsWithin,
  isStandardClaim,
  readClaims,
  scopesOfClaims,
  toldClaims
} from "../../core/rules/Claims.ts"

const own: ReadonlyArray<ClaimScope> = [...claimScopes, { scope: "team", claims: ["team", "name"] }]

/** Every claim of the rows, and one that none has. */
const all = [...new Set(own.flatMap(({ claims }) => claims)), "sub"]

describe("what scopes let an application learn (OpenID Connect Core §5.4)", () => {
  const within = (...scope: ReadonlyArray<string>) => all.filter(claimsWithin(own, scope))
  const email = ["email", "email_verified"]
  const phone = ["phone_number", "phone_number_verified"]
  const profile = all.filter((claim) => ![...email, ...phone, "address", "team", "sub"].includes(claim))

  test("is what they cover, of a grant that signs in", () => {
    const rows: ReadonlyArray<readonly [ReadonlyArray<string>, ReadonlyArray<string>]> = [
      [[], []],
      [["openid"], []],
      [["api"], []],
      [["openid", "email"], email],
      [["openid", "phone"], phone],
      [["openid", "address"], ["address"]],
      [["openid", "profile"], profile],
      [
        ["team", "openid", "email"],
        [...email, "team", "name"]
      ]
    ]
    for (const [scope, claims] of rows) expect([scope, within(...scope).toSorted()]).toEqual([scope, claims.toSorted()])
    expect(profile).toHaveLength(14)
  })

  test("is a name and an email, of a grant that does not", () => {
    const plainly = ["name", "email", "email_verified", "picture"].toSorted()
    expect(within("profile").toSorted()).toEqual(plainly)
    expect(within("email")).toEqual(email)
    expect(within("profile", "phone").toSorted()).toEqual([...plainly, ...phone].toSorted())
  })

  test("is what all rows of a scope cover", () => {
    const twice = [...claimScopes, { scope: "email", claims: ["team"] }]
    expect(["email", "team", "address"].filter(claimsWithin(twice, ["openid", "email"]))).toEqual(["email", "team"])
    expect(["email", "team", "address"].filter(claimsWithin(twice, ["email"]))).toEqual(["email", "team"])
  })

  test("is found from the claims too", () => {
    expect(scopesOfClaims(own, [])).toEqual([])
    expect(scopesOfClaims(own, ["sub", "nothing"])).toEqual([])
    expect(scopesOfClaims(own, ["email_verified"])).toEqual(["email"])
    expect(scopesOfClaims(own, ["name", "address"])).toEqual(["profile", "address", "team"])
  })
})

test("of what is known, what may be told is told, and nothing that is not known", () => {
  const known = { name: "Ada", email: undefined, address: null, sub: "1", updated_at: 0 }
  expect(toldClaims(known, () => true)).toStrictEqual({ name: "Ada", address: null, sub: "1", updated_at: 0 })
  expect(toldClaims(known, (claim) => claim === "name" || claim === "email")).toStrictEqual({ name: "Ada", sub: "1" })
  expect(toldClaims(known, () => false)).toStrictEqual({ sub: "1" })
})

test("what a host adds is told as its rows say, and replaces neither a standard claim nor whom it is about", () => {
  const more = { sub: "2", name: "Grace", team: "blue", more: "text" }
  const known = { sub: "1", name: "Ada", more }
  expect(toldClaims(known, () => true)).toStrictEqual({ sub: "1", name: "Ada", team: "blue", more: "text" })
  expect(toldClaims(known, (claim) => claim === "more")).toStrictEqual({ sub: "1", more: "text" })
  expect(toldClaims({ sub: "1", more }, (claim) => claim !== "team")).toStrictEqual({
    sub: "1",
    name: "Grace",
    more: "text"
  })
})

test("what a host knows nothing of is told of neither kind of claim, and a standard one withholds one of its name", () => {
  const known = { sub: "1", name: undefined, more: { name: "Grace", team: undefined } }
  expect(toldClaims(known, () => true)).toStrictEqual({ sub: "1" })
})

test("a claim is one of the standard's, whatever else objects have", () => {
  for (const claim of all) expect([claim, isStandardClaim(claim)]).toEqual([claim, claim !== "team" && claim !== "sub"])
  for (const other of ["", "Name", "constructor", "toString", "__proto__"]) expect(isStandardClaim(other)).toBe(false)
})

describe("the claims of a request (OpenID Connect Core §5.5)", () => {
  const nothing = { userinfo: [], idToken: [], sub: undefined, acr: undefined }
  const read = (value: unknown) => readClaims(JSON.stringify(value))

  test("are named by place", () => {
    expect(read({})).toEqual(nothing)
    expect(read({ userinfo: { name: null, email: { essential: true } }, id_token: { acr: null }, other: 7 })).toEqual({
      ...nothing,
      userinfo: ["name", "email"],
      idToken: ["acr"]
    })
  })

  test("ask for a person by a value or for any of several, the ID token's before the userinfo's", () => {
    const rows: ReadonlyArray<readonly [object, string | ReadonlyArray<string> | undefined]> = [
      [{ id_token: { sub: { value: "a" } } }, "a"],
      [{ id_token: { sub: { values: ["a", "b"] } } }, ["a", "b"]],
      [{ id_token: { sub: { value: "c", values: ["a", "b"] } } }, ["a", "b"]],
      [{ id_token: { sub: { value: 7, values: [] } } }, undefined],
      [{ id_token: { sub: { values: [7, null, "b"] } } }, "b"],
      [{ id_token: { sub: { value: 7 } } }, undefined],
      [{ id_token: { sub: null } }, undefined],
      [{ id_token: { sub: {} } }, undefined],
      [{ userinfo: { sub: { value: "u" } } }, "u"],
      [{ userinfo: { sub: { value: "u" } }, id_token: { sub: { value: "a" } } }, "a"],
      [{ userinfo: { sub: { value: "u" } }, id_token: { sub: null } }, "u"]
    ]
    for (const [asked, sub] of rows) expect([asked, read(asked)?.sub]).toEqual([asked, sub])
  })

  test("ask for a strength where that is essential and there is one", () => {
    const rows: ReadonlyArray<readonly [unknown, ReadonlyArray<string> | undefined]> = [
      [{ essential: true, values: ["a", 7, "b"] }, ["a", "b"]],
      [{ essential: true, value: "a" }, ["a"]],
      [{ essential: false, value: "a" }, undefined],
      [{ value: "a" }, undefined],
      [{ essential: true }, undefined],
      [{ essential: true, values: [] }, undefined],
      [{ essential: true, values: [7] }, undefined],
      [null, undefined]
    ]
    for (const [acr, strengths] of rows) {
      expect([acr, read({ id_token: { acr } })?.acr]).toEqual([acr, strengths])
      expect(read({ userinfo: { acr } })?.acr).toBeUndefined()
    }
    expect(read({})?.acr).toBeUndefined()
  })

  test("are none where the text is none of theirs", () => {
    for (const odd of ["", "x", "7", "null", "[]", "{"]) expect([odd, readClaims(odd)]).toEqual([odd, undefined])
    for (const odd of [
      { userinfo: null },
      { userinfo: [] },
      { id_token: "sub" },
      { id_token: { sub: "a" } },
      { id_token: { sub: { essential: "yes" } } },
      { userinfo: { name: { values: "a" } } }
    ]) {
      expect([odd, read(odd)]).toEqual([odd, undefined])
    }
  })
})
