import { describe, expect, test } from "bun:test"
import { Duration } from "effect"
import {
  CompactSign,
  type CryptoKey,
  createRemoteJWKSet,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  type JWK,
  jwtVerify
} from "jose"
import { signsFor } from "../../core/engine/signingKeys.ts"
import { BadGuardOption, type JwtGuardFailure, type JwtGuardOptions, jwtGuard } from "../../runtimes/guard.ts"
import { createTessera, type EmbeddedTessera } from "../../runtimes/tessera.ts"
import { options, testClock } from "../embed/host.ts"

const issuer = "https://auth.example"
const resource = "https://auth.example/rest"
const utf8 = new TextEncoder()
const needs = { scopes: ["api"] }

interface Key {
  readonly sign: CryptoKey
  readonly jwk: JWK
}

const keyOf = async (alg: string, kid: string): Promise<Key> => {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { sign: privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } }
}

const one = await keyOf("ES256", "one")
const two = await keyOf("ES256", "two")
const rsa = await keyOf("RS256", "rsa")
const pss = await keyOf("PS256", "pss")
const foreign = await keyOf("ES256", "one")

const part = (text: string) => Buffer.from(text).toString("base64url")

interface Made {
  readonly header?: Record<string, unknown>
  readonly claims?: Record<string, unknown>
  readonly by?: Key
  readonly alg?: string
}

/** A guard over an issuer that is made of its keys alone. */
const scene = async (over: Partial<JwtGuardOptions> = {}, published: ReadonlyArray<Key> = [one, rsa]) => {
  const { clock, wait } = await testClock()
  const line = { asked: 0, keys: published, status: 200, body: undefined as string | undefined }
  const failures: Array<JwtGuardFailure> = []
  const guard = jwtGuard({
    issuer,
    resource,
    clock,
    fetch: async () => {
      line.asked++
      return new Response(line.body ?? JSON.stringify({ keys: line.keys.map(({ jwk }) => jwk) }), {
        status: line.status
      })
    },
    onFailure: (failure) => failures.push(failure),
    ...over
  })
  const now = () => clock.currentTimeMillisUnsafe() / 1000
  const claimsOf = (claims: Record<string, unknown> = {}) => ({
    iss: issuer,
    sub: "ada",
    aud: resource,
    client_id: "c".repeat(22),
    exp: now() + 300,
    iat: now(),
    jti: "0011223344556677",
    scope: "api",
    principal: "User",
    grant: "3hGTh17j",
    ref: "sealed",
    ...claims
  })
  const token = ({ alg, by = one, claims, header }: Made = {}) =>
    new CompactSign(utf8.encode(JSON.stringify(claimsOf(claims))))
      .setProtectedHeader({
        alg: alg ?? by.jwk.alg ?? "",
        kid: by.jwk.kid ?? "",
        typ: "at+jwt",
        ...header
      })
      .sign(by.sign)
  const ask = async (text: string, path = "/rest/orders", asks = needs) => {
    const headers = { authorization: `Bearer ${text}` }
    const checked = await guard.guard(new Request(`https://auth.example${path}`, { headers }), asks)
    return checked._tag === "Admitted" ? checked.principal : checked.response.status
  }
  return { ask, claimsOf, failures, line, token, wait }
}

/** What is made while the platform says this of itself. */
const withNavigator = async <A>(value: object, make: () => Promise<A>): Promise<A> => {
  const { navigator } = globalThis
  Object.defineProperty(globalThis, "navigator", { value, configurable: true })
  try {
    return await make()
  } finally {
    Object.defineProperty(globalThis, "navigator", { value: navigator, configurable: true })
  }
}

type Scene = Awaited<ReturnType<typeof scene>>

/** Each member that a token has to have, left out. */
const without = ["iss", "sub", "aud", "client_id", "exp", "iat", "jti", "scope", "principal", "grant"].map(
  (name) => [`without ${name}`, ({ token }: Scene) => token({ claims: { [name]: undefined } })] as const
)

const unsigned = (header: string, claims: string, signature = "AAAA") => `${part(header)}.${part(claims)}.${signature}`

const raw = (header: string, claims: string) =>
  new CompactSign(utf8.encode(claims)).setProtectedHeader(JSON.parse(header)).sign(one.sign)

