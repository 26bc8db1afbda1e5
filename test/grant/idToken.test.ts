import { expect, test } from "bun:test"
import { createHash } from "node:crypto"
import { halfHash, idTokenClaims } from "../../core/grant/idToken.ts"
import { tokensOf } from "../../core/grant/issue.ts"
import { ClientId, UserId } from "../../core/rules/Id.ts"
import { Issuer } from "../../core/workspace/Workspace.ts"
import { active, after, fresh, me, policy, scopes, sentBy, t0 } from "./given.ts"

const half = (algorithm: string, text: string) => {
  const hash = createHash(algorithm).update(text).digest()
  return hash.subarray(0, hash.length / 2).toString("base64url")
}

test("what stands beside an ID token is known by half of the hash that its signature is made with", () => {
  expect(halfHash("tsr_at_x", "ES256")).toBe(half("sha256", "tsr_at_x"))
  expect(halfHash("tsr_at_x", "RS256")).toBe(half("sha256", "tsr_at_x"))
  for (const algorithm of ["EdDSA", "Ed25519"] as const) {
    expect(halfHash("tsr_at_x", algorithm)).toBe(half("sha512", "tsr_at_x"))
  }
})

const issuer = Issuer.make("https://auth.example.com")
const client = ClientId.make("c".repeat(22))
/** As they are signed. */
const claimsOf = (authentication: object, more = {}): object => {
  const claims = idTokenClaims(
    issuer,
    { authentication: { ...authentication }, user: UserId.make("alice") },
    client,
    "tsr_at_x",
    "ES256",
    90_500,
    after(1999),
    more
  )
  return JSON.parse(JSON.stringify(claims))
}
const always = {
  iss: issuer,
  sub: "alice",
  aud: client,
  exp: Math.floor((t0 + 1999 + 90_500) / 1000),
  iat: t0 / 1000 + 1,
  at_hash: half("sha256", "tsr_at_x")
}

test("an ID token says who signed in, to whom and until when, and no more than was asked", () => {
  expect(claimsOf({})).toEqual(always)
  expect(Object.keys(claimsOf({ offline: true, claims: ["email"] })).sort()).toEqual(Object.keys(always).sort())
  const told = { acr: "2", amr: ["pwd"], nonce: "n", sid: "s" }
  expect(claimsOf({ ...told, at: after(-1) })).toEqual({ ...always, ...told, auth_time: t0 / 1000 - 1 })
})

test("what is known of the person takes nothing's place", () => {
  const more = { iss: "x", sub: "x", aud: "x", exp: 0, iat: 0, at_hash: "x", email: "alice@example.com" }
  expect(claimsOf({}, more)).toEqual({ ...always, email: "alice@example.com" })
})

test("tokens come with an ID token where the grant tells of a sign-in of a person's, and openid is in their scope", () => {
  const authentication = { nonce: "n" }
  const step = { by: me, binding: null, markSender: sentBy({}), policy, now: t0, fresh }
  const grant = active({ scope: scopes("openid", "api") })
  const identity = (over: object, scope = grant.scope) => tokensOf({ ...grant, ...over }, scope, null, step).identity
  expect(identity({ authentication })).toEqual({
    user: UserId.make("alice"),
    client: grant.client,
    authentication
  })
  expect(identity({ authentication }, scopes("api"))).toBeUndefined()
  expect(identity({})).toBeUndefined()
  expect(identity({ authentication, subject: { _tag: "Workspace" } })).toBeUndefined()
})
