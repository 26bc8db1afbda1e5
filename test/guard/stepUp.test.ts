import { expect, test } from "bun:test"
import { exportJWK, generateKeyPair, SignJWT } from "jose"
import { type Guard, jwtGuard } from "../../runtimes/guard.ts"
import type { CreateOptions } from "../../runtimes/tessera.ts"
import { bearer, letIn, people, testClock } from "../embed/host.ts"
import { t0 } from "../given/World.ts"
import { withRemote } from "./remote.ts"

/* RFC 9470, of the guards that stand elsewhere than the server. */

const needs = { scopes: ["api"], acr: ["gold"], maxAge: 60 }

const judged = async ({ guard }: Pick<Guard, "guard">, url: string, token: string, asked: object = needs) => {
  const checked = await guard(bearer(url, token), { ...needs, ...asked })
  return checked._tag === "Admitted" ? "in" : (checked.response.headers.get("www-authenticate") ?? "")
}

const expectChallenge = (said: string) => {
  for (const part of ['error="insufficient_user_authentication"', 'acr_values="gold"', 'max_age="60"']) {
    expect(said).toContain(part)
  }
}

const owner: CreateOptions["owner"] = {
  ...people,
  signedIn: async (request) => {
    const here = await people.signedIn(request)
    return here ? { ...here, authenticatedAt: new Date(t0), acr: here.user === "grace" ? "gold" : "silver" } : here
  }
}

test("a remote guard asks for a fresher or a stronger sign-in, and takes its token until that is old", () =>
  withRemote({ host: { owner } }, async ({ auth, guard, resource, wait }) => {
    const asked = { acr_values: "gold", max_age: "60" }
    const url = `${resource}/vault`
    const plain = await letIn(auth, "grace")
    expectChallenge(await judged(guard, url, plain.access))
    const weak = await letIn(auth, "ada", "api", { max_age: "60" })
    expectChallenge(await judged(guard, url, weak.access))
    const strong = await letIn(auth, "grace", "api", asked)
    expect(await judged(guard, url, strong.access)).toBe("in")
    await wait(61_000)
    expectChallenge(await judged(guard, url, strong.access))
    expect(await judged(guard, url, strong.access, { maxAge: 120 })).toBe("in")
  }))

test("a guard that reads JWTs does, by what they say", async () => {
  const { clock, wait } = await testClock()
  const { privateKey, publicKey } = await generateKeyPair("ES256")
  const jwk = { ...(await exportJWK(publicKey)), kid: "one", alg: "ES256", use: "sig" }
  const [issuer, url] = ["https://auth.example", "https://auth.example/rest/vault"]
  const guard = jwtGuard({
    issuer,
    resource: `${issuer}/rest`,
    clock,
    fetch: async () => Response.json({ keys: [jwk] })
  })
  const now = clock.currentTimeMillisUnsafe() / 1000
  const tokenOf = (claims: object) =>
    new SignJWT({
      client_id: "c".repeat(22),
      scope: "api",
      principal: "User",
      grant: "3hGTh17j",
      ref: "sealed",
      ...claims
    })
      .setProtectedHeader({ alg: "ES256", kid: "one", typ: "at+jwt" })
      .setIssuer(issuer)
      .setSubject("ada")
      .setAudience(`${issuer}/rest`)
      .setIssuedAt(now)
      .setExpirationTime(now + 300)
      .setJti("0011223344556677")
      .sign(privateKey)
  const strong = await tokenOf({ acr: "gold", auth_time: now })
  expect(await judged(guard, url, strong)).toBe("in")
  for (const claims of [{}, { acr: "gold" }, { auth_time: now }, { acr: "silver", auth_time: now }]) {
    expectChallenge(await judged(guard, url, await tokenOf(claims)))
  }
  expectChallenge(await judged(guard, url, await tokenOf({ acr: "gold", auth_time: now - 61 })))
  await wait(61_000)
  expectChallenge(await judged(guard, url, strong))
})