const hmac = async (text: string, secret: string) => {
  const hash = { name: "HMAC", hash: "SHA-256" }
  const key = await crypto.subtle.importKey("raw", utf8.encode(secret), hash, false, ["sign"])
  return Buffer.from(await crypto.subtle.sign("HMAC", key, utf8.encode(text))).toString("base64url")
}

type Row = readonly [what: string, make: (scene: Scene) => string | Promise<string>]

const hostile: ReadonlyArray<Row> = [
  ["without a signature", async ({ token }) => `${(await token()).split(".").slice(0, 2).join(".")}.`],
  ["alg none", ({ claimsOf }) => unsigned('{"alg":"none","typ":"at+jwt","kid":"one"}', JSON.stringify(claimsOf()), "")],
  [
    "alg none, with a signature",
    ({ claimsOf }) => unsigned('{"alg":"none","typ":"at+jwt","kid":"one"}', JSON.stringify(claimsOf()))
  ],
  ["alg nOnE", ({ claimsOf }) => unsigned('{"alg":"nOnE","typ":"at+jwt","kid":"one"}', JSON.stringify(claimsOf()))],
  [
    "HS256 with the public key's text",
    async ({ claimsOf }) => {
      const text = `${part('{"alg":"HS256","typ":"at+jwt","kid":"one"}')}.${part(JSON.stringify(claimsOf()))}`
      return `${text}.${await hmac(text, JSON.stringify(one.jwk))}`
    }
  ],
  [
    "HS256 with the public key's coordinate",
    async ({ claimsOf }) => {
      const text = `${part('{"alg":"HS256","typ":"at+jwt","kid":"one"}')}.${part(JSON.stringify(claimsOf()))}`
      return `${text}.${await hmac(text, one.jwk.x ?? "")}`
    }
  ],
  ["an algorithm that is not taken here", ({ token }) => token({ by: pss })],
  ["another algorithm than the key's", ({ token }) => token({ by: { sign: pss.sign, jwk: rsa.jwk }, alg: "PS256" })],
  ["typ JWT", ({ token }) => token({ header: { typ: "JWT" } })],
  ["without typ", ({ token }) => token({ header: { typ: undefined } })],
  ["typ of an ID token's kind", ({ token }) => token({ header: { typ: "id_token+jwt" } })],
  ["typ in an array", ({ token }) => token({ header: { typ: ["at+jwt"] } })],
  ["typ of a client's assertion", ({ token }) => token({ header: { typ: "client-authentication+jwt" } })],
  [
    "an ID token",
    ({ token }) =>
      token({
        header: { typ: "JWT" },
        claims: { aud: "c".repeat(22), client_id: undefined, nonce: "n", scope: undefined }
      })
  ],
  ["another issuer", ({ token }) => token({ claims: { iss: "https://other.example" } })],
  ["the issuer with a slash", ({ token }) => token({ claims: { iss: `${issuer}/` } })],
  ["the issuer in an array", ({ token }) => token({ claims: { iss: [issuer] } })],
  ["another audience", ({ token }) => token({ claims: { aud: "https://other.example" } })],
  ["another resource beside this", ({ token }) => token({ claims: { aud: "https://auth.example/mcp" } })],
  ["an issuer that only begins alike", ({ token }) => token({ claims: { aud: "https://auth.example.evil.example" } })],
  ["a resource that only begins alike", ({ token }) => token({ claims: { aud: "https://auth.example/re" } })],
  [
    "several audiences, none of them ours",
    ({ token }) => token({ claims: { aud: ["https://auth.example/mcp", "https://other.example"] } })
  ],
  ["no audience in an array", ({ token }) => token({ claims: { aud: [] } })],
  ["an audience that is no text", ({ token }) => token({ claims: { aud: [1] } })],
  ["expired", ({ claimsOf, token }) => token({ claims: { exp: claimsOf().iat - 10 } })],
  ["an end that is a text", ({ claimsOf, token }) => token({ claims: { exp: String(claimsOf().exp) } })],
  [
    "an end without end",
    ({ claimsOf }) =>
      raw(
        JSON.stringify({ alg: "ES256", typ: "at+jwt", kid: "one" }),
        JSON.stringify(claimsOf()).replace(/"exp":[\d.]+/, '"exp":1e999')
      )
  ],
  ["made in the future", ({ claimsOf, token }) => token({ claims: { iat: claimsOf().iat + 11 } })],
  ["not good yet", ({ claimsOf, token }) => token({ claims: { nbf: claimsOf().iat + 11 } })],
  [
    "made in the future, and good since yesterday",
    ({ claimsOf, token }) => token({ claims: { iat: claimsOf().iat + 11, nbf: claimsOf().iat - 86_400 } })
  ],
  ["nbf that is no number", ({ token }) => token({ claims: { nbf: "now" } })],
  ["of no person", ({ token }) => token({ claims: { sub: "" } })],
  ["in the name of an API key", ({ token }) => token({ claims: { principal: "ApiKey" } })],
  ["scopes in an array", ({ token }) => token({ claims: { scope: ["api"] } })],
  ...without,
  ["a signature by another's key of the same name", ({ token }) => token({ by: foreign })],
  ["a key that is not told", ({ token }) => token({ by: two })],
  ["without kid", ({ token }) => token({ header: { kid: undefined } })],
  ["a kid that is a path", ({ token }) => token({ header: { kid: "../../one" } })],
  ["a kid that is no text", ({ token }) => token({ header: { kid: 1 } as never })],
  ["a key of its own in the header", ({ token }) => token({ by: foreign, header: { jwk: foreign.jwk } })],
  [
    "the address of a key in the header",
    ({ token }) => token({ by: foreign, header: { jku: "https://evil.example/jwks" } })
  ],
  [
    "a certificate's address in the header",
    ({ token }) => token({ by: foreign, header: { x5u: "https://evil.example/c" } })
  ],
  [
    "an extension that has to be understood",
    async ({ claimsOf, token }) => {
      const [, , signature = ""] = await token().then((text) => text.split("."))
      return unsigned(
        '{"alg":"ES256","typ":"at+jwt","kid":"one","crit":["x"],"x":1}',
        JSON.stringify(claimsOf()),
        signature
      )
    }
  ],
  [
    "b64 false",
    async ({ claimsOf }) =>
      unsigned('{"alg":"ES256","typ":"at+jwt","kid":"one","b64":false}', JSON.stringify(claimsOf()))
  ],
  [
    "two audiences by a duplicate member, the last another's",
    ({ claimsOf }) =>
      raw(
        JSON.stringify({ alg: "ES256", typ: "at+jwt", kid: "one" }),
        `${JSON.stringify(claimsOf()).slice(0, -1)},"aud":"https://other.example"}`
      )
  ],
  [
    "two algorithms by a duplicate member",
    async ({ claimsOf }) =>
      unsigned('{"alg":"ES256","typ":"at+jwt","kid":"one","alg":"none"}', JSON.stringify(claimsOf()))
  ],
  ["claims that are an array", () => raw(JSON.stringify({ alg: "ES256", typ: "at+jwt", kid: "one" }), "[]")],
  ["claims that are no JSON", () => raw(JSON.stringify({ alg: "ES256", typ: "at+jwt", kid: "one" }), "{")],
  [
    "claims of another token",
    async ({ claimsOf, token }) => {
      const [header = "", , signature = ""] = (await token()).split(".")
      return `${header}.${part(JSON.stringify(claimsOf({ sub: "grace" })))}.${signature}`
    }
  ],
  ["four parts", async ({ token }) => `${await token()}.AAAA`],
  ["padding", async ({ token }) => `${await token()}=`],
  ["too long to look at", ({ token }) => token({ claims: { padding: "x".repeat(9000) } })],
  ["an opaque token", () => `tsr_at_${"A".repeat(120)}`],
  ["an API key", () => `tsr_ak_${"A".repeat(80)}`]
]

