import { describe, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { Effect, Option } from "effect"
import { jwtBearer } from "../../../core/oauth/grants/jwtBearer.ts"
import { UserId } from "../../../core/rules/Id.ts"
import { holderOf, tokenProof } from "../../given/dpop.ts"
import {
  bring,
  claimsFor,
  enterprise,
  foreign,
  grantsOf,
  inCompany,
  login,
  own,
  type Signer,
  seconds,
  signed,
  trust
} from "../../given/enterprise.ts"
import { form, formHeaders, jsonOf, registerClient, type Values } from "../../given/flow.ts"
import { inWorld, realSignatures, theWorkspace } from "../../given/World.ts"

const { issuer } = theWorkspace

interface Forgery {
  readonly claims?: object
  readonly header?: object
  readonly by?: Signer
  readonly fields?: Values
  readonly change?: (jwt: string) => string
  /** The claims, as they are signed. */
  readonly write?: (claims: object) => string
}

const coded = (part: string | Uint8Array) => Buffer.from(part).toString("base64url")
const partsOf = (jwt: string) => jwt.split(".") as [string, string, string]

/** Another header in front of what was signed, and another signature behind it, if one is told. */
const headed =
  (header: object | string, signature?: string | ((signed: string) => string)) =>
  (jwt: string): string => {
    const [, claims, before] = partsOf(jwt)
    const signed = `${coded(typeof header === "string" ? header : JSON.stringify(header))}.${claims}`
    return `${signed}.${typeof signature === "function" ? signature(signed) : (signature ?? before)}`
  }

const idJag = "oauth-id-jag+jwt"
const macWith = (secret: string) => (signed: string) => coded(createHmac("sha256", secret).update(signed).digest())
const pem = `-----BEGIN PUBLIC KEY-----\n${own.jwk.x}${own.jwk.y}\n-----END PUBLIC KEY-----\n`

/** Claims as they are written, which no object could be. */
const written = (change: (claims: string) => string) => (claims: object) => change(JSON.stringify(claims))

type Forgeries = ReadonlyArray<readonly [name: string, forgery: Forgery]>

/** By what the client is told, and what the operator. */
const forgeries: Readonly<Record<string, Readonly<Record<string, Forgeries>>>> = {
  invalid_grant: {
    assertion_algorithm: [
      ["with a MAC by the public key as a secret", { change: headed({ alg: "HS256", typ: idJag }, macWith(pem)) }],
      [
        "with a MAC by the public key's JSON",
        { change: headed({ alg: "HS256", typ: idJag, kid: "one" }, macWith(JSON.stringify(own.jwk))) }
      ],
      ["with a MAC by nothing", { change: headed({ alg: "HS256", typ: idJag }, macWith("\0")) }],
      ["with alg nOnE and a signature", { change: headed({ alg: "nOnE", typ: idJag, kid: "one" }) }],
      ["with alg in lower case", { change: headed({ alg: "es256", typ: idJag, kid: "one" }) }],
      ["with several algs", { change: headed({ alg: ["ES256"], typ: idJag, kid: "one" }) }],
      ["without an alg", { change: headed({ typ: idJag, kid: "one" }) }],
      ["with an alg of another curve", { change: headed({ alg: "ES512", typ: idJag, kid: "one" }) }],
      ["with an alg of a prototype", { change: headed({ alg: "toString", typ: idJag, kid: "one" }) }],
      ["with two algs in one header", { change: headed(`{"alg":"ES256","alg":"none","typ":"${idJag}"}`) }]
    ],
    malformed: [
      ["with alg None", { change: headed({ alg: "None", typ: idJag, kid: "one" }, "") }],
      ["with an empty signature", { change: headed({ alg: "ES256", typ: idJag, kid: "one" }, "") }],
      ["with a part too many", { change: (jwt) => `${jwt}.${partsOf(jwt)[2]}` }],
      ["in five parts, as what is encrypted", { change: (jwt) => `${jwt}.e30.e30` }],
      ["with padding", { change: (jwt) => `${jwt}==` }],
      ["with a blank in front", { change: (jwt) => ` ${jwt}` }],
      ["with a line's end behind", { change: (jwt) => `${jwt}\n` }],
      ["whose claims are a list", { write: written((claims) => `[${claims}]`) }],
      ["whose claims are null", { write: written(() => "null") }],
      ["whose claims are no JSON", { write: written((claims) => claims.slice(0, -1)) }],
      ["with its scopes in a list", { claims: { scope: ["api"] } }],
      ["with a number for its scopes", { claims: { scope: 1 } }],
      ["with null for its scopes", { claims: { scope: null } }],
      ["without a signature", { change: (jwt) => `${jwt.slice(0, jwt.lastIndexOf("."))}.` }],
      [
        "with alg none",
        { change: (jwt) => [btoa('{"alg":"none"}').replaceAll("=", ""), jwt.split(".")[1], "x"].join(".") }
      ],
      ["changed by one letter", { change: (jwt) => jwt.replace(/\..(?=[^.]*\.)/, ".f") }],
      ["that is no JWT", { fields: { assertion: "made-up" } }],
      ["of 64 KiB", { fields: { assertion: "e".repeat(65_536) } }]
    ],
    forged: [
      ["with an alg of another kind of key", { change: headed({ alg: "RS256", typ: idJag, kid: "one" }) }],
      ["that brings its own key", { by: foreign, header: { kid: undefined, jwk: foreign.jwk } }],
      ["that brings its own key under the issuer's name", { by: foreign, header: { kid: "one", jwk: foreign.jwk } }],
      ["that says where its key is", { by: foreign, header: { jku: "https://evil.example/keys" } }],
      ["that brings a certificate", { by: foreign, header: { x5c: ["MIIB"], x5u: "https://evil.example/cert" } }],
      ["whose kid is a path", { by: foreign, header: { kid: "../../../../dev/null" } }],
      ["whose kid is a list", { by: foreign, header: { kid: ["one"] } }],
      ["whose kid is of a prototype", { by: foreign, header: { kid: "__proto__" } }],
      [
        "with a signature of nothing but zeros",
        { change: headed({ alg: "ES256", typ: idJag, kid: "one" }, coded(new Uint8Array(64))) }
      ],
      ["with a signature twice as long", { change: (jwt) => `${jwt}${partsOf(jwt)[2]}` }],
      ["with a signature cut short", { change: (jwt) => jwt.slice(0, -2) }],
      [
        "with a critical extension",
        { change: headed({ alg: "ES256", typ: idJag, kid: "one", crit: ["exp"], exp: 1 }) }
      ],
      ["signed as it stands, with a critical extension", { header: { crit: ["b64"], b64: true } }],
      ["signed by another key under its name", { by: { ...foreign, jwk: own.jwk } }],
      ["signed by a key that is not the issuer's", { by: foreign }]
    ],
    assertion_issuer: [
      ["whose issuer is a list", { claims: { iss: [login] } }],
      ["whose issuer has a NUL behind it", { claims: { iss: `${login}\0` } }],
      ["whose issuer is in upper case", { claims: { iss: login.toUpperCase() } }],
      [
        "whose issuer stands twice, the second another",
        { write: written((claims) => claims.replace(/}$/, ',"iss":"https://evil.example"}')) }
      ],
      ["of another issuer", { claims: { iss: "https://evil.example" } }],
      ["of an issuer that is nearly the same", { claims: { iss: `${login}/` } }],
      ["of no issuer", { claims: { iss: undefined } }]
    ],
    assertion_audience: [
      ["whose audience is an object", { claims: { aud: { [issuer]: true } } }],
      ["whose audience has a slash more", { claims: { aud: `${issuer}/` } }],
      ["whose audience is a list of lists", { claims: { aud: [[issuer]] } }],
      ["whose audience is empty", { claims: { aud: [] } }],
      ["whose audience is ours twice", { claims: { aud: [issuer, issuer] } }],
      ["for another server", { claims: { aud: "https://other.example" } }],
      ["for this server and another", { claims: { aud: [issuer, "https://other.example"] } }],
      ["for no server", { claims: { aud: undefined } }],
      ["for the token endpoint", { claims: { aud: `${issuer}/oauth/token` } }]
    ],
    other_client: [
      ["whose client is a list", { claims: { client_id: ["x"] } }],
      ["whose client is null", { claims: { client_id: null } }],
      ["for another client", { claims: { client_id: "A".repeat(22) } }],
      ["for no client", { claims: { client_id: undefined } }]
    ],
    expired: [
      ["whose end is beyond all numbers", { write: written((claims) => claims.replace(/"exp":\d+/, '"exp":1e999')) }],
      ["whose end was before all time", { claims: { exp: -1 } }],
      ["whose end is null", { claims: { exp: null } }],
      ["that is past its end", { claims: { exp: seconds - 11 } }],
      ["without an end", { claims: { exp: undefined } }],
      ["with a text for its end", { claims: { exp: `${seconds + 300}` } }],
      ["that has been over for as long as a clock may be off", { claims: { exp: seconds - 10 } }]
    ],
    assertion_from_the_future: [
      ["whose beginning is a text", { claims: { nbf: `${seconds}` } }],
      ["that was made in a text", { claims: { iat: `${seconds}` } }],
      ["from the future", { claims: { iat: seconds + 60 } }],
      ["that does not say when it was made", { claims: { iat: undefined } }],
      ["that is not good yet", { claims: { nbf: seconds + 60 } }],
      ["from a moment later than a clock may be off", { claims: { iat: seconds + 10.5 } }],
      ["that is good from a moment later than a clock may be off", { claims: { nbf: seconds + 10.5 } }]
    ],
    assertion_without_id: [
      ["whose id is a number", { claims: { jti: 1 } }],
      ["whose id is empty", { claims: { jti: "" } }],
      ["whose id is 600 letters", { claims: { jti: "j".repeat(600) } }],
      ["without an id", { claims: { jti: undefined } }],
      ["whose id is 513 letters", { claims: { jti: "j".repeat(513) } }]
    ],
    assertion_subject: [
      ["about 600 letters", { claims: { sub: "a".repeat(600) } }],
      ["about a number", { claims: { sub: 1 } }],
      ["about an object", { claims: { sub: { sub: "alice" } } }],
      ["about nobody", { claims: { sub: undefined } }],
      ["about a list of people", { claims: { sub: ["alice", "bob"] } }]
    ],
    person_unknown: [
      ["about somebody by another writing", { claims: { sub: "Alice" } }],
      ["about somebody who is not here", { claims: { sub: "mallory" } }]
    ],
    binding_differs: [
      ["bound to a number", { claims: { cnf: { jkt: 1 } } }],
      ["bound to a list", { claims: { cnf: ["A".repeat(43)] } }],
      ["bound to null", { claims: { cnf: null } }],
      ["bound to a text", { claims: { cnf: "A".repeat(43) } }],
      ["bound to a key that nobody showed", { claims: { cnf: { jkt: "A".repeat(43) } } }],
      ["bound to something else", { claims: { cnf: { "x5t#S256": "A".repeat(43) } } }]
    ],
    assertion_type: [
      ["that is an ID token", { header: { typ: "JWT" } }],
      ["that is an access token", { header: { typ: "at+jwt" } }]
    ],
    assertion_too_long_lived: [
      ["that lives for a day", { claims: { exp: seconds + 86_400 } }],
      ["that lives a moment longer than an hour and what a clock may be off", { claims: { exp: seconds + 3610.5 } }]
    ]
  },
  invalid_target: {
    malformed: [
      ["for a number", { claims: { resource: 1 } }],
      ["for no resource at all", { claims: { resource: [] } }],
      ["for an object", { claims: { resource: { at: issuer } } }],
      ["for a resource and a number", { claims: { resource: [issuer, 1] } }]
    ],
    not_ours: [
      ["for a place in a resource's name", { claims: { resource: `${issuer}.evil.example` } }],
      ["for a resource that is not here", { claims: { resource: "https://evil.example" } }],
      ["asked for a resource that is not here", { fields: { resource: "https://evil.example" } }]
    ]
  },
  invalid_request: {
    missing_parameter: [["in place of nothing", { fields: { assertion: undefined } }]],
    repeated_parameter: [["that comes twice", { fields: { assertion: ["a", "b"] } }]]
  },
  invalid_scope: {
    none_to_be_had: [
      ["with scopes that are none", { claims: { scope: "root" } }],
      ["with no scope at all", { claims: { scope: "" } }],
      ["asked for more than it says", { claims: { scope: "api" }, fields: { scope: "profile" } }]
    ]
  }
}

