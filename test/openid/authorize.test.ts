import { describe, expect, test } from "bun:test"
import { TestClock } from "effect/testing"
import type { HttpResponse } from "../../core/http/Http.ts"
import { DocumentsWeb } from "../given/documentsWeb.ts"
import {
  authorizeTarget,
  codeFor,
  decide,
  form,
  formHeaders,
  header,
  jsonOf,
  provenClient,
  redeem,
  returned,
  type TestClient,
  text,
  unregistered,
  type Values
} from "../given/flow.ts"
import { identify, signsIn, verified } from "../given/openId.ts"
import { inWorld, t0, type World } from "../given/World.ts"

const now = t0 / 1000
const alice = (seconds: number, more = "") => `alice; since=${t0 - seconds * 1000}${more}`

const asked = (world: World, client: TestClient, fields: Values, as?: string) =>
  world.send("GET", authorizeTarget(client, { scope: "openid", ...fields }), as === undefined ? {} : { as })

/** What a request comes to: the sign-in, the consent page, or the error that the client is told. */
const outcomeOf = (response: HttpResponse): string => {
  if (response.status === 200) return "consent"
  const location = header(response, "location") ?? ""
  if (location.startsWith("/login")) return "login"
  return URL.canParse(location) ? (returned(response).get("error") ?? "code") : `${response.status} ${location}`
}

const claimsOf = (value: unknown) => ({ claims: JSON.stringify(value) })

