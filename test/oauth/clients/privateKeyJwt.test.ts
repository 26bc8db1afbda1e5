import { describe, expect, test } from "bun:test"
import { Effect, Option, Result } from "effect"
import { TestClock } from "effect/testing"
import { CompactSign, type CryptoKey, exportJWK, generateKeyPair, type JWK } from "jose"
import { readClientIdentifier } from "../../../core/client/ClientIdentifier.ts"
import { deviceGrant } from "../../../core/client/Profile.ts"
import { assertionType, checkAssertion } from "../../../core/oauth/clients/assertion.ts"
import { clientAuths } from "../../../core/oauth/clients/table.ts"
import { Instant } from "../../../core/rules/Instant.ts"
import { algorithms } from "../../../core/rules/Jwk.ts"
import { DocumentsWeb } from "../../given/documentsWeb.ts"
import { holderOf, tokenProof } from "../../given/dpop.ts"
import { postRegistration } from "../../given/flow.ts"
import { inWorld, realSignatures, t0, theWorkspace, type World, type WorldOptions } from "../../given/World.ts"
import { watchedLimiter } from "../../given/watchedLimiter.ts"

const { issuer } = theWorkspace
const now = t0 / 1000
const form = { "content-type": "application/x-www-form-urlencoded" }

interface Signer {
  readonly sign: CryptoKey
  readonly jwk: JWK
  readonly alg: string
}

const signer = async (alg: string, kid?: string): Promise<Signer> => {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  const jwk = await exportJWK(publicKey)
  return { sign: privateKey, alg, jwk: kid === undefined ? jwk : { ...jwk, kid } }
}

const es256 = await signer("ES256", "one")
const another = await signer("ES256", "two")
const eddsa = await signer("EdDSA")
const rsa = await signer("PS256")

const signed = (by: Signer, claims: unknown, header: object = {}) =>
  new CompactSign(new TextEncoder().encode(typeof claims === "string" ? claims : JSON.stringify(claims)))
    .setProtectedHeader({ alg: by.alg, ...(by.jwk.kid === undefined ? {} : { kid: by.jwk.kid }), ...header })
    .sign(by.sign)

const register = (world: World, metadata: Record<string, unknown>) =>
  Effect.map(
    postRegistration(world, {
      redirect_uris: ["https://app.example.org/callback"],
      grant_types: ["authorization_code", "refresh_token", "client_credentials"],
      token_endpoint_auth_method: "private_key_jwt",
      ...metadata
    }),
    (response) => ({ status: response.status, body: JSON.parse(response.body) as Record<string, unknown> })
  )

const registered = (world: World, metadata: Record<string, unknown>) =>
  Effect.map(register(world, metadata), ({ body }) => String(body.client_id))

const ask = (world: World, assertion: string, more: Record<string, string> = {}, path = "/oauth/token") =>
  Effect.map(
    world.send("POST", path, {
      headers: form,
      body: new URLSearchParams({
        grant_type: "client_credentials",
        client_assertion_type: assertionType,
        client_assertion: assertion,
        ...more
      }).toString()
    }),
    ({ body, status }) => ({ status, error: body === "" ? undefined : (JSON.parse(body) as { error?: string }).error })
  )

let drawn = 0
const claimsOf = (client: string, over: Record<string, unknown> = {}) => {
  drawn += 1
  return { iss: client, sub: client, aud: issuer, jti: `jti-${drawn}`, iat: now, exp: now + 60, ...over }
}

const signing = { signatures: realSignatures }
const granted = { status: 200, error: undefined }
const refused = { status: 401, error: "invalid_client" }

