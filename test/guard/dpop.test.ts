import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { exportJWK, generateKeyPair, SignJWT } from "jose"
import { layer as memory } from "../../adapters/memory/Memory.ts"
import { Storage, StorageUnavailable } from "../../core/ports/Storage.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"
import { makeSeenHere, makeSeenInStore } from "../../runtimes/guard/SeenProofs.ts"
import {
  BadGuardOption,
  type JwtGuardOptions,
  jwtGuard,
  type RemoteGuardOptions,
  remoteGuard
} from "../../runtimes/guard.ts"
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

/** A proof with the claims of another. */
const spliced = (one: string, other: string): string => {
  const [head, , signature] = one.split(".")
  return [head, other.split(".")[1], signature].join(".")
}

const inMemory = () => Effect.runPromise(Effect.provide(Effect.service(Storage), memory))

describe("a guard elsewhere (RFC 9449 §7)", () => {
  test("admits a caller that proves the key that a token is bound to, once for each proof", async () => {
    const { call, shown } = await scene(bound)
    const good = await shown(ada)
    expect(await call(good)).toBe("admitted")
    expect(await call(good)).toBe("401 invalid_dpop_proof")
    expect(await call(await shown(ada), { dpop: "required" })).toBe("admitted")
  })

  test("admits no other caller, by whatever is shown", async () => {
    const { at, call, proof, shown } = await scene(bound)
    const forged = spliced(await proof(ada), await proof(ada))
    const rows: ReadonlyArray<readonly [what: string, headers: Record<string, string>, answer: string]> = [
      ["the token alone, as Bearer", { authorization: "Bearer token" }, "401 invalid_token"],
      ["the token alone, as DPoP", { authorization: "DPoP token" }, "401 invalid_dpop_proof"],
      ["Bearer beside a proof", { ...(await shown(ada)), authorization: "Bearer token" }, "401 invalid_token"],
      ["a proof of another key", await shown(eve), "401 invalid_token"],
      ["a proof that no key signed", { authorization: "DPoP token", dpop: forged }, "401 invalid_dpop_proof"],
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
    for (const scheme of ["DPoP", "Bearer"] as const) {
      expect(await proven({ token_type: "DPoP" }, scheme)).toBe("401 invalid_token")
    }
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

  test("admits no caller with a proof while its storage cannot say whether it was seen", async () => {
    const storage = await inMemory()
    const insert = () => Effect.fail(new StorageUnavailable({ outcome: "not_done", message: "away" }))
    const seenProofs = { ...storage, insert }
    const { call, shown } = await scene(bound, { seenProofs })
    expect(await call(await shown(ada))).toBe("503")
    const bare = await scene({ token_type: "Bearer" }, { seenProofs })
    expect(await bare.call({ authorization: "Bearer token" })).toBe("admitted")
  })

  test("notes a proof in its storage for as long as it would be taken, and a minute more, and sweeps what ended by now", async () => {
    const storage = await inMemory()
    const ends: Array<number | null> = []
    const swept: Array<number> = []
    const insert: typeof storage.insert = (record) => {
      ends.push(record.expiresAt)
      return storage.insert(record)
    }
    const sweep: typeof storage.sweep = (before, limit) => {
      swept.push(before)
      return storage.sweep(before, limit)
    }
    const { at, call, shown } = await scene(bound, { seenProofs: { ...storage, insert, sweep } })
    for (const iat of [at - 30, at + 10])
      expect(await call(await shown(ada, orders, "token", { iat }))).toBe("admitted")
    expect(ends).toEqual([at + 100, at + 140].map((second) => second * 1000))
    expect(swept).toEqual([at * 1000])
  })

  test("shares what it has seen with others over one storage", async () => {
    const seen = makeSeenInStore(memory)
    expect(await seen.take("a", 100_000, 0)).toBe(true)
    expect(await seen.take("a", 100_000, 1)).toBe(false)
    await seen.close()
    expect(() => remoteGuard({ issuer, apiKey: "key", resource, seenProofs: "redis" as never })).toThrow(BadGuardOption)
    expect(() => jwtGuard({ issuer, resource, seenProofs: 1 as never })).toThrow(BadGuardOption)
  })
})

const signer = await generateKeyPair("ES256")

/** A guard that goes by the server's keys, and a token that is bound so. */
const jwtScene = async (cnf: object | undefined, over: Partial<JwtGuardOptions> = {}) => {
  const { clock } = await testClock()
  const at = Math.floor(clock.currentTimeMillisUnsafe() / 1000)
  const key = { ...(await exportJWK(signer.publicKey)), kid: "one" }
  const guard = jwtGuard({ issuer, resource, clock, fetch: async () => Response.json({ keys: [key] }), ...over })
  const claims = { iss: issuer, sub: "ada", aud: resource, client_id: "app", exp: at + 600, iat: at, jti: "one" }
  const said = { ...claims, scope: "api", principal: "User", grant: "g", ...(cnf === undefined ? {} : { cnf }) }
  const token = await new SignJWT(said)
    .setProtectedHeader({ alg: "ES256", kid: "one", typ: "at+jwt" })
    .sign(signer.privateKey)
  const proof = (holder: Holder, more: object = {}, of = token) =>
    Effect.runPromise(proofFor(holder, "GET", orders, of, { claims: { iat: at, ...more } }))
  const call = async (scheme: string, dpop?: string, more: object = {}) => {
    const headers = { authorization: `${scheme} ${token}`, ...(dpop === undefined ? {} : { dpop }) }
    const checked = await guard.guard(new Request(orders, { headers }), { ...needs, ...more })
    return checked._tag === "Admitted" ? "admitted" : checked.response.status
  }
  return { at, call, proof }
}

describe("a guard over JWTs (RFC 9449 §6.1)", () => {
  test("admits who proves the key that the token names, once for each proof, and no other caller", async () => {
    const { at, call, proof } = await jwtScene({ jkt: ada.jkt })
    const good = await proof(ada)
    expect(await call("DPoP", good)).toBe("admitted")
    expect(await call("DPoP", await proof(ada), { dpop: "required" })).toBe("admitted")
    const forged = spliced(good, await proof(ada))
    const rows: ReadonlyArray<readonly [what: string, scheme: string, dpop: string | undefined]> = [
      ["the same proof", "DPoP", good],
      ["no proof", "DPoP", undefined],
      ["no proof, as Bearer", "Bearer", undefined],
      ["Bearer beside a proof", "Bearer", await proof(ada)],
      ["a proof of another key", "DPoP", await proof(eve)],
      ["a proof that no key signed", "DPoP", forged],
      ["a proof for another token", "DPoP", await proof(ada, {}, "other")],
      ["a proof of an hour ago", "DPoP", await proof(ada, { iat: at - 3600 })]
    ]
    for (const [what, scheme, dpop] of rows) expect([what, await call(scheme, dpop)]).toEqual([what, 401])
  })

  test("admits no caller with a proof while its storage cannot say whether it was seen", async () => {
    const storage = await inMemory()
    const insert = () => Effect.fail(new StorageUnavailable({ outcome: "not_done", message: "away" }))
    const { call, proof } = await jwtScene({ jkt: ada.jkt }, { seenProofs: { ...storage, insert } })
    expect(await call("DPoP", await proof(ada))).toBe(503)
  })

  test("takes a token that is bound to nothing as a bearer's alone, and none that is bound to what it does not know", async () => {
    const bare = await jwtScene(undefined)
    expect(await bare.call("Bearer")).toBe("admitted")
    expect(await bare.call("Bearer", undefined, { dpop: "required" })).toBe(401)
    expect(await bare.call("DPoP", await bare.proof(ada))).toBe(401)
    for (const cnf of [{}, { "x5t#S256": ada.jkt }, { jkt: `${ada.jkt}=` }, { jkt: "" }]) {
      const odd = await jwtScene(cnf)
      expect([cnf, await odd.call("Bearer"), await odd.call("DPoP", await odd.proof(ada))]).toEqual([cnf, 401, 401])
    }
  })
})

describe("the proofs that a storage has seen", () => {
  test("are swept from time to time, those alone that would be taken no more", async () => {
    const storage = await inMemory()
    let sweeps = 0
    const sweep: typeof storage.sweep = (before, limit) => {
      sweeps++
      return storage.sweep(before, limit)
    }
    const seen = makeSeenInStore({ ...storage, sweep })
    const kept = async () => {
      const listing = { kind: "once", owner: "dpop-proof", after: undefined, limit: 10 } as const
      const { records } = await Effect.runPromise(
        storage.list({ workspace: WorkspaceId.make("resource-servers"), ...listing })
      )
      return records.length
    }
    expect(await seen.take("a", 100_000, 30_000)).toBe(true)
    expect(await seen.take("b", 150_000, 80_000)).toBe(true)
    expect(await seen.take("c", 270_000, 200_000)).toBe(true)
    expect([await kept(), sweeps]).toEqual([2, 2])
    expect(await seen.take("b", 150_000, 200_000)).toBe(false)
    await seen.close()
  })
})

describe("the proofs that a process has seen", () => {
  test("are each good once, and make room by refusing what is as old as the oldest", async () => {
    const seen = makeSeenHere(4)
    for (const [index, value] of ["a", "b", "c", "d"].entries()) {
      expect([value, await seen.take(value, 100 + index, 0)]).toEqual([value, true])
      expect([value, await seen.take(value, 100 + index, 0)]).toEqual([value, false])
    }
    for (const [index, value] of ["a", "b", "c", "d"].entries()) {
      expect([value, await seen.take(value, 100 + index, 0)]).toEqual([value, false])
    }
    // What is forgotten here is refused by its age, and so is what is new and no younger.
    expect(await seen.take("e", 104, 0)).toBe(true)
    for (const value of ["a", "b", "c", "d", "e", "new"]) expect(await seen.take(value, 101, 0)).toBe(false)
    expect(await seen.take("f", 105, 0)).toBe(true)
  })

  test("are all kept while there is room, however many end at one moment", async () => {
    const seen = makeSeenHere(4)
    for (const value of ["a", "b", "c", "d"]) expect([value, await seen.take(value, 100, 0)]).toEqual([value, true])
    for (const value of ["a", "b", "c", "d"]) expect([value, await seen.take(value, 100, 0)]).toEqual([value, false])
  })

  test("make room by the one that would have been good for longest, whichever came last", async () => {
    const seen = makeSeenHere(4)
    const ends = { long: 200, short: 100, c: 300, d: 300, e: 300 }
    for (const [value, end] of Object.entries(ends)) expect(await seen.take(value, end, 0)).toBe(true)
    expect([await seen.take("long", 200, 0), await seen.take("short", 100, 0)]).toEqual([false, false])
  })

  test("are forgotten without a trace once no guard takes them any more", async () => {
    const seen = makeSeenHere(2)
    for (const [at, value] of ["a", "b", "c", "d", "e"].entries()) {
      expect(await seen.take(value, 200 * at + 100, 200 * at)).toBe(true)
    }
  })
})
