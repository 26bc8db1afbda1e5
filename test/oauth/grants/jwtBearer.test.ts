import { describe, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { endGrant } from "../../../core/engine/administerGrants.ts"
import { blockClientHost, changeIssuer, removeIssuer, trustIssuer } from "../../../core/engine/administerWorkspace.ts"
import { jwtBearer } from "../../../core/oauth/grants/jwtBearer.ts"
import { DocumentFault, Documents } from "../../../core/ports/Documents.ts"
import { UserId } from "../../../core/rules/Id.ts"
import { ResourceRegistry } from "../../../core/rules/Resource.ts"
import { settingsEndpoints } from "../../../core/settings/settingsEndpoints.ts"
import type { Workspace } from "../../../core/workspace/Workspace.ts"
import { byOwner } from "../../given/auditContext.ts"
import { DocumentsWeb } from "../../given/documentsWeb.ts"
import { claimsFor, enterprise, foreign, login, own, type Signer, seconds, signed } from "../../given/enterprise.ts"
import {
  bearing,
  companies,
  form,
  formHeaders,
  jsonOf,
  registerClient,
  type TestClient,
  text,
  tokenRequest,
  type Values
} from "../../given/flow.ts"
import { inWorld, realSignatures, theWorkspace, type World, type WorldOptions } from "../../given/World.ts"

const { issuer } = theWorkspace
const orders = "https://orders.example"

const trust = (world: World, more: object = {}, workspace: Workspace = world.workspace) =>
  Effect.flatMap(world.services.openings.open(workspace), (opened) =>
    trustIssuer(world.services, byOwner(world), opened, { issuer: login, jwks: { keys: [own.jwk] }, ...more })
  )

const bring = (world: World, by: TestClient, assertion: string, fields: Values = {}) =>
  tokenRequest(world, by, { grant_type: jwtBearer.name, assertion, ...fields })

const told = Effect.fnUntraced(function* (world: World, token: string) {
  const key = yield* world.services.grants.createKey(theWorkspace.id, { name: "rs", expiresAt: null })
  const headers = { ...formHeaders, ...bearing(world.reveal(key.text)) }
  return jsonOf(yield* world.send("POST", "/oauth/introspect", { headers, body: form({ token }) }))
})

const grantsOf = (world: World, user = "alice") =>
  Effect.map(
    world.services.grants.ofUser(theWorkspace.id, UserId.make(user), { after: undefined, limit: 10 }),
    ({ values }) => values
  )

const inCompany = <A, E>(
  body: (scene: { readonly world: World; readonly client: TestClient }) => Effect.Effect<A, E>,
  more: object = {},
  options: WorldOptions = {}
) =>
  inWorld(
    (world) =>
      Effect.gen(function* () {
        yield* trust(world, more, options.resolve === undefined ? world.workspace : withOrders)
        return yield* body({ world, client: yield* enterprise(world) })
      }),
    { signatures: realSignatures, ...options }
  )

describe("an assertion of an issuer that an owner trusts (RFC 7523, ID-JAG)", () => {
  test("becomes an access token without a refresh token, again and again, on one grant of the person's", () =>
    inCompany(({ client, world }) =>
      Effect.gen(function* () {
        const assertion = yield* signed(claimsFor(client))
        const first = yield* bring(world, client, assertion)
        const { access_token, ...rest } = jsonOf(first)
        expect(rest).toEqual({ token_type: "Bearer", expires_in: 3600, scope: "api profile" })
        expect(yield* told(world, text(access_token))).toMatchObject({ sub: "alice", client_id: client.id })
        expect((yield* companies(world, text(access_token))).status).toBe(200)
        const writes = world.calls.insert.length + world.calls.replace.length
        expect((yield* bring(world, client, assertion, { scope: "api" })).status).toBe(200)
        expect(world.calls.insert.length + world.calls.replace.length).toBe(writes)
        expect(yield* grantsOf(world)).toHaveLength(1)
        const other = yield* enterprise(world)
        expect((yield* bring(world, other, yield* signed(claimsFor(other)))).status).toBe(200)
        expect(yield* grantsOf(world)).toHaveLength(2)
      })
    ))

  test("is on one grant for each issuer, subject and client, of which a person ends one without the others", () =>
    inCompany(({ client, world }) =>
      Effect.gen(function* () {
        const another = "https://login.other.example"
        yield* trust(world, { issuer: another })
        const tokens = yield* Effect.forEach([{}, { sub: "work|alice" }, { iss: another }], (claims) =>
          Effect.flatMap(signed(claimsFor(client, claims)), (jwt) =>
            Effect.map(bring(world, client, jwt), (answer) => text(jsonOf(answer).access_token))
          )
        )
        const grants = yield* grantsOf(world)
        expect(grants).toHaveLength(3)
        const [one] = grants
        if (one === undefined) throw new Error("no grant")
        yield* endGrant(world.services, byOwner(world), one.id)
        const live = yield* Effect.forEach(tokens, (token) => told(world, token))
        expect(live.filter(({ active }) => active === true)).toHaveLength(2)
      })
    ))

  test("that was issued before the person ended the connection brings nothing; a later one does, and old tokens stay dead", () =>
    inCompany(({ client, world }) =>
      Effect.gen(function* () {
        const assertion = yield* signed(claimsFor(client, { exp: seconds + 3000 }))
        const before = text(jsonOf(yield* bring(world, client, assertion)).access_token)
        const [grant] = yield* grantsOf(world)
        if (grant === undefined) throw new Error("no grant")
        yield* TestClock.adjust("1 minute")
        expect(yield* endGrant(world.services, byOwner(world), grant.id)).toBe("revoked")
        expect(yield* told(world, before)).toEqual({ active: false })
        const again = yield* bring(world, client, assertion)
        expect([again.status, jsonOf(again).error]).toEqual([400, "invalid_grant"])
        yield* TestClock.adjust("1 minute")
        const later = yield* signed(claimsFor(client, { iat: seconds + 120, exp: seconds + 400 }))
        const anew = yield* bring(world, client, later)
        expect((yield* told(world, text(jsonOf(anew).access_token))).active).toBe(true)
        expect(yield* told(world, before)).toEqual({ active: false })
        expect(yield* grantsOf(world)).toHaveLength(1)
      })
    ))

  test("narrows to the scopes of assertion, issuer and client", () =>
    inCompany(
      ({ client, world }) =>
        Effect.gen(function* () {
          const answer = yield* bring(world, client, yield* signed(claimsFor(client)))
          expect(jsonOf(answer).scope).toBe("api")
          const asked = yield* bring(world, client, yield* signed(claimsFor(client)), { scope: "profile" })
          expect([asked.status, jsonOf(asked).error]).toEqual([400, "invalid_scope"])
        }),
      { scopes: ["api"] }
    ))

  test("is for the resource that it names, and what is asked for within it", () =>
    inCompany(
      ({ client, world }) =>
        Effect.gen(function* () {
          const assertion = yield* signed(claimsFor(client, { resource: orders }))
          const answer = yield* bring(world, client, assertion)
          expect(yield* told(world, text(jsonOf(answer).access_token))).toMatchObject({ aud: orders })
          const wider = yield* bring(world, client, assertion, { resource: issuer })
          expect([wider.status, jsonOf(wider).error]).toEqual([400, "invalid_target"])
          const beyond = yield* bring(world, client, yield* signed(claimsFor(client, { resource: issuer })))
          expect([beyond.status, jsonOf(beyond).error]).toEqual([400, "invalid_target"])
        }),
      { resources: [orders] },
      { resolve: () => withOrders }
    ))

  test("makes people where its issuer may, and not elsewhere", async () => {
    const carols = (people: "known" | "made") =>
      inCompany(
        ({ client, world }) =>
          Effect.map(
            Effect.flatMap(signed(claimsFor(client, { sub: "carol" })), (jwt) => bring(world, client, jwt)),
            ({ status }) => status
          ),
        { people }
      )
    expect([await carols("made"), await carols("known")]).toEqual([200, 400])
  })

  test("without a client is taken where the owner says so", async () => {
    const plain = (takes: "any" | "id-jag", by?: string) =>
      inCompany(
        ({ client, world }) =>
          Effect.map(
            Effect.flatMap(signed(claimsFor(client, { client_id: by, jti: undefined }), { typ: "JWT" }), (jwt) =>
              bring(world, client, jwt)
            ),
            ({ status }) => status
          ),
        { takes }
      )
    expect([await plain("any"), await plain("id-jag")]).toEqual([200, 400])
    expect(await plain("any", "A".repeat(22))).toBe(400)
  })

  test("stands in the metadata with its profile, and not in a server without signatures", async () => {
    const metadata = (options: WorldOptions) =>
      inWorld((world) => Effect.map(world.send("GET", "/.well-known/oauth-authorization-server"), jsonOf), options)
    const whole = await metadata({ signatures: realSignatures })
    expect(whole.authorization_grant_profiles_supported).toEqual(["urn:ietf:params:oauth:grant-profile:id-jag"])
    expect(whole.grant_types_supported).toContain(jwtBearer.name)
    const bare = await metadata({})
    expect([bare.authorization_grant_profiles_supported, bare.grant_types_supported]).not.toContain(jwtBearer.name)
  })

  test("is 503 where the issuer's keys cannot be had", () =>
    inCompany(
      ({ client, world }) =>
        Effect.gen(function* () {
          const answer = yield* bring(world, client, yield* signed(claimsFor(client)))
          expect([answer.status, jsonOf(answer).error]).toEqual([503, "temporarily_unavailable"])
        }),
      { jwks: undefined, jwksUri: `${login}/keys` },
      { documents: { ...Documents.none, fetch: () => Effect.fail(new DocumentFault({ reason: "unreachable" })) } }
    ))

  test("is taken no more once its issuer is removed, which ends what it brought at once, and is on record", () =>
    inCompany(
      ({ client, world }) =>
        Effect.gen(function* () {
          const assertion = yield* signed(claimsFor(client))
          const before = text(jsonOf(yield* bring(world, client, assertion)).access_token)
          const isListed = () =>
            Effect.map(world.send("GET", "/settings/apps", { as: "alice" }), ({ body }) => body.includes("Chat"))
          expect(yield* isListed()).toBe(true)
          const opened = yield* world.services.openings.open(world.workspace)
          expect(yield* removeIssuer(world.services, byOwner(world), opened, login)).toBe(true)
          expect(yield* isListed()).toBe(false)
          const answer = yield* bring(world, client, assertion)
          expect([answer.status, jsonOf(answer).error]).toEqual([400, "invalid_grant"])
          expect(yield* told(world, before)).toEqual({ active: false })
          expect((yield* companies(world, before)).status).toBe(401)
          yield* TestClock.adjust("1 second")
          yield* trust(world)
          const anew = text(jsonOf(yield* bring(world, client, assertion)).access_token)
          expect([(yield* told(world, anew)).active, (yield* told(world, before)).active]).toEqual([true, false])
          expect(yield* isListed()).toBe(true)
          const tags = world.audit.map(({ event }) => event._tag)
          expect([tags.includes("IssuerTrusted"), tags.includes("IssuerRemoved")]).toEqual([true, true])
        }),
      {},
      { endpoints: settingsEndpoints() }
    ))
})

const keysOf = (signer: Signer) => ({ jwks: { keys: [signer.jwk] } })

describe("an issuer whose terms change", () => {
  test.each([
    ["in what it may grant, leaves what it brought", { ...keysOf(own), scopes: ["api"] }, true],
    ["in its keys, ends what it brought", keysOf(foreign), false]
  ] as const)("%s", (_, terms, stays) =>
    inCompany(({ client, world }) =>
      Effect.gen(function* () {
        const before = text(jsonOf(yield* bring(world, client, yield* signed(claimsFor(client)))).access_token)
        yield* TestClock.adjust("1 second")
        const opened = yield* world.services.openings.open(world.workspace)
        const change = (issuer: string) => changeIssuer(world.services, byOwner(world), opened, { issuer, ...terms })
        expect((yield* change(login))?.issuer).toBe(login)
        expect(yield* change("https://unknown.example")).toBeUndefined()
        expect((yield* told(world, before)).active).toBe(stays)
        const now = yield* bring(world, client, yield* signed(claimsFor(client), {}, stays ? own : foreign))
        expect([now.status, jsonOf(now).scope]).toEqual([200, stays ? "api" : "api profile"])
      })
    )
  )
})

const program = "https://chat.example/client.json"

/** A program that brings its document, and signs with a key that stands there. */
const withProgram = <A, E>(
  body: (world: World, web: DocumentsWeb) => Effect.Effect<A, E>,
  clients: ReadonlyArray<string> | undefined,
  members: object = {}
) => {
  const web = new DocumentsWeb()
  web.publish(program, {
    grant_types: ["authorization_code", jwtBearer.name],
    token_endpoint_auth_method: "private_key_jwt",
    jwks: { keys: [foreign.jwk] },
    ...members
  })
  return inWorld((world) => Effect.andThen(trust(world, clients && { clients }), body(world, web)), {
    signatures: realSignatures,
    documents: web.layer()
  })
}

const bringAs = Effect.fnUntraced(function* (world: World, claims: object = {}) {
  const assertion = yield* signed(claimsFor({ id: program } as TestClient, claims))
  const proof = { iss: program, sub: program, aud: issuer, jti: crypto.randomUUID(), exp: seconds + 60 }
  const fields = {
    grant_type: jwtBearer.name,
    assertion,
    client_id: program,
    client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    client_assertion: yield* signed(proof, { typ: "JWT" }, foreign)
  }
  return yield* world.send("POST", "/oauth/token", { headers: formHeaders, body: form(fields) })
})

describe("a document's client", () => {
  test("brings assertions where an owner named its address beside their issuer, and has a record from then on", () =>
    withProgram(
      (world) =>
        Effect.gen(function* () {
          const wrong = yield* bringAs(world, { aud: "https://other.example" })
          expect([wrong.status, jsonOf(wrong).error]).toEqual([400, "invalid_grant"])
          const rows = (yield* world.services.clients.list(theWorkspace.id, { after: undefined, limit: 5 })).values
          expect(rows).toEqual([])
          const answer = yield* bringAs(world)
          expect(yield* told(world, text(jsonOf(answer).access_token))).toMatchObject({
            active: true,
            client_id: program
          })
          expect((yield* bringAs(world)).status).toBe(200)
          expect(yield* grantsOf(world)).toHaveLength(1)
          yield* blockClientHost(
            world.services,
            byOwner(world),
            yield* world.services.openings.open(world.workspace),
            "chat.example"
          )
          expect(yield* told(world, text(jsonOf(answer).access_token))).toEqual({ active: false })
          expect((yield* bringAs(world)).status).toBe(401)
        }),
      [program]
    ))

  test.each([
    ["whose address no owner named", undefined, {}],
    ["of another address of its host", ["https://chat.example/other.json"], {}],
    ["that proves nothing", [program], { token_endpoint_auth_method: "none", jwks: undefined }]
  ] as const)("%s, brings none, and leaves no record", (_, clients, members) =>
    withProgram(
      (world) =>
        Effect.gen(function* () {
          const answer = yield* bringAs(world)
          expect([400, 401]).toContain(answer.status)
          expect(yield* grantsOf(world)).toEqual([])
          const rows = (yield* world.services.clients.list(theWorkspace.id, { after: undefined, limit: 5 })).values
          expect(rows).toEqual([])
        }),
      clients,
      members
    )
  )
})

const withOrders: Workspace = {
  ...theWorkspace,
  resources: Schema.decodeUnknownSync(ResourceRegistry)([{ at: orders, name: "Orders" }])
}

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

const forgeries: ReadonlyArray<readonly [name: string, forgery: Forgery, error?: string]> = [
  ["with a MAC by the public key as a secret", { change: headed({ alg: "HS256", typ: idJag }, macWith(pem)) }],
  [
    "with a MAC by the public key's JSON",
    { change: headed({ alg: "HS256", typ: idJag, kid: "one" }, macWith(JSON.stringify(own.jwk))) }
  ],
  ["with a MAC by nothing", { change: headed({ alg: "HS256", typ: idJag }, macWith("\0")) }],
  ["with alg None", { change: headed({ alg: "None", typ: idJag, kid: "one" }, "") }],
  ["with alg nOnE and a signature", { change: headed({ alg: "nOnE", typ: idJag, kid: "one" }) }],
  ["with alg in lower case", { change: headed({ alg: "es256", typ: idJag, kid: "one" }) }],
  ["with several algs", { change: headed({ alg: ["ES256"], typ: idJag, kid: "one" }) }],
  ["without an alg", { change: headed({ typ: idJag, kid: "one" }) }],
  ["with an alg of another kind of key", { change: headed({ alg: "RS256", typ: idJag, kid: "one" }) }],
  ["with an alg of another curve", { change: headed({ alg: "ES512", typ: idJag, kid: "one" }) }],
  ["with an alg of a prototype", { change: headed({ alg: "toString", typ: idJag, kid: "one" }) }],
  ["with two algs in one header", { change: headed(`{"alg":"ES256","alg":"none","typ":"${idJag}"}`) }],
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
  ["with an empty signature", { change: headed({ alg: "ES256", typ: idJag, kid: "one" }, "") }],
  ["with a signature twice as long", { change: (jwt) => `${jwt}${partsOf(jwt)[2]}` }],
  ["with a signature cut short", { change: (jwt) => jwt.slice(0, -2) }],
  ["with a part too many", { change: (jwt) => `${jwt}.${partsOf(jwt)[2]}` }],
  ["in five parts, as what is encrypted", { change: (jwt) => `${jwt}.e30.e30` }],
  ["with padding", { change: (jwt) => `${jwt}==` }],
  ["with a blank in front", { change: (jwt) => ` ${jwt}` }],
  ["with a line's end behind", { change: (jwt) => `${jwt}\n` }],
  ["with a critical extension", { change: headed({ alg: "ES256", typ: idJag, kid: "one", crit: ["exp"], exp: 1 }) }],
  ["signed as it stands, with a critical extension", { header: { crit: ["b64"], b64: true } }],
  ["whose claims are a list", { write: written((claims) => `[${claims}]`) }],
  ["whose claims are null", { write: written(() => "null") }],
  ["whose claims are no JSON", { write: written((claims) => claims.slice(0, -1)) }],
  ["whose issuer is a list", { claims: { iss: [login] } }],
  ["whose issuer has a NUL behind it", { claims: { iss: `${login}\0` } }],
  ["whose issuer is in upper case", { claims: { iss: login.toUpperCase() } }],
  [
    "whose issuer stands twice, the second another",
    { write: written((claims) => claims.replace(/}$/, ',"iss":"https://evil.example"}')) }
  ],
  ["whose audience is an object", { claims: { aud: { [issuer]: true } } }],
  ["whose audience has a slash more", { claims: { aud: `${issuer}/` } }],
  ["whose audience is a list of lists", { claims: { aud: [[issuer]] } }],
  ["whose audience is empty", { claims: { aud: [] } }],
  ["whose audience is ours twice", { claims: { aud: [issuer, issuer] } }],
  ["whose client is a list", { claims: { client_id: ["x"] } }],
  ["whose client is null", { claims: { client_id: null } }],
  ["whose end is beyond all numbers", { write: written((claims) => claims.replace(/"exp":\d+/, '"exp":1e999')) }],
  ["whose end was before all time", { claims: { exp: -1 } }],
  ["whose end is null", { claims: { exp: null } }],
  ["whose beginning is a text", { claims: { nbf: `${seconds}` } }],
  ["that was made in a text", { claims: { iat: `${seconds}` } }],
  ["whose id is a number", { claims: { jti: 1 } }],
  ["whose id is empty", { claims: { jti: "" } }],
  ["whose id is 600 letters", { claims: { jti: "j".repeat(600) } }],
  ["about 600 letters", { claims: { sub: "a".repeat(600) } }],
  ["about a number", { claims: { sub: 1 } }],
  ["about an object", { claims: { sub: { sub: "alice" } } }],
  ["about somebody by another writing", { claims: { sub: "Alice" } }],
  ["bound to a number", { claims: { cnf: { jkt: 1 } } }],
  ["bound to a list", { claims: { cnf: ["A".repeat(43)] } }],
  ["bound to null", { claims: { cnf: null } }],
  ["with its scopes in a list", { claims: { scope: ["api"] } }],
  ["with a number for its scopes", { claims: { scope: 1 } }],
  ["with null for its scopes", { claims: { scope: null } }],
  ["for a number", { claims: { resource: 1 } }, "invalid_target"],
  ["for no resource at all", { claims: { resource: [] } }, "invalid_target"],
  ["for an object", { claims: { resource: { at: issuer } } }, "invalid_target"],
  ["for a resource and a number", { claims: { resource: [issuer, 1] } }, "invalid_target"],
  ["for a place in a resource's name", { claims: { resource: `${issuer}.evil.example` } }, "invalid_target"],
  ["of another issuer", { claims: { iss: "https://evil.example" } }],
  ["of an issuer that is nearly the same", { claims: { iss: `${login}/` } }],
  ["of no issuer", { claims: { iss: undefined } }],
  ["signed by another key under its name", { by: { ...foreign, jwk: own.jwk } }],
  ["signed by a key that is not the issuer's", { by: foreign }],
  ["without a signature", { change: (jwt) => `${jwt.slice(0, jwt.lastIndexOf("."))}.` }],
  [
    "with alg none",
    { change: (jwt) => [btoa('{"alg":"none"}').replaceAll("=", ""), jwt.split(".")[1], "x"].join(".") }
  ],
  ["changed by one letter", { change: (jwt) => jwt.replace(/\..(?=[^.]*\.)/, ".f") }],
  ["in place of nothing", { fields: { assertion: undefined } }, "invalid_request"],
  ["that comes twice", { fields: { assertion: ["a", "b"] } }, "invalid_request"],
  ["that is no JWT", { fields: { assertion: "made-up" } }],
  ["of 64 KiB", { fields: { assertion: "e".repeat(65_536) } }],
  ["for another server", { claims: { aud: "https://other.example" } }],
  ["for this server and another", { claims: { aud: [issuer, "https://other.example"] } }],
  ["for no server", { claims: { aud: undefined } }],
  ["for the token endpoint", { claims: { aud: `${issuer}/oauth/token` } }],
  ["for another client", { claims: { client_id: "A".repeat(22) } }],
  ["for no client", { claims: { client_id: undefined } }],
  ["that is an ID token", { header: { typ: "JWT" } }],
  ["that is an access token", { header: { typ: "at+jwt" } }],
  ["that is past its end", { claims: { exp: seconds - 11 } }],
  ["without an end", { claims: { exp: undefined } }],
  ["with a text for its end", { claims: { exp: `${seconds + 300}` } }],
  ["that lives for a day", { claims: { exp: seconds + 86_400 } }],
  ["from the future", { claims: { iat: seconds + 60 } }],
  ["that does not say when it was made", { claims: { iat: undefined } }],
  ["that is not good yet", { claims: { nbf: seconds + 60 } }],
  ["without an id", { claims: { jti: undefined } }],
  ["about nobody", { claims: { sub: undefined } }],
  ["about somebody who is not here", { claims: { sub: "mallory" } }],
  ["about a list of people", { claims: { sub: ["alice", "bob"] } }],
  ["bound to a key that nobody showed", { claims: { cnf: { jkt: "A".repeat(43) } } }],
  ["bound to something else", { claims: { cnf: { "x5t#S256": "A".repeat(43) } } }],
  ["with scopes that are none", { claims: { scope: "root" } }, "invalid_scope"],
  ["with no scope at all", { claims: { scope: "" } }, "invalid_scope"],
  ["asked for more than it says", { claims: { scope: "api" }, fields: { scope: "profile" } }, "invalid_scope"],
  ["for a resource that is not here", { claims: { resource: "https://evil.example" } }, "invalid_target"],
  ["asked for a resource that is not here", { fields: { resource: "https://evil.example" } }, "invalid_target"]
]

