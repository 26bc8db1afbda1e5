import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { SignJWT } from "jose"
import type { HttpResponse } from "../../core/http/Http.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import type { Place } from "../../core/token/KeyRing.ts"
import {
  companiesAddress,
  holderOf,
  type Odd,
  proofClaims,
  proofFor,
  publicClient,
  redeemWith,
  refreshWith,
  signedProof,
  signInWith,
  tokenAddress,
  tokenProof
} from "../given/dpop.ts"
import { codeFor, jsonOf, text } from "../given/flow.ts"
import { inWorld, keyFrom, realSignatures, t0, theWorkspace, type World, type WorldOptions } from "../given/World.ts"

const signing: WorldOptions = { signatures: realSignatures }
const ada = await holderOf("ES256")
const eve = await holderOf("ES256")
const rsa = await holderOf("PS256")
const ed = await holderOf("EdDSA")
const now = t0 / 1000
const host = "https://auth.example.com"

const open = (world: Pick<World, "send">, access: string, dpop: string, more: Record<string, string> = {}) =>
  world.send("GET", "/rest/companies", { headers: { authorization: `DPoP ${access}`, dpop, ...more } })

const errorOf = (answer: HttpResponse) => jsonOf(answer).error

const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url")
const { d: _, ...withoutSecret } = ada.secret

/** Addresses that are not the request's, however they look. */
const addresses = (right: string): ReadonlyArray<string> => {
  const path = right.slice(host.length)
  return [
    `http://auth.example.com${path}`,
    `https://auth.example.com:8443${path}`,
    `https://auth.example.com.evil.example${path}`,
    `https://evil.example${path}`,
    `https://evil.example/${right}`,
    `https://evil.example?${right}`,
    `https://evil.example#${right}`,
    `https://auth.example.com@evil.example${path}`,
    `https://user@auth.example.com${path}`,
    `https://user:pass@auth.example.com${path}`,
    `${right}/`,
    `${right}//`,
    `${host}/${path}`,
    `${host}${path.toUpperCase()}`,
    `${right}%2f`,
    `${right}%00`,
    `${right}/..`,
    `${right};a=b`,
    path,
    `//auth.example.com${path}`,
    `https:auth.example.com${path}`,
    `https:///auth.example.com${path}`,
    `https://@auth.example.com${path}`,
    `https:\\\\auth.example.com${path}`,
    ` ${right}`,
    `${right}\n`,
    `https://auth.exa\tmple.com${path}`,
    "https://",
    host,
    `wss://auth.example.com${path}`,
    `file://auth.example.com${path}`,
    "data:,",
    `https://xn--auth.example.com${path}`,
    `https://auth.example.com.${path}`,
    `https://ａuth.example.com${path}`,
    `https://[::1]${path}`,
    right + "a".repeat(5000)
  ]
}