describe("a guard over JWTs refuses", () => {
  for (const [what, make] of hostile) {
    test(what, async () => {
      const given = await scene()
      expect(await given.ask(await make(given))).toBe(401)
      // The guard asks only the issuer, and once at most.
      expect(given.line.asked).toBeLessThan(2)
    })
  }
})

describe("a guard over JWTs", () => {
  test("says who calls, and asks for the keys once", async () => {
    const { ask, line, token } = await scene()
    const caller = {
      user: "ada",
      client: "c".repeat(22),
      grant: "3hGTh17j",
      issuer,
      scope: ["api"],
      resources: [resource]
    }
    for (let n = 0; n < 3; n++) expect(await ask(await token())).toMatchObject({ _tag: "User", ...caller })
    expect(await ask(await token())).not.toHaveProperty("place")
    expect(await ask(await token({ claims: { place: "mill" } }))).toMatchObject({ ...caller, place: "mill" })
    expect(await ask(await token({ by: rsa, claims: { principal: "Workspace" } }))).toMatchObject({ _tag: "Workspace" })
    expect(await ask(await token({ header: { typ: "application/at+jwt" }, claims: { aud: [issuer] } }))).toMatchObject({
      resources: null
    })
    expect(line.asked).toBe(1)
  })

  test("asks for no keys for what it refuses by its words alone", async () => {
    const refused: ReadonlyArray<Made> = [
      { by: pss },
      { header: { typ: "JWT" } },
      { claims: { iss: "https://other.example" } },
      { claims: { aud: "https://other.example" } },
      { claims: { exp: 1 } }
    ]
    const { ask, line, token } = await scene({}, [one, rsa, pss])
    for (const made of refused) expect(await ask(await token(made))).toBe(401)
    expect(line.asked).toBe(0)
  })

  test.each([
    ["https://auth.example/rest", "/rest"],
    ["https://auth.example/rest/", "/rest"],
    ["https://auth.example", ""],
    ["https://auth.example/", ""]
  ])("takes a token for a part of %s there alone", async (given, base) => {
    const { ask, token } = await scene({ issuer: "https://as.example", resource: given })
    const asked = async (aud: string, path: string) => {
      const answer = await ask(await token({ claims: { iss: "https://as.example", aud } }), base + path)
      return typeof answer === "number" ? answer : answer._tag
    }
    const at = `https://auth.example${base}`
    expect(await asked(`${at}/orders`, "/orders/7")).toBe("User")
    expect(await asked(`${at}/orders`, "/bills")).toBe(401)
    expect(await asked(at, "/bills")).toBe("User")
  })

  test("takes a token for the issuer alone as one for all, and one of a list for what is in it", async () => {
    const as = "https://as.example"
    const api = "https://auth.example"
    const { ask, token } = await scene({ issuer: as, resource: api })
    const asked = async (aud: unknown) => {
      const answer = await ask(await token({ claims: { iss: as, aud } }))
      return typeof answer === "number" ? answer : answer.resources
    }
    expect(await asked(as)).toBeNull()
    expect(await asked([as])).toBeNull()
    expect(await asked([as, api])).toEqual([as, api])
    // Of a server that lists this API too, whose scopes the token has none of.
    expect(await asked([as, "https://other.example"])).toBe(401)
    const below = await scene()
    const audiences = [issuer, "https://other.example"]
    expect(await below.ask(await below.token({ claims: { aud: audiences } }))).toMatchObject({ resources: audiences })
  })

  test("admits no caller elsewhere, or for less", async () => {
    const { ask, token } = await scene()
    expect(await ask(await token({ claims: { aud: `${resource}/orders` } }), "/rest/bills")).toBe(401)
    expect(await ask(await token({ claims: { scope: "profile" } }))).toBe(403)
    expect(await ask(await token({ claims: { scope: "profile", implied_scope: "api:read apis" } }))).toBe(403)
    const both = { scopes: ["api", "profile"] }
    for (const claims of [{ scope: "api" }, { scope: "profile", implied_scope: "email" }]) {
      expect(await ask(await token({ claims }), undefined, both)).toBe(403)
    }
    for (const claims of [{ scope: "profile api" }, { scope: "profile", implied_scope: "api" }]) {
      expect(await ask(await token({ claims }), undefined, both)).toMatchObject({ _tag: "User" })
    }
  })

  test("takes what the scopes of a token imply, and tells what was granted", async () => {
    const { ask, token } = await scene()
    const caller = await ask(await token({ claims: { scope: "everything", implied_scope: "api profile" } }))
    expect(caller).toMatchObject({ _tag: "User", scope: ["everything"] })
    expect(await ask(await token({ claims: { implied_scope: ["api"] } }))).toBe(401)
  })

  test("takes clocks that are a little apart, and no more", async () => {
    const { ask, claimsOf, token } = await scene()
    const { iat } = claimsOf()
    expect(await ask(await token({ claims: { iat: iat + 10, nbf: iat + 10, exp: iat - 9 } }))).toMatchObject({
      user: "ada"
    })
    expect(await ask(await token({ claims: { exp: iat - 10 } }))).toBe(401)
  })

  test("fetches keys again for a name that it does not know, at most every 30 seconds", async () => {
    const { ask, line, token, wait } = await scene()
    await ask(await token())
    line.keys = [one, two]
    await wait(30_000)
    expect(await ask(await token({ by: two }))).toMatchObject({ user: "ada" })
    expect(line.asked).toBe(2)
    const flood = Array.from({ length: 100 }, (_, n) => token({ header: { kid: `made up ${n}` } }))
    for (const made of flood) expect(await ask(await made)).toBe(401)
    expect(line.asked).toBe(2)
    await wait(30_000)
    const again = Array.from({ length: 100 }, (_, n) => token({ header: { kid: `again ${n}` } }))
    await Promise.all(again.map(async (made) => expect(await ask(await made)).toBe(401)))
    expect(line.asked).toBe(3)
  })

  test("fetches keys for each request that has none to go on with, where none can wait with another, as on Workers", async () => {
    const fetches = Array.from({ length: 5 }, () => Promise.withResolvers<(answer: Response) => void>())
    let asked = 0
    const fetch = () => new Promise<Response>((resolve) => fetches[asked++]?.resolve(resolve))
    const answer = async (which: number, ...keys: ReadonlyArray<Key>) =>
      (await fetches[which]?.promise)?.(Response.json({ keys: keys.map(({ jwk }) => jwk) }))
    const asOnWorkers = { userAgent: "Cloudflare-Workers" }
    const { ask, claimsOf, token, wait } = await withNavigator(asOnWorkers, () => scene({ fetch }))
    const claims = { exp: claimsOf().exp + 600 }
    const [named, unnamed] = [await token({ claims }), await token({ claims, by: two })]
    void ask(named)
    const admitted = ask(named)
    await answer(1, one)
    expect(await admitted).toHaveProperty("_tag", "User")
    await wait(30_000)
    // What is not answered any more: who began it is gone.
    void ask(unnamed)
    await fetches[2]?.promise
    expect([await ask(unnamed), asked]).toEqual([503, 3])
    // The keys are no longer fresh then, and usable.
    await wait(271_000)
    void ask(unnamed)
    await fetches[3]?.promise
    await wait(2999)
    expect(await ask(named)).toHaveProperty("_tag", "User")
    expect([await ask(unnamed), asked]).toEqual([503, 4])
    await wait(1)
    const renewed = ask(unnamed)
    await answer(4, one, two)
    expect(await renewed).toHaveProperty("_tag", "User")
    expect([await ask(await token({ claims, by: rsa })), asked]).toEqual([401, 5])
  })

  test("takes nothing more by a key that was taken back, once keys are fetched anew", async () => {
    const { ask, line, token, wait } = await scene()
    const text = await token({ claims: { exp: 4_000_000_000 } })
    expect(await ask(text)).toMatchObject({ user: "ada" })
    line.keys = [two]
    await wait(5 * 60_000)
    expect(await ask(text)).toBe(401)
  })

  test("goes on for an hour while keys are not to be had, and then says that it cannot say", async () => {
    const { ask, failures, line, token, wait } = await scene()
    const text = await token({ claims: { exp: 4_000_000_000 } })
    await ask(text)
    line.status = 503
    await wait(30 * 60_000)
    expect(await ask(text)).toMatchObject({ user: "ada" })
    await wait(30 * 60_000)
    expect(await ask(text)).toBe(503)
    expect(failures[0]).toEqual({ _tag: "Status", status: 503, of: "keys" })
  })

  test("reads nothing of an answer that is no 200, however long it goes on", async () => {
    let ended = false
    const endless = new ReadableStream({
      cancel: () => {
        ended = true
      }
    })
    const { ask, failures, token } = await scene({ fetch: async () => new Response(endless, { status: 502 }) })
    expect(await ask(await token())).toBe(503)
    expect(failures).toEqual([{ _tag: "Status", status: 502, of: "keys" }])
    expect(ended).toBe(true)
  })

  test("takes keys from where they are, and follows no address that this sends it to", async () => {
    const keys = { keys: [one.jwk] }
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      routes: { "/jwks": Response.redirect("/keys"), "/keys": () => Response.json(keys) },
      fetch: () => new Response(null, { status: 404 })
    })
    try {
      for (const [path, comes] of [
        ["keys", { user: "ada" }],
        ["jwks", 503]
      ] as const) {
        const { ask, token } = await scene({ jwksUri: `http://127.0.0.1:${server.port}/${path}`, fetch })
        expect([await ask(await token())]).toMatchObject([comes])
      }
    } finally {
      await server.stop(true)
    }
  })

  test("fetches keys anew where its clock was set back: it tells nothing of their age", async () => {
    let now = 2_000_000_000_000
    const clock = { ...(await testClock()).clock, currentTimeMillisUnsafe: () => now }
    const { ask, line, token } = await scene({ clock })
    const text = await token({ claims: { exp: 4_000_000_000, iat: 0 } })
    expect(await ask(text)).toMatchObject({ user: "ada" })
    line.keys = [two]
    now -= 3_600_000
    expect(await ask(text)).toBe(401)
  })

  test("looks for keys again within a second where it has none: it may have started before the server", async () => {
    const { ask, line, token, wait } = await scene()
    line.status = 503
    const flood = await Promise.all(Array.from({ length: 20 }, () => token()))
    for (const text of flood) expect(await ask(text)).toBe(503)
    expect(line.asked).toBe(1)
    line.status = 200
    await wait(999)
    expect([await ask(await token()), line.asked]).toEqual([503, 1])
    await wait(1)
    expect(await ask(await token())).toMatchObject({ user: "ada" })
    expect(line.asked).toBe(2)
  })

  test("waits no longer than it was told to for keys, and is not ended by a listener that throws", async () => {
    const failures: Array<JwtGuardFailure> = []
    const { ask, token } = await scene({
      timeout: 1,
      fetch: () => new Promise<Response>(() => undefined),
      onFailure: (failure) => {
        failures.push(failure)
        throw new Error("the listener's own trouble, which is logged")
      }
    })
    expect(await ask(await token())).toBe(503)
    expect(failures).toEqual([{ _tag: "TimedOut", of: "keys" }])
  })

  test("trusts no set of keys that is none, or tells a secret", async () => {
    const secret = await exportJWK(one.sign)
    const long = JSON.stringify({ keys: [one.jwk], more: "x".repeat(65_536) })
    for (const body of ["{", "[]", '{"keys":1}', JSON.stringify({ keys: [secret] }), long]) {
      const { ask, line, token } = await scene()
      line.body = body
      expect(await ask(await token())).toBe(503)
    }
  })

  test.each([
    ["a grant of another person", { sub: "bob" }],
    ["a grant of another client", { client_id: "d".repeat(22) }],
    ["another grant of the two", { grant: "AAAAAAAA" }]
  ])("learns nothing of %s by what it asked of one that stands", async (_, ofOther) => {
    const keys = { keys: [one.jwk] }
    const { ask, claimsOf, token } = await scene({
      apiKey: "tsr_ak_x",
      fetch: async (url, { body }) => {
        if (url.endsWith("/jwks")) return Response.json(keys)
        const claims = String(new URLSearchParams(String(body)).get("token")).split(".")[1] ?? ""
        const said = JSON.parse(Buffer.from(claims, "base64url").toString())
        return Response.json(said.jti === "good" ? { active: true, token_type: "Bearer", ...said } : { active: false })
      }
    })
    const [good, ended] = [await token({ claims: { jti: "good" } }), await token({ claims: ofOther })]
    expect(claimsOf(ofOther)).not.toEqual(claimsOf())
    expect(await ask(good)).toHaveProperty("_tag", "User")
    expect(await ask(ended)).toBe(401)
  })

  test("counts an answer from when it was asked for: the end of a grant may have come while it was under way", async () => {
    const keys = { keys: [one.jwk] }
    const questions = Array.from({ length: 2 }, () => Promise.withResolvers<(answer: Response) => void>())
    let asked = 0
    const { ask, claimsOf, token, wait } = await scene({
      apiKey: "tsr_ak_x",
      timeout: "40 seconds",
      fetch: async (url) =>
        url.endsWith("/jwks")
          ? Response.json(keys)
          : new Promise<Response>((answer) => questions[asked++]?.resolve(answer))
    })
    const text = await token()
    const good = () => Response.json({ active: true, token_type: "Bearer", ...claimsOf() })
    const first = ask(text)
    const answerLate = await questions[0]?.promise
    await wait(30_000)
    answerLate?.(good())
    expect(await first).toMatchObject({ user: "ada" })
    await wait(29_999)
    expect(await ask(text)).toMatchObject({ user: "ada" })
    await wait(1)
    const second = ask(text)
    const answer = await Promise.race([second, questions[1]?.promise])
    if (typeof answer !== "function") throw new Error("the second question was not asked")
    answer(good())
    expect(await second).toMatchObject({ user: "ada" })
  })

  test("cannot be made of options that cannot be", () => {
    const wrong: ReadonlyArray<readonly [option: string, over: object]> = [
      ["issuer", { issuer: "http://auth.example" }],
      ["resource", { resource: "nowhere" }],
      ["jwksUri", { jwksUri: "http://auth.example/jwks" }],
      ["algorithms", { algorithms: [] }],
      ["algorithms", { algorithms: ["HS256"] }],
      ["algorithms", { algorithms: ["none"] }],
      ["leeway", { leeway: "2 minutes" }],
      ["timeout", { timeout: 0 }],
      ["apiKey", { apiKey: "" }],
      ["apiKey", { revokedWithin: 1000 }],
      ["revokedWithin", { apiKey: "tsr_ak_x", revokedWithin: "soon" }],
      ["introspectionEndpoint", { apiKey: "tsr_ak_x", introspectionEndpoint: "http://auth.example" }],
      ["clock", { clock: {} }],
      ["audience", { audience: "x" }]
    ]
    for (const [option, over] of wrong) {
      let refused: unknown
      try {
        jwtGuard({ issuer, resource, ...over })
      } catch (error) {
        refused = error
      }
      expect([option, refused instanceof BadGuardOption && refused.option]).toEqual([option, option])
    }
  })
})