describe("an assertion that is refused", () => {
  test.each(forgeries.map(([name, forgery, error = "invalid_grant"]) => [name, forgery, error] as const))(
    "%s",
    (_, { by, change = (jwt) => jwt, claims, fields = {}, header, write }, error) =>
      inCompany(({ client, world }) =>
        Effect.gen(function* () {
          const jwt = change(yield* signed(claimsFor(client, claims), header, by, write))
          const answer = yield* bring(world, client, jwt, fields)
          expect([answer.status, jsonOf(answer).error]).toEqual([400, error])
          expect(yield* grantsOf(world)).toEqual([])
        })
      )
  )

  test("at a host that finds nobody by what issuers assert", () =>
    inCompany(
      ({ client, world }) =>
        Effect.gen(function* () {
          const answer = yield* bring(world, client, yield* signed(claimsFor(client)))
          expect([answer.status, jsonOf(answer).error]).toEqual([400, "invalid_grant"])
        }),
      { people: "made" },
      { asserted: "unknown" }
    ))

  test("by a client that its issuer is not for", () =>
    inCompany(
      ({ client, world }) =>
        Effect.gen(function* () {
          const answer = yield* bring(world, client, yield* signed(claimsFor(client)))
          expect([answer.status, jsonOf(answer).error]).toEqual([400, "invalid_grant"])
        }),
      { clients: ["A".repeat(22)] }
    ))

  test("about an address of another company", () =>
    inCompany(
      ({ client, world }) =>
        Effect.gen(function* () {
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
        }),
      { domains: ["acme.example"] }
    ))

  test("of a client that registered itself, which never gets the grant type", () =>
    inCompany(({ world }) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world, { grant_types: ["authorization_code", jwtBearer.name] })
        const answer = yield* bring(world, client, yield* signed(claimsFor(client)))
        expect([answer.status, jsonOf(answer).error]).toEqual([400, "unauthorized_client"])
      })
    ))

  test.each([
    ["malformed", { issuer: "http://login.acme.example" }],
    ["keys", { jwksUri: `${login}/keys` }],
    ["keys", { jwks: { keys: [{ ...own.jwk, d: "secret" }] } }],
    ["scopes", { scopes: ["root"] }],
    ["resources", { resources: ["https://evil.example"] }],
    ["trusted", {}]
  ])("of an issuer that cannot be trusted: %s", (reason, typed) =>
    inCompany(({ world }) =>
      Effect.gen(function* () {
        expect(yield* Effect.flip(trust(world, typed))).toMatchObject({ _tag: "BadIssuer", reason })
      })
    )
  )
})
