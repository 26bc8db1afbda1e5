import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { layer as memory } from "../../adapters/memory/Memory.ts"
import { makeSeenHere, makeSeenInStore } from "../../runtimes/guard/SeenProofs.ts"
import { jwtGuard, type RemoteGuardOptions, remoteGuard } from "../../runtimes/guard.ts"
import { testClock } from "../embed/host.ts"
import { type Holder, holderOf, proofFor } from "../given/dpop.ts"

const issuer = "https://auth.example"
const resource = "https://api.example"
const orders = `${resource}/orders`
const needs = { scopes: ["api"] }
const ada = await holderOf("ES256")
const eve = await holderOf("ES256")

/** A guard over an authorization server that says this of every token. */
const scene = async (said: object, over: Partial<RemoteGuardOptions> = {}) => {
  const { clock } = await testClock()
  const at = Math.floor(clock.currentTimeMillisUnsafe() / 1000)
  const live = { active: true, iss: issuer, sub: "ada", client_id: "app", scope: "api", principal: "User", grant: "g" }
  const guard = remoteGuard({
    issuer,
    apiKey: "key",
    resource,
    clock,
    fetch: async () => Response.json({ ...live, exp: at + 600, token_type: "DPoP", ...said }),
    ...over
  })
  const proof = (holder: Holder, address = orders, token = "token", claims: object = {}) =>
    Effect.runPromise(proofFor(holder, "GET", address, token, { claims: { iat: at, ...claims } }))
  const call = async (headers: Record<string, string>, more: object = {}, path = orders) => {
    const checked = await guard.guard(new Request(path, { headers }), { ...needs, ...more })
    if (checked._tag === "Admitted") return "admitted"
    const [, error = ""] = /error="(\w+)"/.exec(checked.response.headers.get("www-authenticate") ?? "") ?? []
    return `${checked.response.status} ${error}`.trim()
  }
  const shown = async (holder: Holder, address?: string, token?: string, claims?: object) => ({
    authorization: "DPoP token",
    dpop: await proof(holder, address, token, claims)
  })
  return { at, call, guard, proof, shown }
}

const bound = { cnf: { jkt: ada.jkt } }

describe("a guard elsewhere (RFC 9449 §7)", () => {
  test("admits a caller that proves the key that a token is bound to, once for each proof", async () => {
    const { call, shown } = await scene(bound)
    const good = await shown(ada)
    expect(await call(good)).toBe("admitted")
    expect(await call(good)).toBe("401 invalid_dpop_proof")
    expect(await call(await shown(ada), { dpop: "required" })).toBe("admitted")
  })

  test("admits no other caller, by whatever is shown", async () => {
    const { at, call, shown } = await scene(bound)
    const rows: ReadonlyArray<readonly [what: string, headers: Record<string, string>, answer: string]> = [
      ["the token alone, as Bearer", { authorization: "Bearer token" }, "401 invalid_token"],
      ["the token alone, as DPoP", { authorization: "DPoP token" }, "401 invalid_dpop_proof"],
      ["Bearer beside a proof", { ...(await shown(ada)), authorization: "Bearer token" }, "401 invalid_token"],
      ["a proof of another key", await shown(eve), "401 invalid_token"],
      ["a proof for the issuer", await shown(ada, `${issuer}/orders`), "401 invalid_dpop_proof"],
      ["a proof for another path", await shown(ada, `${resource}/order`), "401 invalid_dpop_proof"],
      ["a proof for another token", await shown(ada, orders, "other"), "401 invalid_dpop_proof"],
      ["a proof of an hour ago", await shown(ada, orders, "token", { iat: at - 3600 }), "401 invalid_dpop_proof"]
    ]
    for (const [what, headers, answer] of rows) expect([what, await call(headers)]).toEqual([what, answer])
  })

  test("goes by its own address, whatever host is called", async () => {
    const { call, shown } = await scene(bound)
    const forged = "https://evil.example/orders"
    expect(await call({ ...(await shown(ada, forged)), host: "evil.example" }, {}, forged)).toBe(
      "401 invalid_dpop_proof"
    )
    expect(await call({ ...(await shown(ada)), host: "evil.example" }, {}, forged)).toBe("admitted")
  })

  test("takes a token that is bound to nothing without a proof, and with none that it did not ask for", async () => {
    const { call, shown } = await scene({ token_type: "Bearer" })
    expect(await call({ authorization: "Bearer token" })).toBe("admitted")
    expect(await call({ authorization: "Bearer token" }, { dpop: "required" })).toBe("401")
    expect(await call(await shown(ada))).toBe("401 invalid_token")
  })

  test("takes no token whose type and binding do not go together, or that is bound to what it does not know", async () => {
    const proven = async (said: object, as: "Bearer" | "DPoP") => {
      const { call, shown } = await scene(said)
      return call({ ...(await shown(ada)), authorization: `${as} token` })
    }
    expect(await proven({ token_type: "Bearer", ...bound }, "Bearer")).toBe("401 invalid_token")
    expect(await proven({ token_type: "DPoP" }, "DPoP")).toBe("401 invalid_token")
    expect(await proven({ token_type: "Bearer", cnf: { "x5t#S256": ada.jkt } }, "Bearer")).toBe("503")
  })

  test("has a challenge of DPoP alone where the route asks for it", async () => {
    const { guard } = await scene(bound)
    for (const [dpop, pattern] of [
      ["allowed", /^Bearer .+, DPoP algs="[^"]+", /],
      ["required", /^DPoP algs="[^"]+", /]
    ] as const) {
      const refused = await guard.guard(new Request(orders), { ...needs, dpop })
      expect(refused._tag === "Refused" && refused.response.headers.get("www-authenticate")).toMatch(pattern)
    }
  })

  test("shares what it has seen with others over one storage", async () => {
    const seen = makeSeenInStore(memory)
    expect(await seen.take("a", 100_000, 0)).toBe(true)
    expect(await seen.take("a", 100_000, 1)).toBe(false)
    await seen.close()
    expect(() => remoteGuard({ issuer, apiKey: "key", resource, seenProofs: "redis" as never })).toThrow()
    expect(() => jwtGuard({ issuer, resource, seenProofs: 1 as never })).toThrow()
  })
})

describe("the proofs that a process has seen", () => {
  test("are each good once, and make room by refusing what is as old as the oldest", async () => {
    const seen = makeSeenHere(4)
    for (const [index, value] of ["a", "b", "c", "d"].entries()) {
      expect([value, await seen.take(value, 100 + index, 0)]).toEqual([value, true])
      expect([value, await seen.take(value, 100 + index, 0)]).toEqual([value, false])
    }
    // What is forgotten here is refused by its age, and so is what is new and no younger.
    expect(await seen.take("e", 104, 0)).toBe(true)
    for (const value of ["a", "b", "c", "d", "e", "new"]) expect(await seen.take(value, 101, 0)).toBe(false)
    expect(await seen.take("f", 105, 0)).toBe(true)
  })

  test("are forgotten without a trace once no guard takes them any more", async () => {
    const seen = makeSeenHere(2)
    for (const [at, value] of ["a", "b", "c", "d", "e"].entries()) {
      expect(await seen.take(value, 200 * at + 100, 200 * at)).toBe(true)
    }
  })
})