describe("a client that signs (RFC 7523)", () => {
  const keys: ReadonlyArray<readonly [string, Signer]> = [
    ["ES256", es256],
    ["EdDSA", eddsa],
    ["Ed25519", { ...eddsa, alg: "Ed25519" }],
    ["PS256", rsa]
  ]
  test.each(keys)("is itself by %s, once for each assertion", (_, by) =>
    inWorld(function* (world) {
      const client = yield* registered(world, { jwks: { keys: [by.jwk] } })
      const assertion = yield* Effect.promise(() => signed(by, claimsOf(client)))
      expect(yield* ask(world, assertion)).toEqual(granted)
      expect(yield* ask(world, assertion)).toEqual(refused)
      expect(yield* ask(yield* world.elsewhere, assertion)).toEqual(refused)
    }, signing)
  )

  test("is itself by either name of one algorithm, whichever it registered (RFC 9864 §2.2)", () =>
    inWorld(function* (world) {
      for (const asked of ["EdDSA", "Ed25519"]) {
        for (const jwk of [eddsa.jwk, { ...eddsa.jwk, alg: "EdDSA" }, { ...eddsa.jwk, alg: "Ed25519" }]) {
          const metadata = { jwks: { keys: [jwk] }, token_endpoint_auth_signing_alg: asked }
          const { body } = yield* register(world, metadata)
          expect(body.token_endpoint_auth_signing_alg).toBe(asked)
          for (const alg of ["EdDSA", "Ed25519"]) {
            const claims = claimsOf(String(body.client_id))
            const assertion = yield* Effect.promise(() => signed({ ...eddsa, alg }, claims))
            expect([asked, jwk.alg, alg, yield* ask(world, assertion)]).toEqual([asked, jwk.alg, alg, granted])
          }
          const claims = claimsOf(String(body.client_id))
          const assertion = yield* Effect.promise(() => signed({ ...es256, jwk }, claims))
          expect(yield* ask(world, assertion)).toEqual(refused)
        }
      }
    }, signing))

  test.each([
    undefined,
    "JWT",
    "jwt",
    "client-authentication+jwt",
    "application/client-authentication+jwt",
    "Client-Authentication+JWT"
  ])("is itself by an assertion of the type %p", (typ) =>
    inWorld(function* (world) {
      const client = yield* registered(world, { jwks: { keys: [es256.jwk] } })
      const assertion = yield* Effect.promise(() => signed(es256, claimsOf(client), { typ }))
      expect(yield* ask(world, assertion)).toEqual(granted)
    }, signing)
  )

  test("is remembered by an id of so many characters, until its assertion would be too old: to the millisecond", () => {
    const client = Option.getOrThrow(readClientIdentifier("A".repeat(22)))
    const expected = { client, audiences: [issuer], now: Instant.make(t0) }
    const checked = (over: Record<string, unknown>) =>
      checkAssertion({}, claimsOf(client, { jti: "one", ...over }), expected)
    const good = (jti: string, until: number) => Result.succeed({ jti, until: Instant.make(until) })
    expect(checked({})).toEqual(good("one", t0 + 70_000))
    expect(checked({ exp: now + 60.0004 })).toEqual(good("one", t0 + 70_001))
    expect(checked({ exp: now - 9 })).toEqual(good("one", t0 + 1000))
    expect(checked({ jti: "x".repeat(256) })).toEqual(good("x".repeat(256), t0 + 70_000))
    expect(checked({ jti: "x".repeat(257) })).toEqual(Result.fail("assertion_without_id"))
  })

  test("has ids of its own for what it signs: another client may have used the same", () =>
    inWorld(function* (world) {
      for (const by of [es256, another]) {
        const client = yield* registered(world, { jwks: { keys: [by.jwk] } })
        const assertion = yield* Effect.promise(() => signed(by, claimsOf(client, { jti: "1" })))
        expect(yield* ask(world, assertion)).toEqual(granted)
        expect(yield* ask(world, assertion)).toEqual(refused)
      }
    }, signing))

  test("is itself at every endpoint that clients authenticate at, by the issuer or that endpoint as the audience, and no other", () =>
    inWorld(function* (world) {
      const client = yield* registered(world, { jwks: { keys: [es256.jwk] } })
      for (const [path, status] of [
        ["/oauth/token", 200],
        ["/oauth/introspect", 200],
        ["/oauth/revoke", 200]
      ] as const) {
        const elsewhere = ["/oauth/token", "/oauth/revoke", "/oauth/par"].filter((other) => other !== path)
        for (const aud of elsewhere) {
          const assertion = yield* Effect.promise(() => signed(es256, claimsOf(client, { aud: `${issuer}${aud}` })))
          expect(yield* ask(world, assertion, { token: "tsr_rt_x" }, path)).toEqual(refused)
        }
        for (const aud of [issuer, `${issuer}${path}`]) {
          const assertion = yield* Effect.promise(() => signed(es256, claimsOf(client, { aud })))
          const answer = yield* world.send("POST", path, {
            headers: form,
            body: new URLSearchParams({
              grant_type: "client_credentials",
              token: "tsr_rt_x",
              client_assertion_type: assertionType,
              client_assertion: assertion
            }).toString()
          })
          expect([path, aud, answer.status]).toEqual([path, aud, status])
        }
      }
    }, signing))

  test("pushes a request by the token endpoint as the audience too (RFC 9126 §2), and by no other", () =>
    inWorld(function* (world) {
      const client = yield* registered(world, { jwks: { keys: [es256.jwk] } })
      const asked = {
        response_type: "code",
        redirect_uri: "https://app.example.org/callback",
        code_challenge: "x".repeat(43),
        code_challenge_method: "S256"
      }
      for (const [path, status] of [
        ["", 201],
        ["/oauth/par", 201],
        ["/oauth/token", 201],
        ["/oauth/revoke", 401]
      ] as const) {
        const assertion = yield* Effect.promise(() => signed(es256, claimsOf(client, { aud: `${issuer}${path}` })))
        expect([path, (yield* ask(world, assertion, asked, "/oauth/par")).status]).toEqual([path, status])
      }
    }, signing))

  test.each([
    ["/oauth/token", 200],
    ["/oauth/introspect", 200],
    ["/oauth/revoke", 200],
    ["/oauth/par", 201],
    ["/oauth/device_authorization", 200]
  ] as const)("at %s spends its assertion, there and everywhere", (path, status) =>
    inWorld(function* (world) {
      const client = yield* registered(world, {
        grant_types: ["authorization_code", "client_credentials", deviceGrant],
        jwks: { keys: [es256.jwk] }
      })
      const assertion = yield* Effect.promise(() => signed(es256, claimsOf(client)))
      const challenge = { code_challenge: "x".repeat(43), code_challenge_method: "S256" }
      const asked =
        path === "/oauth/par"
          ? { response_type: "code", redirect_uri: "https://app.example.org/callback", ...challenge }
          : { token: "tsr_rt_x" }
      expect(yield* ask(world, assertion, asked, path)).toEqual({ status, error: undefined })
      expect(yield* ask(world, assertion, asked, path)).toEqual(refused)
      expect(yield* ask(world, assertion)).toEqual(refused)
    }, signing)
  )

  test("ends no token by an assertion that was used before", () =>
    inWorld(function* (world) {
      const client = yield* registered(world, { jwks: { keys: [es256.jwk] } })
      const assertion = () => Effect.promise(() => signed(es256, claimsOf(client)))
      const shown = (path: string, client_assertion: string, fields: Record<string, string>) => {
        const body = new URLSearchParams({ client_assertion_type: assertionType, client_assertion, ...fields })
        return Effect.map(
          world.send("POST", path, { headers: form, body: body.toString() }),
          (answer) => [answer.status, JSON.parse(answer.body) as Record<string, unknown>] as const
        )
      }
      const used = yield* assertion()
      const [, { access_token }] = yield* shown("/oauth/token", used, { grant_type: "client_credentials" })
      const token = String(access_token)
      expect((yield* shown("/oauth/revoke", used, { token }))[0]).toBe(401)
      expect((yield* shown("/oauth/introspect", yield* assertion(), { token }))[1].active).toBe(true)
      expect((yield* shown("/oauth/revoke", yield* assertion(), { token }))[0]).toBe(200)
      expect((yield* shown("/oauth/introspect", yield* assertion(), { token }))[1].active).toBe(false)
    }, signing))

  test("spends its assertion and the proof of its key, each once, though they come together", async () => {
    const holder = await holderOf("ES256")
    return inWorld(function* (world) {
      const client = yield* registered(world, { jwks: { keys: [es256.jwk] } })
      const shows = Effect.fnUntraced(function* (assertion: string, dpop: string) {
        const body = new URLSearchParams({
          grant_type: "client_credentials",
          client_assertion_type: assertionType,
          client_assertion: assertion
        }).toString()
        const answer = yield* world.send("POST", "/oauth/token", { headers: { ...form, dpop }, body })
        return [answer.status, (JSON.parse(answer.body) as { error?: string }).error]
      })
      const [first, second, third] = yield* Effect.promise(() =>
        Promise.all([1, 2, 3].map(() => signed(es256, claimsOf(client))))
      )
      const [proof, another] = [yield* tokenProof(holder), yield* tokenProof(holder)]
      expect(yield* shows(first ?? "", proof)).toEqual([200, undefined])
      expect(yield* shows(second ?? "", proof)).toEqual([400, "invalid_dpop_proof"])
      expect(yield* shows(first ?? "", another)).toEqual([401, "invalid_client"])
      expect(yield* shows(third ?? "", yield* tokenProof(holder))).toEqual([200, undefined])
    }, signing)
  })

  test("counts as a failure of its network where its assertion was spent, and not where that cannot be known", () => {
    const { limiter, taken } = watchedLimiter()
    return inWorld(
      function* (world) {
        const client = yield* registered(world, { jwks: { keys: [es256.jwk] } })
        const [spent, other] = yield* Effect.promise(() =>
          Promise.all([signed(es256, claimsOf(client)), signed(es256, claimsOf(client))])
        )
        expect(yield* ask(world, spent)).toEqual(granted)
        taken.length = 0
        expect(yield* ask(world, spent)).toEqual(refused)
        expect(taken).toEqual([`client ${client}`, "failed_client "])
        taken.length = 0
        world.away.add("insert once")
        expect((yield* ask(world, other)).status).toBe(503)
        expect(taken).toEqual([`client ${client}`])
      },
      { ...signing, limiter }
    )
  })

  test("of two requests with one assertion, at two processes at once, one gets tokens", () =>
    inWorld(function* (world) {
      const client = yield* registered(world, { jwks: { keys: [es256.jwk] } })
      const servers = [world, yield* world.elsewhere, yield* world.elsewhere, yield* world.elsewhere]
      const assertion = yield* Effect.promise(() => signed(es256, claimsOf(client)))
      const answers = yield* Effect.forEach(servers, (one) => ask(one, assertion), { concurrency: "unbounded" })
      expect(answers.filter(({ status }) => status === 200).length).toBe(1)
    }, signing))

  test("spends its assertion for all processes, though the clock of one is ahead and its sweep comes early", () =>
    inWorld(function* (world) {
      const client = yield* registered(world, { jwks: { keys: [es256.jwk] } })
      const assertion = yield* Effect.promise(() => signed(es256, claimsOf(client)))
      expect(yield* ask(world, assertion)).toEqual(granted)
      // The other process has 70 s on its clock, at which the assertion is too old there, and not here.
      yield* TestClock.adjust("50 seconds")
      yield* world.storage.sweep(t0 + 70_000, 100)
      expect(yield* ask(world, assertion)).toEqual(refused)
      yield* TestClock.adjust("19 seconds")
      yield* world.storage.sweep(t0 + 129_999, 100)
      expect(yield* ask(world, assertion)).toEqual(refused)
      expect(yield* world.storage.sweep(t0 + 130_000, 100)).toBe(1)
    }, signing))

  test("is kept with public members only, told what it registered, and has no secret", () =>
    inWorld(function* (world) {
      const jwk = { ...es256.jwk, alg: "ES256", use: "sig", x5u: "https://evil.example" }
      const { body, status } = yield* register(world, {
        jwks: { keys: [jwk] },
        token_endpoint_auth_signing_alg: "ES256"
      })
      const { x5u: _, ...kept } = jwk
      expect(status).toBe(201)
      expect(body).toMatchObject({
        token_endpoint_auth_method: "private_key_jwt",
        token_endpoint_auth_signing_alg: "ES256",
        jwks: { keys: [kept] }
      })
      expect(Object.keys(Object((body.jwks as { keys: ReadonlyArray<object> }).keys[0])).sort()).toEqual(
        Object.keys(kept).sort()
      )
      expect(body).not.toHaveProperty("client_secret")
    }, signing))

  test("is told of in the metadata where a server can verify, and nowhere else", () =>
    Effect.gen(function* () {
      const methods = (world: World) =>
        Effect.map(
          world.send("GET", "/.well-known/oauth-authorization-server"),
          ({ body }) => JSON.parse(body) as Record<string, ReadonlyArray<string>>
        )
      const lists = [
        "token_endpoint_auth_signing_alg_values_supported",
        "revocation_endpoint_auth_signing_alg_values_supported",
        "introspection_endpoint_auth_signing_alg_values_supported"
      ]
      const able = yield* Effect.promise(() => inWorld(methods, signing))
      for (const list of lists) expect(able[list]).toEqual(["EdDSA", "Ed25519", "ES256", "PS256", "RS256"])
      expect(able.token_endpoint_auth_methods_supported).toContain("private_key_jwt")
      const unable = yield* Effect.promise(() => inWorld(methods))
      for (const list of lists) expect(unable[list]).toBeUndefined()
      expect(unable.token_endpoint_auth_methods_supported).not.toContain("private_key_jwt")
    }).pipe(Effect.runPromise))

  test("ends with the key that it takes out of its registration", () =>
    inWorld(function* (world) {
      const { body } = yield* register(world, { jwks: { keys: [es256.jwk, another.jwk] } })
      const client = String(body.client_id)
      const put = yield* world.send("PUT", `/oauth/register/${client}`, {
        headers: { "content-type": "application/json", authorization: `Bearer ${body.registration_access_token}` },
        body: JSON.stringify({ ...body, registration_access_token: undefined, jwks: { keys: [another.jwk] } })
      })
      expect(put.status).toBe(200)
      const old = yield* Effect.promise(() => signed(es256, claimsOf(client)))
      const young = yield* Effect.promise(() => signed(another, claimsOf(client)))
      expect([yield* ask(world, old), yield* ask(world, young)]).toEqual([refused, granted])
    }, signing))
})