describe("an authorization request says of the sign-in", () => {
  const rows: ReadonlyArray<readonly [name: string, fields: Values, as: string | undefined, outcome: string]> = [
    ["max_age that is long enough", { max_age: "10000" }, alice(60), "consent"],
    ["max_age that has passed", { max_age: "30" }, alice(60), "login"],
    ["max_age that passes now", { max_age: "60" }, alice(60), "consent"],
    ["max_age of nothing", { max_age: "0" }, alice(0), "login"],
    ["max_age, to a host that tells no time", { max_age: "30" }, "alice", "login"],
    ["max_age below zero", { max_age: "-1" }, alice(0), "invalid_request"],
    ["max_age of no number", { max_age: "1e3" }, alice(0), "invalid_request"],
    ["max_age without a number's end", { max_age: "99999999999" }, alice(0), "invalid_request"],
    ["no pages, and too old", { max_age: "30", prompt: "none" }, alice(60), "login_required"],
    ["no pages, and nobody is there", { prompt: "none" }, undefined, "login_required"],
    ["no pages, max_age of nothing", { max_age: "0", prompt: "none" }, alice(0), "login_required"],
    ["a strength that there is", { acr_values: "gold silver" }, alice(0, "; acr=silver"), "consent"],
    ["a strength that there is not", { acr_values: "gold" }, alice(0, "; acr=silver"), "login"],
    ["a strength, to a host that knows none", { acr_values: "1 2" }, alice(0), "consent"],
    [
      "a strength as a wish, and no pages",
      { acr_values: "gold", prompt: "none" },
      alice(0, "; acr=silver"),
      "consent_required"
    ],
    [
      "a strength that there is, where no person signs in",
      { acr_values: "gold silver", scope: "api" },
      alice(0, "; acr=silver"),
      "consent"
    ],
    [
      "a strength that there is not, where no person signs in",
      { acr_values: "gold", scope: "api" },
      alice(0, "; acr=silver"),
      "login"
    ],
    [
      "a strength, where no person signs in, to a host that knows none",
      { acr_values: "1 2", scope: "api" },
      alice(0),
      "unmet_authentication_requirements"
    ],
    [
      "a strength, where no person signs in, and no pages",
      { acr_values: "gold", prompt: "none", scope: "api" },
      alice(0, "; acr=silver"),
      "unmet_authentication_requirements"
    ],
    [
      "a strength that has to be",
      claimsOf({ id_token: { acr: { essential: true, values: ["gold"] } } }),
      alice(0),
      "unmet_authentication_requirements"
    ],
    [
      "a strength that has to be, and no pages",
      { ...claimsOf({ id_token: { acr: { essential: true, value: "gold" } } }), prompt: "none" },
      alice(0, "; acr=silver"),
      "unmet_authentication_requirements"
    ],
    ["who it is", claimsOf({ id_token: { sub: { value: "alice" } } }), alice(0), "consent"],
    [
      "a strength as a wish, by claims",
      claimsOf({ id_token: { acr: { value: "gold" } } }),
      alice(0, "; acr=silver"),
      "consent"
    ],
    ["who of several it is", claimsOf({ id_token: { sub: { values: ["bob", "alice"] } } }), alice(0), "consent"],
    [
      "who it is, and it is none of several",
      claimsOf({ id_token: { sub: { values: ["bob", "eve"] } } }),
      alice(0),
      "login"
    ],
    ["who it is to userinfo, and it is another", claimsOf({ userinfo: { sub: { value: "bob" } } }), alice(0), "login"],
    ["who it is, and it is another", claimsOf({ id_token: { sub: { value: "bob" } } }), alice(0), "login"],
    [
      "who it is, and no pages",
      { ...claimsOf({ id_token: { sub: { value: "bob" } } }), prompt: "none" },
      alice(0),
      "login_required"
    ],
    ["claims that are no JSON", { claims: "{" }, alice(0), "invalid_request"],
    ["claims that are a list", { claims: "[]" }, alice(0), "invalid_request"],
    ["claims of texts", { claims: '{"id_token":{"name":"x"}}' }, alice(0), "invalid_request"],
    [
      "claims that nobody knows",
      claimsOf({ userinfo: { "http://x.example/y": null }, other: {} }),
      alice(0),
      "consent"
    ],
    ["a nonce of 384", { nonce: "n".repeat(384) }, alice(0), "consent"],
    ["a nonce without end", { nonce: "n".repeat(1025) }, alice(0), "invalid_request"],
    ["a hint of somebody unknown", { login_hint: "buffy@host" }, undefined, "login"],
    ["a request object", { request: "eyJhbGciOiJub25lIn0.e30." }, alice(0), "request_not_supported"],
    ["a request object elsewhere", { request_uri: "https://app.example.org/r" }, alice(0), "request_uri_not_supported"],
    ["a registration", { registration: "{}" }, alice(0), "registration_not_supported"],
    ["an implicit flow", { response_type: "id_token" }, alice(0), "unsupported_response_type"],
    ["a hybrid flow", { response_type: "code id_token" }, alice(0), "unsupported_response_type"],
    ["a hint that is none", { id_token_hint: "x" }, alice(0), "invalid_request"],
    ["a hint, of a request that signs no person in", { id_token_hint: "x", scope: "api" }, alice(0), "consent"]
  ]
  test("what it comes to, row by row", () =>
    inWorld(function* (world) {
      const client = yield* provenClient(world)
      for (const [name, fields, as, outcome] of rows) {
        expect([name, outcomeOf(yield* asked(world, client, fields, as))]).toEqual([name, outcome])
      }
    }, signsIn))

  for (const maxAge of ["30", "0"]) {
    test(`comes back from the sign-in and goes on, once it is new enough: ${maxAge} seconds`, () =>
      inWorld(function* (world) {
        const client = yield* provenClient(world)
        const sent = yield* asked(world, client, { max_age: maxAge }, alice(60))
        const back = decodeURIComponent(text(header(sent, "location")).slice("/login?return_to=".length))
        expect(outcomeOf(yield* world.send("GET", back, { as: alice(60) }))).toBe("login_required")
        const page = yield* world.send("GET", back, { as: alice(0) })
        expect(page.status).toBe(200)
        const code = text(returned(yield* decide(world, page, "approve", alice(0))).get("code"))
        const { id_token } = jsonOf(yield* redeem(world, client, code))
        expect((yield* verified(world, client, id_token)).payload.auth_time).toBe(now)
      }, signsIn))
  }

  test("nothing in place of PKCE, where the client has no other proof: a nonce is checked by itself alone", () =>
    inWorld(function* (world) {
      const client = yield* provenClient(world, { token_endpoint_auth_method: "none" })
      const bare = { nonce: "n", code_challenge: undefined, code_challenge_method: undefined }
      expect(outcomeOf(yield* asked(world, client, bare, alice(0)))).toBe("invalid_request")
      expect(outcomeOf(yield* asked(world, client, { nonce: "n" }, alice(0)))).toBe("consent")
    }, signsIn))
})