/** An authorization server that listens, and a client of it with JWTs. */
const withServer = async (
  body: (at: {
    readonly auth: EmbeddedTessera
    readonly issuer: string
    readonly token: () => Promise<string>
    /** Ends one token, and none of its siblings. */
    readonly revoke: (token: string) => Promise<unknown>
    readonly guard: (over?: Partial<JwtGuardOptions>) => (token: string) => Promise<number>
    readonly asked: () => number
    readonly wait: (millis: number) => Promise<void>
    readonly now: () => Date
    readonly end: () => Promise<unknown>
  }) => Promise<void>
) => {
  const { clock, wait } = await testClock()
  let handle: EmbeddedTessera["handle"] = async () => new Response(null, { status: 503 })
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: (request) => handle(request) })
  const at = `http://127.0.0.1:${server.port}`
  const auth = createTessera(options({ clock, issuer: at, housekeeping: false }))
  handle = auth.handle
  let asked = 0
  try {
    const { client, secret } = await auth.clients.register({
      client_name: "Orders",
      grant_types: ["client_credentials"],
      token_endpoint_auth_method: "client_secret_post"
    })
    expect(await auth.clients.setAccessTokenFormat(client.id, "jwt")).toBe(true)
    const post = (endpoint: string, fields: Record<string, string>) => {
      const form = { client_id: client.id, client_secret: secret ?? "", ...fields }
      return fetch(`${at}/oauth/${endpoint}`, { method: "POST", body: new URLSearchParams(form) })
    }
    const token = async () => {
      const answer = await post("token", { grant_type: "client_credentials" })
      return String(((await answer.json()) as { access_token: string }).access_token)
    }
    const guard = (over: Partial<JwtGuardOptions> = {}) => {
      const made = jwtGuard({
        issuer: at,
        resource: at,
        clock,
        fetch: (url, init) => {
          asked++
          return fetch(url, init)
        },
        ...over
      })
      return async (text: string) => {
        const request = new Request(`${at}/orders`, { headers: { authorization: `Bearer ${text}` } })
        const checked = await made.guard(request, needs)
        return checked._tag === "Admitted" ? 200 : checked.response.status
      }
    }
    await body({
      auth,
      issuer: at,
      token,
      revoke: (token) => post("revoke", { token }),
      guard,
      asked: () => asked,
      wait,
      now: () => new Date(clock.currentTimeMillisUnsafe()),
      end: () => auth.clients.disable(client.id)
    })
  } finally {
    await auth.close()
    await server.stop(true)
  }
}

