import { describe, expect, test } from "bun:test"
import {
  type Authentication,
  type AuthenticationAsked,
  authenticationOf,
  isTooOld,
  isTooWeak,
  sidOf
} from "../../core/grant/Authentication.ts"
import { Issuer } from "../../core/workspace/Workspace.ts"
import { after, me, scopes, stranger, t0 } from "./given.ts"

const issuer = Issuer.make("https://auth.example.com")
const client = me.client.id
const whole = { session: "a session", authenticatedAt: t0, acr: "2", amr: ["pwd", "otp"] }
const bare = { session: "a session" }
const sid = sidOf(issuer, client, "a session")

const told = (asked: AuthenticationAsked | undefined, session: typeof whole | typeof bare, scope = scopes("openid")) =>
  authenticationOf(
    issuer,
    { client, scope, ...(asked === undefined ? {} : { signIn: asked }) },
    session,
    (claim) => claim === "email"
  )

describe("what a client is told of a sign-in", () => {
  const rows: ReadonlyArray<readonly [AuthenticationAsked | undefined, Authentication]> = [
    [undefined, {}],
    [{}, {}],
    [{ nonce: "n" }, { nonce: "n" }],
    [{ maxAge: 0 }, { at: t0 }],
    [{ claims: ["auth_time"] }, { at: t0 }],
    [{ acr: ["3"] }, { acr: "2" }],
    [{ claims: ["acr"] }, { acr: "2" }],
    [{ claims: ["amr"] }, { amr: ["pwd", "otp"] }],
    [{ offline: true }, { offline: true }],
    [{ claims: ["name"] }, {}],
    [
      { claims: ["name", "email", "acr", "auth_time", "amr"] },
      { at: t0, acr: "2", amr: ["pwd", "otp"], claims: ["email"] }
    ]
  ]

  test.each(rows)("is what was asked, and of nothing that the host does not tell: %j", (asked, expected) => {
    expect(told(asked, whole)).toEqual({ sid, ...expected })
    const { acr: _acr, amr: _amr, at: _at, ...known } = expected
    const without = told(asked, bare)
    expect(without).toEqual({ sid, ...known })
    expect(Object.values(without ?? {})).not.toContain(undefined)
  })

  test("is its strength and time alone, without openid, and nothing where neither was asked", () => {
    const api = scopes("api")
    expect(told({ maxAge: 5 }, whole, api)).toEqual({ at: t0 })
    expect(told({ acr: ["3"] }, whole, api)).toEqual({ acr: "2" })
    for (const asked of [undefined, {}, { nonce: "n" }, { offline: true }, { claims: ["acr", "email"] }] as const) {
      expect(told(asked, whole, api)).toBeUndefined()
    }
    expect(told({ maxAge: 5, offline: true }, whole, api)).toEqual({ at: t0 })
  })

  test("names the session as a release named it, to this client of this issuer alone", () => {
    expect(String(sid)).toBe("Hv8l5qnREcAdx1LfYSVqyVpfVztvEZfAXFaiZNrkJbs")
    const other = Issuer.make("https://other.example.com")
    const names = [sid, sidOf(other, client, "a session"), sidOf(issuer, client, "another")]
    expect(new Set([...names, sidOf(issuer, stranger.client.id, "a session")]).size).toBe(4)
  })
})

describe("a session", () => {
  test("is too old a moment after what was asked, always for 0, and where the host tells no time", () => {
    const asked = { maxAge: 10 }
    expect([9_999, 10_000, 10_001].map((millis) => isTooOld(asked, whole, after(millis)))).toEqual([false, false, true])
    expect([isTooOld({ maxAge: 0 }, whole, t0), isTooOld(asked, bare, t0), isTooOld({}, bare, t0)]).toEqual([
      true,
      true,
      false
    ])
  })

  test("is too weak where it has none of the strengths that do", () => {
    const weak = [["1"], ["1", "3"], []].map((acr) => isTooWeak({ acr }, whole))
    const strong = [["2"], ["1", "2"]].map((acr) => isTooWeak({ acr }, whole))
    expect([weak, strong, isTooWeak({ acr: ["2"] }, bare), isTooWeak({}, bare)]).toEqual([
      [true, true, true],
      [false, false],
      true,
      false
    ])
  })
})