test("what a client registered is asked of every sign-in that its request says nothing else of", () =>
  inWorld(function* (world) {
    const client = yield* provenClient(world, { default_max_age: 600, default_acr_values: ["gold"] })
    const gold = "; acr=gold"
    const rows: ReadonlyArray<readonly [fields: Values, as: string, outcome: string]> = [
      [{}, alice(600, gold), "consent"],
      [{}, alice(601, gold), "login"],
      [{ prompt: "none" }, alice(601, gold), "login_required"],
      [{}, alice(0, "; acr=silver"), "login"],
      [{ max_age: "1000" }, alice(601, gold), "consent"],
      [{ acr_values: "silver" }, alice(600, "; acr=silver"), "consent"],
      // These are members of OpenID Connect.
      [{ scope: "api" }, alice(601, "; acr=silver"), "consent"]
    ]
    for (const [fields, as, outcome] of rows) {
      expect([fields, as, outcomeOf(yield* asked(world, client, fields, as))]).toEqual([fields, as, outcome])
    }
  }, signsIn))

describe("what the ID token tells of it", () => {
  const rows: ReadonlyArray<readonly [name: string, metadata: object, fields: Values, told: object]> = [
    ["nothing that was not asked", {}, {}, {}],
    ["the time for max_age", {}, { max_age: "10000" }, { auth_time: now - 60 }],
    ["the time for require_auth_time", { require_auth_time: true }, {}, { auth_time: now - 60 }],
    ["the time for default_max_age", { default_max_age: 600 }, {}, { auth_time: now - 60 }],
    ["the time as a claim", {}, claimsOf({ id_token: { auth_time: { essential: true } } }), { auth_time: now - 60 }],
    ["the strength for acr_values", {}, { acr_values: "gold silver" }, { acr: "silver" }],
    ["the strength for default_acr_values", { default_acr_values: ["silver"] }, {}, { acr: "silver" }],
    ["the means as a claim", {}, claimsOf({ id_token: { amr: null } }), { amr: ["pwd"] }],
    ["a claim of the person", {}, claimsOf({ id_token: { name: null } }), { name: "Mx alice" }],
    ["no claim for userinfo", {}, claimsOf({ userinfo: { name: { essential: true } } }), {}],
    ["none that would be another's", {}, claimsOf({ id_token: { iss: null, aud: null, exp: null, azp: null } }), {}]
  ]
  for (const [name, metadata, fields, told] of rows) {
    test(name, () =>
      inWorld(function* (world) {
        const client = yield* provenClient(world, { id_token_signed_response_alg: "ES256", ...metadata })
        const { id_token } = yield* identify(world, client, fields, alice(60, "; acr=silver"))
        const {
          at_hash: _at,
          aud: _aud,
          exp: _exp,
          iat: _iat,
          iss: _iss,
          sid: _sid,
          sub,
          ...rest
        } = (yield* verified(world, client, id_token)).payload
        expect([sub, rest]).toEqual(["alice", { ...told }])
      }, signsIn)
    )
  }
})