describe("tokens of a real server", () => {
  test("are verified by jose and by the guard, through a rotation", () =>
    withServer(async ({ auth, guard, issuer, now, token, wait }) => {
      const ask = guard()
      const first = await token()
      const remote = createRemoteJWKSet(new URL(`${issuer}/oauth/jwks`), { cooldownDuration: 0 })
      const verify = async (text: string) => {
        const expected = { issuer, audience: issuer, typ: "at+jwt", currentDate: now() }
        return (await jwtVerify(text, remote, expected)).protectedHeader.kid
      }
      const kids = [await verify(first)]
      expect(await ask(first)).toBe(200)
      await wait(Duration.toMillis(signsFor))
      await auth.housekeep()
      for (const minutes of [1, 5, 10, 10]) {
        const text = await token()
        kids.push(await verify(text))
        expect(await ask(text)).toBe(200)
        await wait(minutes * 60_000)
      }
      const last = await token()
      kids.push(await verify(last))
      expect(new Set(kids).size).toBe(2)
      expect(decodeProtectedHeader(last).kid).not.toBe(kids[0])
    }))

  test("outlive the end of their grant where no guard asks, and by no more than was chosen where one does", () =>
    withServer(async ({ asked, auth, end, guard, token, wait }) => {
      const { key } = await auth.apiKeys.create({ name: "Orders API", introspectOnly: true })
      const trusting = guard()
      const asking = guard({ apiKey: key, revokedWithin: "60 seconds" })
      const [text, sibling] = [await token(), await token()]
      expect([await trusting(text), await asking(text), await asking(sibling)]).toEqual([200, 200, 200])
      // Keys for each of the two, and one question for both tokens.
      expect(asked()).toBe(3)
      await end()
      await wait(59_000)
      expect([await trusting(text), await asking(text)]).toEqual([200, 200])
      await wait(1000)
      expect([await trusting(text), await asking(text), await asking(sibling)]).toEqual([200, 401, 401])
      // A token that is known to be bad is not asked about each time.
      const before = asked()
      expect([await asking(text), await asking(sibling), asked()]).toEqual([401, 401, before])
    }))

  test("ask once for their grant though they come at once, and each for itself where the one that asked is bad", () =>
    withServer(async ({ asked, auth, guard, revoke, token, wait }) => {
      const { key } = await auth.apiKeys.create({ name: "Orders API", introspectOnly: true })
      const ask = guard({ apiKey: key })
      const all = await Promise.all(Array.from({ length: 8 }, token))
      const allAtOnce = () => Promise.all(all.map(ask))
      expect(await allAtOnce()).toEqual(all.map(() => 200))
      // The keys, and the question.
      expect(asked()).toBe(2)
      await wait(60_000)
      expect(await allAtOnce()).toEqual(all.map(() => 200))
      expect(asked()).toBe(3)
      await revoke(all[0] ?? "")
      await wait(60_000)
      expect(await allAtOnce()).toEqual(all.map((_, at) => (at === 0 ? 401 : 200)))
      // Where no end is to be noticed late, each is asked about.
      const before = asked()
      expect(await Promise.all(all.map(guard({ apiKey: key, revokedWithin: 0 })))).toContain(401)
      expect(asked() - before).toBe(1 + all.length)
    }))

  test("are refused where the server cannot say whether their grant stands", () =>
    withServer(async ({ guard, token }) => {
      const asking = guard({ apiKey: "tsr_ak_wrong" })
      expect(await asking(await token())).toBe(503)
    }))
})