describe("times at their edges: ten seconds of leeway, five minutes of life", () => {
  const times: ReadonlyArray<readonly [Record<string, unknown>, boolean]> = [
    [{ exp: now - 9 }, true],
    [{ exp: now - 10 }, false],
    [{ exp: now - 300 }, false],
    [{ exp: now + 310 }, true],
    [{ exp: now + 311 }, false],
    [{ exp: now + 31_536_000 }, false],
    [{ exp: 1e300 }, false],
    [{ exp: -1 }, false],
    [{ exp: now + 0.5 }, true],
    [{ exp: `${now + 60}` }, false],
    [{ exp: null }, false],
    [{ exp: undefined }, false],
    [{ iat: now + 8 }, true],
    [{ iat: now + 10 }, true],
    [{ iat: now + 11 }, false],
    [{ iat: now + 60 }, false],
    [{ iat: undefined }, true],
    [{ iat: "now" }, false],
    [{ nbf: now }, true],
    [{ nbf: now + 10 }, true],
    [{ nbf: now + 11 }, false],
    [{ nbf: "later" }, false]
  ]
  test.each(times)("%j: %p", (over, isTaken) =>
    inWorld(function* (world) {
      const client = yield* registered(world, { jwks: { keys: [es256.jwk] } })
      const assertion = yield* Effect.promise(() => signed(es256, claimsOf(client, over)))
      expect(yield* ask(world, assertion)).toEqual(isTaken ? granted : refused)
    }, signing)
  )
})

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url")