describe("id_token_hint", () => {
  test("names who is expected, expired or not, and no person for another client", () =>
    inWorld(function* (world) {
      const [one, other] = [yield* provenClient(world), yield* provenClient(world)]
      const { access_token, id_token } = yield* identify(world, one)
      const hint = text(id_token)
      yield* TestClock.adjust("1 day")
      expect(outcomeOf(yield* asked(world, one, { id_token_hint: hint }, "alice"))).toBe("consent")
      expect(outcomeOf(yield* asked(world, one, { id_token_hint: hint }, "bob"))).toBe("login")
      const silent = { id_token_hint: hint, prompt: "none" }
      expect(outcomeOf(yield* asked(world, one, silent, "bob"))).toBe("login_required")
      const [head = "", body = "", mac = ""] = hint.split(".")
      const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString("base64url")
      for (const bad of [
        `${head}.${body}.`,
        `${none}.${body}.`,
        `${head}.${body}.${mac.slice(0, -4)}AAAA`,
        text(access_token)
      ]) {
        expect(outcomeOf(yield* asked(world, one, { id_token_hint: bad }, "alice"))).toBe("invalid_request")
      }
      expect(outcomeOf(yield* asked(world, other, { id_token_hint: hint }, "alice"))).toBe("invalid_request")
      const [same, another] = ["alice", "bob"].map((value) => claimsOf({ id_token: { sub: { value } } }))
      const either = claimsOf({ id_token: { sub: { values: ["bob", "alice"] } } })
      for (const claims of [same, either]) {
        expect(outcomeOf(yield* asked(world, one, { id_token_hint: hint, ...claims }, "alice"))).toBe("consent")
      }
      expect(outcomeOf(yield* asked(world, one, { ...silent, ...either }, "bob"))).toBe("login_required")
      for (const who of ["alice", "bob"]) {
        expect(outcomeOf(yield* asked(world, one, { id_token_hint: hint, ...another }, who))).toBe("invalid_request")
      }
    }, signsIn))

  test("is taken of a program that is known by its document, and by no other name", () => {
    const web = new DocumentsWeb()
    const [one, other] = ["one", "other"].map((name) => web.publish(`https://${name}.example.org/client.json`))
    const program = (id = ""): TestClient => unregistered(id)
    return inWorld(
      function* (world) {
        yield* identify(world, program(other))
        const { id_token } = yield* identify(world, program(one))
        const hint = { id_token_hint: text(id_token) }
        expect(outcomeOf(yield* asked(world, program(one), hint, "alice"))).toBe("consent")
        expect(outcomeOf(yield* asked(world, program(one), hint, "bob"))).toBe("login")
        expect(outcomeOf(yield* asked(world, program(other), hint, "alice"))).toBe("invalid_request")
      },
      { ...signsIn, documents: web.layer() }
    )
  })
})

describe("the authorization endpoint by POST", () => {
  test("sends the browser on with the same request, which brings its cookie then", () =>
    inWorld(function* (world) {
      const client = yield* provenClient(world)
      const [path = "", query = ""] = authorizeTarget(client, { scope: "openid", state: "a b&=" }).split("?")
      const sent = yield* world.send("POST", path, { headers: formHeaders, body: query })
      expect([sent.status, header(sent, "location")]).toEqual([303, `${path}?${query}`])
      const page = yield* world.send("GET", text(header(sent, "location")), { as: "alice" })
      expect(returned(yield* decide(world, page, "approve")).get("state")).toBe("a b&=")
      const odd = yield* world.send("POST", path, { headers: { "content-type": "text/plain" }, body: query })
      expect(odd.status).toBe(400)
      const line = yield* world.send("POST", path, {
        headers: formHeaders,
        body: "x=\r\nlocation: https://evil.example"
      })
      expect(header(line, "location")).toStartWith(`${path}?x=%0D%0A`)
      const raw = yield* world.send("POST", path, { headers: formHeaders, body: 'state=5%&x=<"a|b">' })
      expect(header(raw, "location")).toBe(`${path}?state=5%25&x=%3C%22a%7Cb%22%3E`)
      const long = yield* world.send("POST", path, {
        headers: formHeaders,
        body: form({ state: "s".repeat(13_000) })
      })
      expect(long.status).toBe(400)
    }, signsIn))
})

test("a code that is exchanged without openid tells the client nothing of the sign-in", () =>
  inWorld(function* (world) {
    const client = yield* provenClient(world)
    const code = yield* codeFor(
      world,
      client,
      { scope: "api", max_age: "600", nonce: "n", ...claimsOf({ id_token: { name: null } }) },
      alice(60)
    )
    expect(jsonOf(yield* redeem(world, client, code))).not.toHaveProperty("id_token")
  }, signsIn))