/** Each is signed by the right key, but for what it says. */
const oddities = (right: string): ReadonlyArray<readonly [what: string, odd: Odd]> => [
  ...addresses(right).map((htu) => [`htu ${JSON.stringify(htu).slice(0, 80)}`, { claims: { htu } }] as const),
  ...[7, null, [right], { href: right }, ""].map((htu) => [`htu ${JSON.stringify(htu)}`, { claims: { htu } }] as const),
  ...["get", "post", "PUT", "GET ", "HEAD", "", 7, null, ["GET"], ["POST"]].map(
    (htm) => [`htm ${JSON.stringify(htm)}`, { claims: { htm } }] as const
  ),
  ...[now - 61, now + 61, now + 11, String(now), null, [now], Number.MAX_SAFE_INTEGER, -now, 1e300, true].map(
    (iat) => [`iat ${JSON.stringify(iat)}`, { claims: { iat } }] as const
  ),
  ...[now - 60, "never", null].map((exp) => [`exp ${JSON.stringify(exp)}`, { claims: { exp } }] as const),
  ...[now + 60, "now"].map((nbf) => [`nbf ${JSON.stringify(nbf)}`, { claims: { nbf } }] as const),
  ...["", 7, null, ["a"], "j".repeat(257), "j".repeat(1_000_000)].map(
    (jti) => [`jti ${JSON.stringify(jti).slice(0, 20)}`, { claims: { jti } }] as const
  ),
  ...["JWT", "dpop+JWT", "application/dpop+jwt", "at+jwt", "", 7, ["dpop+jwt"]].map(
    (typ) => [`typ ${JSON.stringify(typ)}`, { header: { typ } }] as const
  ),
  ...(
    [
      ["no object", "key"],
      ["a list", [ada.jwk]],
      ["the private key", ada.secret],
      ["another's public key", eve.jwk],
      ["a symmetric key", { kty: "oct", k: "AAAA" }],
      ["a key with a symmetric part", { ...ada.jwk, k: "AAAA" }],
      ["a key with an empty private part", { ...ada.jwk, d: "" }],
      ["a key for encryption", { ...ada.jwk, use: "enc" }],
      ["a key of another algorithm", { ...ada.jwk, alg: "ES384" }],
      ["a key that signs alone", { ...ada.jwk, key_ops: ["sign"] }],
      ["another curve", { ...ada.jwk, crv: "P-384" }],
      ["half a point", { kty: "EC", crv: "P-256", x: ada.jwk.x }],
      ["a point off the curve", { ...ada.jwk, y: ada.jwk.x }],
      ["a short key", { kty: "RSA", n: "AAAA", e: "AQAB" }]
    ] as const
  ).map(([what, jwk]) => [`jwk: ${what}`, { header: { jwk } }] as const)
]

/** Proofs that the holder of the key did not sign so, or that have no signature. */
const forgeries = Effect.fnUntraced(function* (right: string, method: string, token?: string) {
  const claims = proofClaims(method, right, token)
  const good = yield* signedProof(ada, claims)
  const [head = "", body = "", signature = ""] = good.split(".")
  const header = { typ: "dpop+jwt", alg: "ES256", jwk: ada.jwk }
  const byMac = yield* Effect.promise(() =>
    new SignJWT({ ...claims })
      .setProtectedHeader({ ...header, alg: "HS256" })
      .sign(new TextEncoder().encode(JSON.stringify(ada.jwk)))
  )
  const byPoint = yield* Effect.promise(() =>
    new SignJWT({ ...claims })
      .setProtectedHeader({ ...header, alg: "HS256", jwk: { ...withoutSecret } })
      .sign(Buffer.from(String(ada.jwk.x), "base64url"))
  )
  return [
    ["HS256 with the public key's text", byMac],
    ["HS256 with the public key's bytes", byPoint],
    ["alg none, unsigned", `${base64({ ...header, alg: "none" })}.${body}.`],
    ["alg None", `${base64({ ...header, alg: "None" })}.${body}.${signature}`],
    ["alg of another family", `${base64({ ...header, alg: "PS256" })}.${body}.${signature}`],
    ["a signature of zeros", `${head}.${body}.${"A".repeat(86)}`],
    ["no signature", `${head}.${body}`],
    ["signed claims changed", `${head}.${base64({ ...claims, jti: "changed" })}.${signature}`],
    ["signed by another, with this jwk", yield* signedProof({ ...eve, jwk: ada.jwk }, claims)],
    ["crit", `${base64({ ...header, crit: ["exp"], exp: 1 })}.${body}.${signature}`],
    ["b64 false", `${base64({ ...header, b64: false, crit: ["b64"] })}.${body}.${signature}`],
    ["padding", `${head}=.${body}.${signature}`],
    ["padding behind the signature", `${good}=`],
    ["four parts", `${good}.a`],
    ["five parts", `${good}.a.b`],
    ["two proofs", `${good}, ${good}`],
    ["two proofs, without a space", `${good},${good}`],
    ["a list of one", `${good},`],
    ["a scheme before it", `DPoP ${good}`],
    ["JSON instead", JSON.stringify({ payload: body, protected: head, signature })],
    ["nothing", ""],
    ["8 KiB of letters", "a".repeat(8193)],
    ["claims that are a list", `${head}.${base64([claims])}.${signature}`],
    ["a header that is null", `${base64(null)}.${body}.${signature}`],
    [
      "a duplicated member that wins",
      `${Buffer.from(`{"typ":"dpop+jwt","typ":"JWT"}`).toString("base64url")}.${body}.${signature}`
    ]
  ] as const
})