const any = { takes: "any" }
const email = "alice@acme.example"
const domains = ["acme.example"]

describe("an assertion that is taken", () => {
  const taken: ReadonlyArray<readonly [name: string, forgery: Forgery, terms?: object]> = [
    ["as long after its end as a clock may be off", { claims: { exp: seconds - 9.5 } }],
    ["an hour and what a clock may be off before its end", { claims: { exp: seconds + 3610 } }],
    ["that was made as far ahead as a clock may be off", { claims: { iat: seconds + 10 } }],
    ["that is good from as far ahead as a clock may be off", { claims: { nbf: seconds + 10 } }],
    ["for a list of this server alone", { claims: { aud: [issuer] } }],
    ["with an id of 512 letters", { claims: { jti: "j".repeat(512) } }],
    ["whose key is not named, where its issuer has one alone", { header: { kid: undefined } }],
    [
      "that is a plain JWT, where any is taken",
      { claims: { client_id: undefined, jti: undefined }, header: { typ: "JWT" } },
      any
    ],
    ["the same in lower case", { header: { typ: "jwt" } }, any],
    ["of a type with its whole name (RFC 7515 §4.1.9)", { header: { typ: "application/oauth-id-jag+jwt" } }],
    ["of a type in other letters", { header: { typ: "OAuth-ID-JAG+JWT" } }],
    ["the same without a type", { header: { typ: undefined } }, any],
    ["about an address that is verified in a text", { claims: { email, email_verified: "true" } }, { domains }],
    ["about an address that is verified", { claims: { email, email_verified: true } }, { domains }],
    ["by a client that its owner named", { fields: {} }, { clients: "own" }]
  ]
  test.each(taken)("%s", (_, { claims, fields, header }, terms = {}) =>
    inWorld(
      function* (world) {
        const client = yield* enterprise(world)
        yield* trust(world, { ...terms, ...("clients" in terms ? { clients: [client.id] } : {}) })
        const answer = yield* bring(world, client, yield* signed(claimsFor(client, claims), header), fields)
        expect([answer.status, jsonOf(answer).scope]).toEqual([200, "api profile"])
      },
      { signatures: realSignatures }
    )
  )
})