/** HMAC with a public key's bytes as the secret, which a verifier that asks the header alone would take. */
const byHmac = async (secret: string, claims: unknown, header: object) => {
  const text = `${part(header)}.${part(claims)}`
  const usages = ["sign"] as const
  const key = await crypto.subtle.importKey(
    "raw",
    Buffer.from(secret),
    { name: "HMAC", hash: "SHA-256" },
    false,
    usages
  )
  return `${text}.${Buffer.from(await crypto.subtle.sign("HMAC", key, Buffer.from(text))).toString("base64url")}`
}

/** By the registered key indeed, so that nothing but the header, or the text, is wrong. Libraries refuse to sign these. */
const signedAs = async (header: object, claims: string) => {
  const text = `${part({ alg: "ES256", kid: "one", ...header })}.${claims}`
  const signature = await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, es256.sign, Buffer.from(text))
  return `${text}.${Buffer.from(signature).toString("base64url")}`
}

type Forge = (client: string, other: string) => string | Promise<string>

/** Assertions that prove no client, each refused as `invalid_client` without a reason; the audit stream has it. */
const hostile: Readonly<Record<string, Readonly<Record<string, Forge>>>> = {
  unreadable: {
    "no signature": (client) => `${part({ alg: "ES256", kid: "one" })}.${part(claimsOf(client))}.`,
    "the algorithm none": (client) => `${part({ alg: "none" })}.${part(claimsOf(client))}.`,
    "a signature with padding": async (client) => `${await signed(es256, claimsOf(client))}==`,
    "a signature with a line's end": async (client) => `${await signed(es256, claimsOf(client))}\n`,
    "four parts": async (client) => `${await signed(es256, claimsOf(client))}.AAAA`,
    "five parts": () => "a.b.c.d.e",
    "two parts": (client) => `${part({ alg: "ES256" })}.${part(claimsOf(client))}`,
    "nothing but dots": () => "..",
    "no JWT": () => "assertion",
    "a longer one than any": async (client) => signed(es256, claimsOf(client, { more: "x".repeat(9000) })),
    "claims that are a list": async () => signed(es256, []),
    "claims that are a text": async () => signed(es256, '"text"'),
    "claims that are null": async () => signed(es256, "null"),
    "claims that are no JSON": async () => signed(es256, "{"),
    "claims that are no UTF-8": () => signedAs({}, Buffer.from([0xff, 0xfe]).toString("base64url"))
  },
  assertion_algorithm: {
    "the algorithm none, with a signature": (client) => `${part({ alg: "none" })}.${part(claimsOf(client))}.AAAA`,
    "the algorithm None": (client) => `${part({ alg: "None" })}.${part(claimsOf(client))}.AAAA`,
    "HMAC by the public key's JSON": (client) =>
      byHmac(JSON.stringify(es256.jwk), claimsOf(client), { alg: "HS256", kid: "one" }),
    "HMAC by the public key's coordinate": (client) => byHmac(String(es256.jwk.x), claimsOf(client), { alg: "HS256" }),
    "no algorithm": (client) => `${part({ kid: "one" })}.${part(claimsOf(client))}.AAAA`,
    "an algorithm that is a list": (client) => `${part({ alg: ["ES256"] })}.${part(claimsOf(client))}.AAAA`,
    "an algorithm that is not here": (client) => `${part({ alg: "ES384" })}.${part(claimsOf(client))}.AAAA`
  },
  bad_assertion: {
    "HMAC called ES256": (client) => byHmac(JSON.stringify(es256.jwk), claimsOf(client), { alg: "ES256", kid: "one" }),
    "a key of one's own": async (client) => signed(another, claimsOf(client), { kid: "one" }),
    "a key of one's own, embedded": async (client) =>
      signed(another, claimsOf(client), { kid: "one", jwk: another.jwk }),
    "a key of one's own, embedded under the name of the client's": async (client) =>
      signed(another, claimsOf(client), { kid: "one", jwk: { ...another.jwk, kid: "one" } }),
    "a key of one's own, embedded without a name": async (client) =>
      signed(another, claimsOf(client), { kid: undefined, jwk: { ...another.jwk, kid: undefined } }),
    "a key of one's own, by address": async (client) =>
      signed(another, claimsOf(client), {
        kid: "one",
        jku: "https://evil.example/jwks",
        x5u: "https://evil.example/x"
      }),
    "an extension that must be understood": (client) => signedAs({ crit: ["x"], x: 1 }, part(claimsOf(client))),
    "an extension that is not there": (client) => signedAs({ crit: ["x"] }, part(claimsOf(client))),
    "an empty list of extensions": (client) => signedAs({ crit: [] }, part(claimsOf(client))),
    "an extension that many know": (client) => signedAs({ b64: true, crit: ["b64"] }, part(claimsOf(client))),
    "a payload that is not encoded": (client) => signedAs({ b64: false, crit: ["b64"] }, part(claimsOf(client))),
    "a payload that is not encoded, unsaid": (client) => signedAs({ b64: false }, part(claimsOf(client))),
    "a header that was changed": async (client) => {
      const [, claims, signature] = (await signed(es256, claimsOf(client))).split(".")
      return `${part({ alg: "ES256", kid: "one", x: 1 })}.${claims}.${signature}`
    },
    "a signature cut short": async (client) => (await signed(es256, claimsOf(client))).slice(0, -2),
    "a signature of zeros": (client) =>
      `${part({ alg: "ES256", kid: "one" })}.${part(claimsOf(client))}.${Buffer.alloc(64).toString("base64url")}`
  },
  assertion_key_unknown: {
    "a key of one's own, named": async (client) => signed(another, claimsOf(client)),
    "a key of another kind": async (client) => signed(eddsa, claimsOf(client), { kid: "one" }),
    "a key's name that leads elsewhere": async (client) => signed(es256, claimsOf(client), { kid: "../../one" }),
    "a key's name with a quote": async (client) => signed(es256, claimsOf(client), { kid: "one' OR '1'='1" }),
    "a key's name of a prototype": async (client) => signed(es256, claimsOf(client), { kid: "__proto__" }),
    "claims that were changed": async (client, other) => {
      const [header, , signature] = (await signed(es256, claimsOf(client))).split(".")
      return `${header}.${part(claimsOf(other))}.${signature}`
    },
    "another client as the subject": async (client, other) => signed(es256, claimsOf(client, { sub: other })),
    "another client in all": async (_, other) => signed(es256, claimsOf(other)),
    "two subjects, the last another's": async (client, other) =>
      signed(
        es256,
        `{"sub":"${client}","iss":"${client}","aud":"${issuer}","jti":"d","exp":${now + 60},"sub":"${other}"}`
      )
  },
  assertion_subject: {
    "no issuer": async (client) => signed(es256, claimsOf(client, { iss: undefined })),
    "another issuer": async (client, other) => signed(es256, claimsOf(client, { iss: other }))
  },
  unknown: {
    "no subject": async (client) => signed(es256, claimsOf(client, { sub: undefined })),
    "a subject that is a list": async (client) => signed(es256, claimsOf(client, { sub: [client] })),
    "a client that is not there": async () => signed(es256, claimsOf("AAAAAAAAAAAAAAAAAAAAAA"))
  },
  assertion_audience: {
    "no audience": async (client) => signed(es256, claimsOf(client, { aud: undefined })),
    "another server": async (client) => signed(es256, claimsOf(client, { aud: "https://evil.example" })),
    "a list with this server": async (client) => signed(es256, claimsOf(client, { aud: [issuer] })),
    "a list with this server and another": async (client) =>
      signed(es256, claimsOf(client, { aud: [issuer, "https://evil.example"] })),
    "the issuer with a slash": async (client) => signed(es256, claimsOf(client, { aud: `${issuer}/` })),
    "the issuer in other letters": async (client) => signed(es256, claimsOf(client, { aud: issuer.toUpperCase() })),
    "the issuer's beginning": async (client) => signed(es256, claimsOf(client, { aud: issuer.slice(0, -1) })),
    "the issuer and more": async (client) => signed(es256, claimsOf(client, { aud: `${issuer}.evil.example` })),
    "another endpoint of this server": async (client) =>
      signed(es256, claimsOf(client, { aud: `${issuer}/oauth/revoke` })),
    "the client itself as the audience": async (client) => signed(es256, claimsOf(client, { aud: client }))
  },
  assertion_without_id: {
    "no jti": async (client) => signed(es256, claimsOf(client, { jti: undefined })),
    "an empty jti": async (client) => signed(es256, claimsOf(client, { jti: "" })),
    "a number as the jti": async (client) => signed(es256, claimsOf(client, { jti: 1 })),
    "a jti without an end": async (client) => signed(es256, claimsOf(client, { jti: "x".repeat(257) }))
  },
  assertion_type: {
    "a proof of possession": async (client) => signed(es256, claimsOf(client), { typ: "dpop+jwt" }),
    "an access token": async (client) => signed(es256, claimsOf(client), { typ: "at+jwt" }),
    "an ID token's sibling": async (client) => signed(es256, claimsOf(client), { typ: "oauth-id-jag+jwt" })
  },
  assertion_from_the_future: {
    "a time that no number holds": async (client) =>
      signed(es256, `{"sub":"${client}","iss":"${client}","aud":"${issuer}","jti":"t","exp":${now + 60},"iat":-1e999}`)
  }
}