describe("a proof that is not one", () => {
  test("opens nothing at a resource, and leaves the token as it was", () =>
    inWorld(function* (world) {
      const { access } = yield* signInWith(world, yield* publicClient(world), ada)
      const taken: Array<string> = []
      const rows = oddities(companiesAddress)
      for (const [what, odd] of rows) {
        const answer = yield* open(world, access, yield* proofFor(ada, "GET", companiesAddress, access, odd))
        if (answer.status !== 401) taken.push(`${what}: ${answer.status}`)
      }
      for (const [what, dpop] of yield* forgeries(companiesAddress, "GET", access)) {
        const answer = yield* open(world, access, dpop)
        if (answer.status !== 401) taken.push(`${what}: ${answer.status}`)
      }
      for (const ath of ["", 7, null, digestOf(`${access}x`), digestOf(access).toLowerCase(), `${digestOf(access)}=`]) {
        const dpop = yield* proofFor(ada, "GET", companiesAddress, access, { claims: { ath } })
        const answer = yield* open(world, access, dpop)
        if (answer.status !== 401) taken.push(`ath ${ath}: ${answer.status}`)
      }
      expect(taken).toEqual([])
      expect(rows.length).toBeGreaterThan(90)
      expect((yield* open(world, access, yield* proofFor(ada, "GET", companiesAddress, access))).status).toBe(200)
    }, signing))

  test("gets no tokens, and spends no code", () =>
    inWorld(function* (world) {
      const client = yield* publicClient(world)
      const code = yield* codeFor(world, client)
      const taken: Array<string> = []
      for (const [what, odd] of oddities(tokenAddress)) {
        const answer = yield* redeemWith(world, client, code, yield* tokenProof(ada, odd))
        if (answer.status !== 400 || errorOf(answer) !== "invalid_dpop_proof") taken.push(`${what}: ${answer.body}`)
      }
      for (const [what, dpop] of yield* forgeries(tokenAddress, "POST")) {
        const answer = yield* redeemWith(world, client, code, dpop)
        if (answer.status !== 400 || errorOf(answer) !== "invalid_dpop_proof") taken.push(`${what}: ${answer.body}`)
      }
      expect(taken).toEqual([])
      expect((yield* redeemWith(world, client, code, yield* tokenProof(ada))).status).toBe(200)
    }, signing))

  test("is not made one by a forwarded host, or by the host that is called", () =>
    inWorld(function* (world) {
      const { access } = yield* signInWith(world, yield* publicClient(world), ada)
      const forged = yield* proofFor(ada, "GET", "https://evil.example/rest/companies", access)
      for (const more of [
        { host: "evil.example" },
        { "x-forwarded-host": "evil.example", "x-forwarded-proto": "https" },
        { forwarded: "host=evil.example;proto=https" }
      ] as ReadonlyArray<Record<string, string>>) {
        expect((yield* open(world, access, forged, more)).status).toBe(401)
      }
    }, signing))
})

describe("a bound token in other hands", () => {
  test("is refused with every key but its own, at every endpoint that takes tokens", () =>
    inWorld(function* (world) {
      const { access } = yield* signInWith(world, yield* publicClient(world), ada)
      for (const thief of [eve, rsa, ed]) {
        for (const [method, path] of [
          ["GET", "/rest/companies"],
          ["GET", "/oauth/userinfo"],
          ["POST", "/oauth/userinfo"]
        ] as const) {
          const dpop = yield* proofFor(thief, method, host + path, access)
          const answer = yield* world.send(method, path, { headers: { authorization: `DPoP ${access}`, dpop } })
          expect([thief.alg, path, answer.status]).toEqual([thief.alg, path, 401])
          const borne = yield* world.send(method, path, { headers: { authorization: `Bearer ${access}`, dpop } })
          expect([thief.alg, path, borne.status]).toEqual([thief.alg, path, 401])
        }
      }
    }, signing))

  test("is refreshed by its key alone, and a thief without it ends nothing", () =>
    inWorld(function* (world) {
      const client = yield* publicClient(world)
      const first = yield* signInWith(world, client, ada)
      const next = yield* refreshWith(world, client, first.refresh, yield* tokenProof(ada))
      yield* TestClock.adjust("2 minutes")
      // Far past the grace: with its key this would end the grant.
      const iat = now + 120
      for (const dpop of [undefined, yield* tokenProof(eve, { claims: { iat } })]) {
        const answer = yield* refreshWith(world, client, first.refresh, dpop)
        expect([answer.status, errorOf(answer)]).toEqual([400, "invalid_grant"])
      }
      const again = yield* refreshWith(
        world,
        client,
        text(jsonOf(next).refresh_token),
        yield* tokenProof(ada, { claims: { iat } })
      )
      expect(again.status).toBe(200)
    }, signing))
})