describe("an assertion of a person", () => {
  test("says to the host who is meant, and an address unless the issuer says that it is not verified", () => {
    const told: Array<unknown> = []
    return inCompany(
      function* ({ client, world }) {
        const claims = [{}, { email }, { email, email_verified: false }, { email: "" }]
        for (const more of claims) yield* bring(world, client, yield* signed(claimsFor(client, more)))
        expect(told).toStrictEqual([
          [{ issuer: login, subject: "alice" }, false],
          [{ issuer: login, subject: "alice", email }, false],
          [{ issuer: login, subject: "alice" }, false],
          [{ issuer: login, subject: "alice" }, false]
        ])
      },
      {},
      {
        asserted: (_workspace, asserted, make) => {
          told.push([asserted, make])
          return Effect.succeed(Option.some(UserId.make("alice")))
        }
      }
    )
  })

  test("is on a grant of who is meant by then, where a subject of its issuer comes to mean another person", () => {
    let meant = "alice"
    return inCompany(
      function* ({ client, world }) {
        for (const who of ["alice", "bob"]) {
          meant = who
          expect((yield* bring(world, client, yield* signed(claimsFor(client)))).status).toBe(200)
        }
        const [ofAlice, ofBob] = [yield* grantsOf(world), yield* grantsOf(world, "bob")]
        expect([ofAlice.length, ofBob.length]).toEqual([1, 1])
        expect(ofAlice[0]?.id).not.toBe(ofBob[0]?.id)
      },
      {},
      { asserted: () => Effect.succeed(Option.some(UserId.make(meant))) }
    )
  })

  test("may be bound to a key, by whose proof alone it is good", () =>
    inCompany(function* ({ client, world }) {
      const [holder, other] = yield* Effect.promise(() => Promise.all([holderOf("ES256"), holderOf("ES256")]))
      const assertion = yield* signed(claimsFor(client, { cnf: { jkt: holder.jkt } }))
      const fields = { grant_type: jwtBearer.name, client_id: client.id, client_secret: client.secret, assertion }
      const shown = Effect.fnUntraced(function* (by: typeof holder) {
        const headers = { ...formHeaders, dpop: yield* tokenProof(by) }
        return jsonOf(yield* world.send("POST", "/oauth/token", { headers, body: form(fields) }))
      })
      expect((yield* shown(holder)).token_type).toBe("DPoP")
      expect((yield* shown(other)).error).toBe("invalid_grant")
    }))
})