describe("a hostile assertion", () => {
  test("is told from one that is signed in the same way, and good", () =>
    inWorld(function* (world) {
      const client = yield* registered(world, { jwks: { keys: [es256.jwk] } })
      const assertion = yield* Effect.promise(() => signedAs({}, part(claimsOf(client))))
      expect(yield* ask(world, assertion)).toEqual(granted)
    }, signing))

  const rows = Object.entries(hostile).flatMap(([reason, all]) =>
    Object.entries(all).map(([what, forge]) => [what, reason, forge] as const)
  )
  test.each(rows)("with %s is no proof: %s", (_, reason, forge) =>
    inWorld(function* (world) {
      const client = yield* registered(world, { jwks: { keys: [es256.jwk] } })
      const other = yield* registered(world, { jwks: { keys: [another.jwk] } })
      const assertion = yield* Effect.promise(async () => forge(client, other))
      expect(yield* ask(world, assertion)).toEqual(refused)
      expect(world.audit.at(-1)?.event).toMatchObject({ refusal: "InvalidClient", reason })
      // And nothing of it was kept.
      expect(world.calls.insert.filter((kind) => kind === "once")).toEqual([])
    }, signing)
  )

  test("of which half came is one all the same: its client is not let in by its name alone", () =>
    inWorld(function* (world) {
      const client = yield* registered(world, { token_endpoint_auth_method: "none", grant_types: undefined })
      const assertion = yield* Effect.promise(() => signed(es256, claimsOf(client)))
      const halves: ReadonlyArray<readonly [Record<string, string>, number]> = [
        [{}, 200],
        [{ client_assertion_type: assertionType }, 401],
        [{ client_assertion: assertion }, 401]
      ]
      for (const [half, status] of halves) {
        const body = new URLSearchParams({ client_id: client, token: "x", ...half }).toString()
        const answer = yield* world.send("POST", "/oauth/revoke", { headers: form, body })
        expect([half, answer.status]).toEqual([half, status])
      }
    }, signing))

  const beside: ReadonlyArray<readonly [string, Record<string, string>, { status: number; error: string }]> = [
    ["a secret", { client_secret: "secret" }, { status: 400, error: "invalid_request" }],
    ["no type", { client_assertion_type: "" }, refused],
    ["another type", { client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:saml2-bearer" }, refused],
    ["another client's id", { client_id: "AAAAAAAAAAAAAAAAAAAAAA" }, refused],
    ["a client's id that is none", { client_id: "x" }, refused]
  ]
  test.each(beside)("beside %s is refused", (_, more, expected) =>
    inWorld(function* (world) {
      const client = yield* registered(world, { jwks: { keys: [es256.jwk] } })
      const assertion = yield* Effect.promise(() => signed(es256, claimsOf(client)))
      expect(yield* ask(world, assertion, more)).toEqual(expected)
    }, signing)
  )

  test("proves no client that registered a secret, or nothing", () =>
    inWorld(function* (world) {
      for (const method of ["client_secret_basic", "client_secret_post"]) {
        const client = yield* registered(world, { token_endpoint_auth_method: method, jwks: { keys: [es256.jwk] } })
        const assertion = yield* Effect.promise(() => signed(es256, claimsOf(client)))
        expect(yield* ask(world, assertion)).toEqual(refused)
      }
    }, signing))

  test("by another algorithm than the client or its key is for", () =>
    inWorld(function* (world) {
      const byRs256 = { ...rsa, alg: "RS256" }
      const key = yield* Effect.promise(async () => {
        const data = await crypto.subtle.exportKey("pkcs8", rsa.sign)
        const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" }
        return crypto.subtle.importKey("pkcs8", data, algorithm, false, ["sign"])
      })
      const registrations = [
        { jwks: { keys: [rsa.jwk] }, token_endpoint_auth_signing_alg: "PS256" },
        { jwks: { keys: [{ ...rsa.jwk, alg: "PS256" }] } },
        { jwks: { keys: [{ ...rsa.jwk, use: "enc" }, es256.jwk] } },
        { jwks: { keys: [{ ...rsa.jwk, key_ops: ["encrypt"] }, es256.jwk] } }
      ]
      for (const registration of registrations) {
        const client = yield* registered(world, registration)
        const assertion = yield* Effect.promise(() => signed({ ...byRs256, sign: key }, claimsOf(client)))
        expect([registration, yield* ask(world, assertion)]).toEqual([registration, refused])
      }
      const client = yield* registered(world, { jwks: { keys: [rsa.jwk] } })
      const assertion = yield* Effect.promise(() => signed({ ...byRs256, sign: key }, claimsOf(client)))
      expect(yield* ask(world, assertion)).toEqual(granted)
    }, signing))
})

describe("a registration of keys", () => {
  const wrong: Readonly<Record<string, Record<string, unknown>>> = {
    "no keys": {},
    "keys and their address": { jwks: { keys: [es256.jwk] }, jwks_uri: "https://app.example.org/jwks" },
    "an empty set": { jwks: { keys: [] } },
    "no set": { jwks: { key: es256.jwk } },
    "a set of texts": { jwks: { keys: ["key"] } },
    "a private key": { jwks: { keys: [{ ...es256.jwk, d: "AAAA" }] } },
    "a private key beside a good one": { jwks: { keys: [es256.jwk, { ...another.jwk, d: "" }] } },
    "a shared secret": { jwks: { keys: [{ kty: "oct", k: "AAAA" }] } },
    "a shared secret beside a good key": { jwks: { keys: [es256.jwk, { kty: "oct", k: "AAAA" }] } },
    "a curve that is not here": { jwks: { keys: [{ ...es256.jwk, crv: "P-521" }] } },
    "a short coordinate": { jwks: { keys: [{ ...es256.jwk, x: "AAAA" }] } },
    "a key that something is encrypted for": { jwks: { keys: [{ ...es256.jwk, use: "enc" }] } },
    "a key that verifies nothing": { jwks: { keys: [{ ...es256.jwk, key_ops: ["encrypt"] }] } },
    "a key of an algorithm that signs nothing": { jwks: { keys: [{ ...es256.jwk, alg: "ECDH-ES" }] } },
    "no key for the algorithm that it registers": {
      jwks: { keys: [es256.jwk] },
      token_endpoint_auth_signing_alg: "PS256"
    },
    "a key that is for another algorithm than it registers": {
      jwks: { keys: [{ ...rsa.jwk, alg: "RS256" }] },
      token_endpoint_auth_signing_alg: "PS256"
    },
    "a short RSA key": { jwks: { keys: [{ kty: "RSA", e: "AQAB", n: "A".repeat(171) }] } },
    "an RSA key without an end": { jwks: { keys: [{ kty: "RSA", e: "AQAB", n: "A".repeat(699) }] } },
    "an exponent as long as the key": { jwks: { keys: [{ ...rsa.jwk, e: rsa.jwk.n }] } },
    "too many keys": { jwks: { keys: Array(21).fill(es256.jwk) } },
    "more keys than a client may take": { jwks: { keys: Array(20).fill(rsa.jwk) } },
    "an address without TLS": { jwks_uri: "http://app.example.org/jwks" },
    "an address with a password": { jwks_uri: "https://a:b@app.example.org/jwks" },
    "an address with a name": { jwks_uri: "https://a@app.example.org/jwks" },
    "an address with nothing but a password": { jwks_uri: "https://:b@app.example.org/jwks" },
    "an address with a fragment": { jwks_uri: "https://app.example.org/jwks#x" },
    "an address that is none": { jwks_uri: "https://" },
    "an address that cannot be read": { jwks_uri: "https://[" },
    "an algorithm that is a secret's": {
      jwks: { keys: [es256.jwk] },
      token_endpoint_auth_signing_alg: "HS256"
    },
    "the algorithm none": { jwks: { keys: [es256.jwk] }, token_endpoint_auth_signing_alg: "none" },
    "a secret as the key of a signature": { token_endpoint_auth_method: "client_secret_jwt" }
  }
  test.each(Object.entries(wrong))("with %s is refused", (_, metadata) =>
    inWorld(function* (world) {
      const { body, status } = yield* register(world, metadata)
      expect([status, body.error]).toEqual([400, "invalid_client_metadata"])
    }, signing)
  )

  const methods = ["client_secret_basic", "client_secret_post", "none", "private_key_jwt"]
  const servers: ReadonlyArray<readonly [string, WorldOptions, ReadonlyArray<string>]> = [
    ["reads signatures", signing, methods],
    ["reads none", {}, methods.slice(0, 3)]
  ]
  for (const [server, options, taken] of servers) {
    test.each(taken)(
      `that cannot be is refused for the method %s too, first and later, where the server ${server}`,
      (by) =>
        inWorld(function* (world) {
          const asked = { token_endpoint_auth_method: by, grant_types: ["authorization_code"] }
          const good = by === "private_key_jwt" ? { ...asked, jwks: { keys: [es256.jwk] } } : asked
          const { body: own } = yield* register(world, good)
          const path = new URL(String(own.registration_client_uri)).pathname
          const put = (metadata: Record<string, unknown>) =>
            Effect.map(
              world.send("PUT", path, {
                headers: {
                  "content-type": "application/json",
                  authorization: `Bearer ${own.registration_access_token}`
                },
                body: JSON.stringify({
                  client_id: own.client_id,
                  redirect_uris: ["https://app.example.org/callback"],
                  ...metadata
                })
              }),
              ({ body, status }) => ({ status, body: JSON.parse(body) as Record<string, unknown> })
            )
          const writes = () => [world.calls.insert.length, world.calls.replace.length]
          const known = writes()
          const keys = { jwks: { keys: [another.jwk, { ...es256.jwk, d: "c2VjcmV0" }] } }
          for (const wrong of [
            keys,
            { jwks: { keys: [es256.jwk] }, jwks_uri: "https://app.example.org/jwks" },
            { ...keys, jwks_uri: "https://app.example.org/jwks" }
          ]) {
            for (const send of [put, (metadata: Record<string, unknown>) => register(world, metadata)]) {
              const { body, status } = yield* send({ ...asked, ...wrong })
              expect([status, body.error]).toEqual([400, "invalid_client_metadata"])
              expect(String(body.error_description)).not.toContain("c2VjcmV0")
              expect(/\b2\b.*\bd\b/.test(String(body.error_description))).toBe(wrong.jwks === keys.jwks)
            }
          }
          expect(writes()).toEqual(known)
          expect((yield* put(good)).status).toBe(200)
        }, options)
    )
  }

  test("is told what is wrong: that a key is a secret no more, or what keys are taken", () =>
    inWorld(function* (world) {
      const toldOf = (metadata: Record<string, unknown>) =>
        Effect.map(register(world, metadata), ({ body }) => String(body.error_description))
      const wrongSet = yield* toldOf({ jwks: { keys: "key" } })
      const secret = yield* toldOf({ jwks: { keys: [{ ...es256.jwk, d: "AAAA" }] } })
      expect(secret).not.toBe(wrongSet)
      // Of several it is told which, and by which member, and nothing of the secret.
      const second = yield* toldOf({ jwks: { keys: [es256.jwk, { ...another.jwk, d: "BBBB" }] } })
      expect([/\b1\b/.test(secret), /\bd\b/.test(secret), secret.includes("AAAA")]).toEqual([true, true, false])
      expect(second).toBe(secret.replace("1", "2"))
      const none = yield* toldOf({ jwks: { keys: [{ kty: "EC", crv: "P-384", x: "AAAA", y: "AAAA" }] } })
      expect(none).toContain(algorithms.join(", "))
    }, signing))

  test("has keys or an address, as it was told, and an algorithm where it named one", () =>
    inWorld(function* (world) {
      const jwksUri = "https://app.example.org/jwks"
      const fetched = (yield* register(world, { jwks_uri: jwksUri })).body
      expect([fetched.jwks_uri, "jwks" in fetched]).toEqual([jwksUri, false])
      expect("token_endpoint_auth_signing_alg" in fetched).toBe(false)
      const given = (yield* register(world, { jwks: { keys: [es256.jwk] } })).body
      expect(["jwks_uri" in given, given.jwks]).toEqual([false, { keys: [es256.jwk] }])
    }, signing))

  test("passes over keys that are for something else", () =>
    inWorld(function* (world) {
      const other = { kty: "EC", crv: "P-384", x: "AAAA", y: "AAAA" }
      const client = yield* registered(world, { jwks: { keys: [other, es256.jwk] } })
      const assertion = yield* Effect.promise(() => signed(es256, claimsOf(client)))
      expect(yield* ask(world, assertion)).toEqual(granted)
    }, signing))

  test("at an address is no failed authentication where this server fetches nothing: the client is to come again", () =>
    inWorld(function* (world) {
      const client = yield* registered(world, { jwks_uri: "https://app.example.org/jwks" })
      const assertion = yield* Effect.promise(() => signed(es256, claimsOf(client)))
      expect(yield* ask(world, assertion)).toEqual({ status: 503, error: "temporarily_unavailable" })
    }, signing))

  test("at an address is fetched anew for a key that is named and not known, and for no other", () => {
    const web = new DocumentsWeb()
    const jwksUri = "https://app.example.org/jwks"
    const publish = (...keys: ReadonlyArray<JWK>) => web.pages.set(jwksUri, { body: { keys } })
    publish(es256.jwk)
    return inWorld(
      function* (world) {
        const client = yield* registered(world, { jwks_uri: jwksUri })
        const by = (signer: Signer, header: object) =>
          Effect.flatMap(
            Effect.promise(() => signed(signer, claimsOf(client), header)),
            (assertion) => ask(world, assertion)
          )
        expect(yield* by(es256, {})).toEqual(granted)
        publish(es256.jwk, another.jwk)
        yield* TestClock.adjust("61 seconds")
        const asked = web.asked.length
        for (const kid of [undefined, 2, null]) expect(yield* by(another, { kid })).toEqual(refused)
        expect(web.asked.length).toBe(asked)
        expect(yield* by(another, {})).toEqual(granted)
        expect(web.asked.slice(asked)).toEqual([jwksUri])
      },
      { ...signing, documents: web.layer() }
    )
  })

  test("is one of the table of methods only once", () => {
    expect(clientAuths.filter(({ name }) => name === "private_key_jwt").length).toBe(1)
  })
})