describe("a proof that was good once", () => {
  test("is good nowhere else: at another process, endpoint, method or token, also when all come at once", () =>
    inWorld(function* (world) {
      const client = yield* publicClient(world)
      const one = yield* signInWith(world, client, ada)
      const two = yield* signInWith(world, client, ada)
      const processes = [world, yield* world.elsewhere, yield* world.elsewhere]
      const dpop = yield* proofFor(ada, "GET", companiesAddress, one.access)
      const answers = yield* Effect.all(
        processes.map((each) => open(each, one.access, dpop)),
        { concurrency: "unbounded" }
      )
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 401, 401])
      const fresh = yield* proofFor(ada, "GET", companiesAddress, one.access)
      expect((yield* open(world, two.access, fresh)).status).toBe(401)
      const elsewhere = yield* world.send("GET", "/oauth/userinfo", {
        headers: { authorization: `DPoP ${one.access}`, dpop: fresh }
      })
      expect(elsewhere.status).toBe(401)
      const codes = [yield* codeFor(world, client), yield* codeFor(world, client)]
      const once = yield* tokenProof(ada)
      const redeemed = yield* Effect.all(
        codes.map((code, index) => redeemWith(processes[index] ?? world, client, code, once)),
        { concurrency: "unbounded" }
      )
      expect(redeemed.map(({ status }) => status).toSorted()).toEqual([200, 400])
    }, signing))
})

describe("a nonce", () => {
  test("of another server, workspace, ring or minute is none", () =>
    inWorld(
      function* (world) {
        const client = yield* publicClient(world)
        const code = yield* codeFor(world, client)
        const asked = Effect.fnUntraced(function* (nonce: unknown) {
          return yield* redeemWith(world, client, code, yield* tokenProof(ada, { claims: { nonce } }))
        })
        const nonceOf = (answer: HttpResponse) => text(answer.headers.find(([name]) => name === "dpop-nonce")?.[1])
        const first = nonceOf(yield* asked(undefined))
        const madeAt = (place: Place, at: number) => {
          const judged = world.services.nonces.judge("auth", place, undefined, Instant.make(at))
          if (judged._tag === "Success") throw new Error("no nonce was asked for")
          return judged.failure.nonce
        }
        const minute = 60_000
        for (const nonce of [
          madeAt({ ...theWorkspace, issuer: "https://other.example.com" }, t0),
          madeAt({ ...theWorkspace, id: "twin" }, t0),
          madeAt(theWorkspace, t0 - 2 * minute),
          madeAt(theWorkspace, t0 + 2 * minute),
          first.slice(1),
          `${first}A`,
          first.toLowerCase(),
          "",
          7,
          [first]
        ]) {
          expect(errorOf(yield* asked(nonce))).toBe("use_dpop_nonce")
        }
        // Of a process that is a little ahead, or a little behind: the code is what is wrong then.
        for (const at of [t0 - minute, t0, t0 + minute]) {
          const spent = yield* redeemWith(
            world,
            client,
            "none",
            yield* tokenProof(ada, { claims: { nonce: madeAt(theWorkspace, at) } })
          )
          expect(errorOf(spent)).toBe("invalid_grant")
        }
        world.turnRing((ring) => [keyFrom(9), ...ring.slice(0, 0)])
        expect(errorOf(yield* asked(first))).toBe("use_dpop_nonce")
      },
      { ...signing, policy: { dpopNonce: "auth" } }
    ))
})