describe("an assertion that is refused", () => {
  test("where any JWT is taken, as what is another kind of JWT", () =>
    inCompany(function* ({ client, world }) {
      for (const typ of ["at+jwt", "dpop+jwt", "", "logout+jwt"]) {
        const answer = yield* bring(world, client, yield* signed(claimsFor(client), { typ }))
        expect([typ, answer.status]).toEqual([typ, 400])
        expect(world.audit.at(-1)?.event).toMatchObject({ reason: "assertion_type" })
      }
    }, any))

  const rows = Object.entries(forgeries).flatMap(([error, byReason]) =>
    Object.entries(byReason).flatMap(([reason, all]) => all.map((one) => [...one, error, reason] as const))
  )
  test.each(rows)("%s", (_, { by, change = (jwt) => jwt, claims, fields = {}, header, write }, error, reason) =>
    inCompany(function* ({ client, world }) {
      const jwt = change(yield* signed(claimsFor(client, claims), header, by, write))
      const answer = yield* bring(world, client, jwt, fields)
      expect([answer.status, jsonOf(answer).error]).toEqual([400, error])
      expect(world.audit.at(-1)?.event).toMatchObject({ _tag: "Refused", reason })
      expect(yield* grantsOf(world)).toEqual([])
    })
  )

  test("at a host that finds no person by what issuers assert", () =>
    inCompany(
      function* ({ client, world }) {
        const answer = yield* bring(world, client, yield* signed(claimsFor(client)))
        expect([answer.status, jsonOf(answer).error]).toEqual([400, "invalid_grant"])
      },
      { people: "made" },
      { asserted: "unknown" }
    ))

  test("by a client that its issuer is not for", () =>
    inCompany(
      function* ({ client, world }) {
        const answer = yield* bring(world, client, yield* signed(claimsFor(client)))
        expect([answer.status, jsonOf(answer).error]).toEqual([400, "invalid_grant"])
      },
      { clients: ["A".repeat(22)] }
    ))

  test("about an address of another company", () =>
    inCompany(
      function* ({ client, world }) {
        for (const [email, status] of [
          ["alice@acme.example", 200],
          ["alice@other.example", 400],
          ["alice@acme.example.other.example", 400],
          ["alice@acme.example@other.example", 400],
          ["alice@acme.example\u0000", 400],
          ["alice@ACME.example", 200],
          ["@acme.example", 200],
          [["alice@acme.example"], 400],
          [undefined, 400]
        ] as const) {
          const answer = yield* bring(world, client, yield* signed(claimsFor(client, { email })))
          expect([email, answer.status]).toEqual([email, status])
        }
        for (const email_verified of [false, "false", 0, null, "", {}]) {
          const unverified = { email: "alice@acme.example", email_verified }
          const answer = yield* bring(world, client, yield* signed(claimsFor(client, unverified)))
          expect([email_verified, answer.status]).toEqual([email_verified, 400])
        }
      },
      { domains: ["acme.example"] }
    ))

  test("of a client that registered itself, which never gets the grant type", () =>
    inCompany(function* ({ world }) {
      const client = yield* registerClient(world, { grant_types: ["authorization_code", jwtBearer.name] })
      const answer = yield* bring(world, client, yield* signed(claimsFor(client)))
      expect([answer.status, jsonOf(answer).error]).toEqual([400, "unauthorized_client"])
    }))

  test.each([
    ["malformed", { issuer: "http://login.acme.example" }],
    ["keys", { jwksUri: `${login}/keys` }],
    ["keys", { jwks: { keys: [{ ...own.jwk, d: "secret" }] } }],
    ["scopes", { scopes: ["root"] }],
    ["resources", { resources: ["https://evil.example"] }],
    ["trusted", {}]
  ])("of an issuer that cannot be trusted: %s", (reason, typed) =>
    inCompany(function* ({ world }) {
      expect(yield* Effect.flip(trust(world, typed))).toMatchObject({ _tag: "BadIssuer", reason })
    })
  )
})
