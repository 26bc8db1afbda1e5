import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { setServedResource } from "../../../core/engine/administerClients.ts"
import { endGrant } from "../../../core/engine/administerGrants.ts"
import { blockClientHost, changeIssuer, removeIssuer } from "../../../core/engine/administerWorkspace.ts"
import type { HttpResponse } from "../../../core/http/Http.ts"
import { jwtBearer } from "../../../core/oauth/grants/jwtBearer.ts"
import { tokenExchange } from "../../../core/oauth/grants/tokenExchange.ts"
import { DocumentFault, Documents } from "../../../core/ports/Documents.ts"
import { SignatureFault } from "../../../core/ports/Signatures.ts"
import { ClientId } from "../../../core/rules/Id.ts"
import { currentInstant } from "../../../core/rules/Instant.ts"
import { settingsEndpoints } from "../../../core/settings/settingsEndpoints.ts"
import { byOwner } from "../../given/auditContext.ts"
import { DocumentsWeb } from "../../given/documentsWeb.ts"
import {
  bring,
  claimsFor,
  enterprise,
  foreign,
  grantsOf,
  inCompany,
  login,
  orders,
  own,
  type Signer,
  seconds,
  signed,
  trust,
  withOrders,
  withOrdersOf
} from "../../given/enterprise.ts"
import {
  bearing,
  companies,
  form,
  formHeaders,
  header,
  jsonOf,
  registerClient,
  type TestClient,
  text,
  tokenRequest
} from "../../given/flow.ts"
import { inWorld, realSignatures, t0, theWorkspace, type World, type WorldOptions } from "../../given/World.ts"
import { approved } from "../../grant/given.ts"

const { issuer } = theWorkspace
const day = 24 * 60 * 60 * 1000

const told = Effect.fnUntraced(function* (world: World, token: string) {
  const key = yield* world.services.grants.createKey(theWorkspace.id, { name: "rs", expiresAt: null })
  const headers = { ...formHeaders, ...bearing(world.reveal(key.text)) }
  return jsonOf(yield* world.send("POST", "/oauth/introspect", { headers, body: form({ token }) }))
})

describe("an assertion of an issuer that an owner trusts (RFC 7523, ID-JAG)", () => {
  test("becomes an access token without a refresh token, again and again, on one grant of the person's", () =>
    inCompany(function* ({ client, world }) {
      const assertion = yield* signed(claimsFor(client))
      const first = yield* bring(world, client, assertion)
      const { access_token, ...rest } = jsonOf(first)
      expect(rest).toEqual({ token_type: "Bearer", expires_in: 3600, scope: "api profile" })
      expect(yield* told(world, text(access_token))).toMatchObject({ sub: "alice", client_id: client.id })
      expect((yield* companies(world, text(access_token))).status).toBe(200)
      const record = {
        _tag: "Standing",
        id: expect.stringMatching(/^[\w-]{22}$/),
        client: client.id,
        subject: { _tag: "User", id: "alice" },
        scope: ["api", "profile"],
        resources: null,
        createdAt: t0,
        access: { epoch: 0, revoked: [] },
        asserted: { issuer: login, since: t0 },
        expiresAt: t0 + 30 * day
      }
      expect<unknown>(yield* grantsOf(world)).toEqual([record])
      expect(world.audit.at(-1)?.event).toEqual({
        _tag: "TokensIssued",
        grantType: jwtBearer.name,
        scope: "api profile",
        client: client.id,
        grant: expect.stringMatching(/^[\w-]{8}$/)
      })
      const writes = world.calls.insert.length + world.calls.replace.length
      expect((yield* bring(world, client, assertion, { scope: "api" })).status).toBe(200)
      expect(world.calls.insert.length + world.calls.replace.length).toBe(writes)
      const other = yield* enterprise(world)
      expect((yield* bring(world, other, yield* signed(claimsFor(other)))).status).toBe(200)
      expect(yield* grantsOf(world)).toHaveLength(2)
    }))

  test("is on one grant for each issuer, subject and client, of which a person ends one without the others", () =>
    inCompany(function* ({ client, world }) {
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
    }))

  test("that was issued before the person ended the connection brings nothing; a later one does, and old tokens stay dead", () =>
    inCompany(function* ({ client, world }) {
      const assertion = yield* signed(claimsFor(client, { exp: seconds + 3000 }))
      const before = text(jsonOf(yield* bring(world, client, assertion)).access_token)
      const [grant] = yield* grantsOf(world)
      if (grant === undefined) throw new Error("no grant")
      yield* TestClock.adjust("1 minute")
      expect(yield* endGrant(world.services, byOwner(world), grant.id)).toBe("revoked")
      expect(yield* told(world, before)).toEqual({ active: false })
      for (const iat of [seconds, seconds + 60]) {
        const again = yield* bring(world, client, yield* signed(claimsFor(client, { iat, exp: seconds + 3000 })))
        expect([again.status, jsonOf(again).error]).toEqual([400, "invalid_grant"])
        expect(world.audit.at(-1)?.event).toMatchObject({ refusal: "InvalidGrant", reason: "revoked" })
      }
      yield* TestClock.adjust("1 minute")
      const later = yield* signed(claimsFor(client, { iat: seconds + 120, exp: seconds + 400 }))
      const anew = yield* bring(world, client, later)
      expect((yield* told(world, text(jsonOf(anew).access_token))).active).toBe(true)
      expect(yield* told(world, before)).toEqual({ active: false })
      expect(yield* grantsOf(world)).toHaveLength(1)
    }))

  test("keeps its grant for as long again, by one write a day", () =>
    inCompany(function* ({ client, world }) {
      const written = () => world.calls.insert.length + world.calls.replace.length
      const before = written()
      for (const [wait, writes] of [
        [0, 1],
        [day - 1, 1],
        [1, 2],
        [day - 1, 2]
      ] as const) {
        yield* TestClock.adjust(wait)
        const now = yield* currentInstant
        const claims = claimsFor(client, { iat: now / 1000, exp: now / 1000 + 300 })
        expect((yield* bring(world, client, yield* signed(claims))).status).toBe(200)
        expect(written()).toBe(before + writes)
      }
      expect(yield* grantsOf(world)).toMatchObject([{ createdAt: t0, expiresAt: t0 + 31 * day }])
    }))

  test("adds to its grant what a later one is for, and takes nothing of it", () =>
    inCompany(function* ({ client, world }) {
      for (const [scope, kept] of [
        ["profile", ["profile"]],
        ["api", ["api", "profile"]],
        ["profile", ["api", "profile"]]
      ] as const) {
        const answer = yield* bring(world, client, yield* signed(claimsFor(client, { scope })))
        expect(jsonOf(answer).scope).toBe(scope)
        expect<unknown>((yield* grantsOf(world)).map((grant) => grant.scope)).toEqual([kept])
      }
    }))

  test.each([
    ["issuer, client and what a client gets unasked", undefined, undefined, undefined, "api"],
    ["its issuer, where it says nothing", ["api", "profile"], undefined, undefined, "api profile"],
    ["itself, where its issuer is held to nothing", undefined, "profile", undefined, "profile"],
    ["both", ["api", "profile"], "profile root", undefined, "profile"],
    ["what is asked for within them", ["api", "profile"], "api profile", "profile", "profile"],
    ["nothing, where the two have nothing in common", ["api"], "profile", undefined, undefined]
  ] as const)("is for the scopes of %s", (_, scopes, scope, asked, given) =>
    inCompany(
      function* ({ client, world }) {
        const assertion = yield* signed(claimsFor(client, { scope }))
        const answer = jsonOf(yield* bring(world, client, assertion, { scope: asked }))
        expect([answer.scope, answer.error]).toEqual([given, given === undefined ? "invalid_scope" : undefined])
      },
      scopes === undefined ? {} : { scopes }
    )
  )

  test("brings a token that the API it was sent to may exchange (RFC 8693), for as long as its issuer is trusted", () =>
    inCompany(function* ({ client, world }) {
      const api = yield* registerClient(world, { grant_types: ["client_credentials"], redirect_uris: [] })
      const serves = `${issuer}/rest`
      yield* setServedResource(world.services, byOwner(world), theWorkspace, ClientId.make(api.id), serves)
      const exchanged = Effect.fnUntraced(function* (claims: object = {}) {
        const brought = jsonOf(yield* bring(world, client, yield* signed(claimsFor(client, claims))))
        const answer = yield* tokenRequest(world, api, {
          grant_type: tokenExchange.name,
          subject_token: text(brought.access_token),
          subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
          scope: "api"
        })
        expect(answer.status).toBe(200)
        return text(jsonOf(answer).access_token)
      })
      const [first, other] = [yield* exchanged(), yield* exchanged({ sub: "bob" })]
      const acts = { active: true, scope: "api", client_id: api.id, act: { sub: api.id } }
      expect(yield* told(world, first)).toMatchObject({ ...acts, sub: "alice" })
      expect(yield* told(world, other)).toMatchObject({ ...acts, sub: "bob" })
      const [grant] = yield* grantsOf(world)
      if (grant === undefined) throw new Error("no grant")
      yield* endGrant(world.services, byOwner(world), grant.id)
      expect([(yield* told(world, first)).active, (yield* told(world, other)).active]).toEqual([false, true])
      const opened = yield* world.services.openings.open(world.workspace)
      yield* removeIssuer(world.services, byOwner(world), opened, login)
      expect((yield* told(world, other)).active).toBe(false)
    }))

  test("narrows to the scopes of assertion, issuer and client", () =>
    inCompany(
      function* ({ client, world }) {
        const answer = yield* bring(world, client, yield* signed(claimsFor(client)))
        expect(jsonOf(answer).scope).toBe("api")
        const asked = yield* bring(world, client, yield* signed(claimsFor(client)), { scope: "profile" })
        expect([asked.status, jsonOf(asked).error]).toEqual([400, "invalid_scope"])
      },
      { scopes: ["api"] }
    ))

  test("is for the resource that it names, and what is asked for within it", () =>
    inCompany(
      function* ({ client, world }) {
        const assertion = yield* signed(claimsFor(client, { resource: orders }))
        const answer = yield* bring(world, client, assertion)
        expect(yield* told(world, text(jsonOf(answer).access_token))).toMatchObject({ aud: orders })
        const wider = yield* bring(world, client, assertion, { resource: issuer })
        expect([wider.status, jsonOf(wider).error]).toEqual([400, "invalid_target"])
        const beyond = yield* bring(world, client, yield* signed(claimsFor(client, { resource: issuer })))
        expect([beyond.status, jsonOf(beyond).error]).toEqual([400, "invalid_target"])
      },
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
    expect(bare).not.toHaveProperty("authorization_grant_profiles_supported")
    expect(bare.grant_types_supported).not.toContain(jwtBearer.name)
  })

  test("is 503 where the issuer's keys cannot be had", () =>
    inCompany(
      function* ({ client, world }) {
        const answer = yield* bring(world, client, yield* signed(claimsFor(client)))
        expect([answer.status, jsonOf(answer).error]).toEqual([503, "temporarily_unavailable"])
        expect(world.audit.at(-1)?.event).toMatchObject({ refusal: "PortUnavailable", reason: "unreachable" })
      },
      { jwks: undefined, jwksUri: `${login}/keys` },
      { documents: { ...Documents.none, fetch: () => Effect.fail(new DocumentFault({ reason: "unreachable" })) } }
    ))

  test("is held against the keys that its issuer publishes by then", () => {
    const web = new DocumentsWeb()
    const publish = (...signers: ReadonlyArray<Signer>) =>
      web.pages.set(`${login}/keys`, { body: { keys: signers.map(({ jwk }) => jwk) } })
    publish(own)
    return inCompany(
      function* ({ client, world }) {
        const statusOf = (header: object, by: Signer) =>
          Effect.flatMap(signed(claimsFor(client), header, by), (jwt) =>
            Effect.map(bring(world, client, jwt), ({ status }) => status)
          )
        expect(yield* statusOf({}, own)).toBe(200)
        publish(own, foreign)
        yield* TestClock.adjust("2 minutes")
        const asked = web.asked.length
        // A key that is named and not known is looked for; without a name, what is at hand has to do.
        for (const kid of [undefined, 2]) expect(yield* statusOf({ kid }, foreign)).toBe(400)
        expect(web.asked.length).toBe(asked)
        expect(yield* statusOf({}, foreign)).toBe(200)
        expect(web.asked.slice(asked)).toEqual([`${login}/keys`])
      },
      { jwks: undefined, jwksUri: `${login}/keys` },
      { documents: web.layer() }
    )
  })

  test("is for what its resource takes, named by either", () =>
    inCompany(
      function* ({ client, world }) {
        for (const [claims, fields, given] of [
          [{ resource: orders }, {}, "api"],
          [{}, { resource: orders }, "api"],
          [{ resource: [orders, issuer] }, { resource: orders }, "api"],
          [{}, {}, "api profile"],
          [{ resource: orders, scope: "profile" }, {}, "invalid_target"]
        ] as const) {
          const answer = jsonOf(yield* bring(world, client, yield* signed(claimsFor(client, claims)), fields))
          expect(answer.scope ?? answer.error).toBe(given)
        }
      },
      {},
      { resolve: () => withOrdersOf(["api"]) }
    ))

  test.each([
    ["an issuer that is trusted anew", "issuer"],
    ["a connection that the person ended", "grant"]
  ] as const)("never counts again beside %s, however often that is", (_, ends) =>
    inCompany(function* ({ client, world }) {
      const tokens: Array<string> = []
      for (const at of [1, 2, 3]) {
        const now = (yield* currentInstant) / 1000
        const jwt = yield* signed(claimsFor(client, { iat: now, exp: now + 300 }))
        tokens.push(text(jsonOf(yield* bring(world, client, jwt)).access_token))
        if (at === 3) break
        yield* TestClock.adjust("1 second")
        const [grant] = yield* grantsOf(world)
        if (ends === "grant") yield* endGrant(world.services, byOwner(world), grant?.id ?? expect.unreachable())
        else {
          yield* removeIssuer(
            world.services,
            byOwner(world),
            yield* world.services.openings.open(world.workspace),
            login
          )
          yield* trust(world)
        }
        yield* TestClock.adjust("1 second")
      }
      const live = yield* Effect.forEach(tokens, (token) => told(world, token))
      expect(live.map(({ active }) => active)).toEqual([false, false, true])
    })
  )

  test("takes over no record of another kind that has its grant's id", () =>
    inCompany(function* ({ client, world }) {
      const { grants } = world.services
      yield* bring(world, client, yield* signed(claimsFor(client)))
      const [grant] = yield* grantsOf(world)
      const id = grant?.id ?? expect.unreachable("no grant")
      yield* grants.removeGrant(theWorkspace.id, id)
      yield* grants.begin(theWorkspace, approved({ client: ClientId.make(client.id) }), id)
      const answer = yield* bring(world, client, yield* signed(claimsFor(client)))
      expect([answer.status, jsonOf(answer).error]).toEqual([400, "invalid_grant"])
      expect(world.audit.at(-1)?.event).toMatchObject({ refusal: "InvalidGrant", reason: "wrong_kind" })
      expect((yield* grants.approvalOf(theWorkspace, id))._tag).toBe("Waiting")
    }))

  test("is for clients that prove themselves", () =>
    inCompany(function* ({ world }) {
      const refused = yield* Effect.flip(enterprise(world, { token_endpoint_auth_method: "none" }))
      expect(refused).toMatchObject({ _tag: "InvalidClientMetadata" })
    }))

  test.each([
    ["no_adapter", 503],
    ["failed", 503],
    ["no_key", 400]
  ] as const)("is not refused for good where it could not be verified: %s", (reason, status) =>
    inCompany(
      function* ({ client, world }) {
        const answer = yield* bring(world, client, yield* signed(claimsFor(client)))
        expect(answer.status).toBe(status)
        expect(world.audit.at(-1)?.event).toMatchObject(
          status === 503 ? { refusal: "PortUnavailable", reason } : { refusal: "InvalidGrant", reason: "forged" }
        )
      },
      {},
      { signatures: { ...realSignatures, verify: () => Effect.fail(new SignatureFault({ reason })) } }
    )
  )

  test("is not taken again after its person ended it in another process, where this one knew a grant of before", () =>
    inCompany(({ client, world }) =>
      Effect.gen(function* () {
        const elsewhere = yield* world.elsewhere
        for (const scope of ["api", "api profile"]) {
          expect((yield* bring(world, client, yield* signed(claimsFor(client, { scope })))).status).toBe(200)
        }
        // Unused for so long, its record is swept, and comes again under the same id with versions from one on.
        yield* TestClock.adjust("40 days")
        yield* world.storage.sweep(yield* currentInstant, 100)
        expect(yield* grantsOf(world)).toEqual([])
        const iat = seconds + (40 * day) / 1000
        const assertion = yield* signed(claimsFor(client, { iat, exp: iat + 300 }))
        const token = text(jsonOf(yield* bring(elsewhere, client, assertion)).access_token)
        yield* TestClock.adjust("1 second")
        const [grant] = yield* grantsOf(elsewhere)
        if (grant === undefined) throw new Error("no grant")
        expect(yield* elsewhere.services.grants.revokeGrant(theWorkspace.id, grant.id, "by_user")).toBe("revoked")
        const answer = yield* bring(world, client, assertion)
        expect([answer.status, jsonOf(answer).error]).toEqual([400, "invalid_grant"])
        expect(yield* told(world, token)).toEqual({ active: false })
      })
    ))

  test("is taken no more within a moment of its issuer's removal by another process, however much is asked meanwhile", () =>
    inCompany(({ client, world }) =>
      Effect.gen(function* () {
        const elsewhere = yield* world.elsewhere
        const assertion = yield* signed(claimsFor(client))
        const token = text(jsonOf(yield* bring(world, client, assertion)).access_token)
        const opened = yield* elsewhere.services.openings.open(elsewhere.workspace)
        expect(yield* removeIssuer(elsewhere.services, byOwner(elsewhere), opened, login)).toBe(true)
        for (let asked = 0; asked < 10; asked++) {
          yield* TestClock.adjust(world.services.policy.clientStaleness / 10)
          yield* told(world, token)
        }
        expect((yield* companies(world, token)).status).toBe(401)
        expect((yield* bring(world, client, assertion)).status).toBe(400)
      })
    ))

  test("is taken no more once its issuer is removed, which ends what it brought at once, and is on record", () =>
    inCompany(
      function* ({ client, world }) {
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
      },
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
    inCompany(function* ({ client, world }) {
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
})

const program = "https://chat.example/client.json"

const signs = {
  grant_types: ["authorization_code", jwtBearer.name],
  token_endpoint_auth_method: "private_key_jwt",
  jwks: { keys: [foreign.jwk] }
}

/** A program that brings its document, and signs with a key that stands there. */
const withProgram = <A, E>(
  body: (world: World, web: DocumentsWeb) => Effect.Effect<A, E>,
  clients: ReadonlyArray<string> | undefined,
  members: object = {}
) => {
  const web = new DocumentsWeb()
  web.publish(program, { ...signs, ...members })
  return inWorld((world) => Effect.andThen(trust(world, clients && { clients }), body(world, web)), {
    signatures: realSignatures,
    documents: web.layer()
  })
}

const bringAs = Effect.fnUntraced(function* (world: World, claims: object = {}) {
  const at = Math.floor((yield* currentInstant) / 1000)
  const assertion = yield* signed(claimsFor({ id: program } as TestClient, { iat: at, exp: at + 300, ...claims }))
  const proof = { iss: program, sub: program, aud: issuer, jti: crypto.randomUUID(), exp: at + 60 }
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
  test("brings them where one of several issuers is for it", () =>
    withProgram(
      (world) =>
        Effect.gen(function* () {
          yield* trust(world, { issuer: "https://login.other.example", clients: ["https://other.example/client.json"] })
          expect((yield* bringAs(world)).status).toBe(200)
        }),
      [program]
    ))

  test("that proves nothing brings none by its name alone, and leaves no record", () =>
    withProgram(
      (world) =>
        Effect.gen(function* () {
          const assertion = yield* signed(claimsFor({ id: program } as TestClient))
          const answer = yield* world.send("POST", "/oauth/token", {
            headers: formHeaders,
            body: form({ grant_type: jwtBearer.name, client_id: program, assertion })
          })
          expect([answer.status, jsonOf(answer).error]).toEqual([400, "unauthorized_client"])
          expect(yield* grantsOf(world)).toEqual([])
          const rows = (yield* world.services.clients.list(theWorkspace.id, { after: undefined, limit: 5 })).values
          expect(rows).toEqual([])
        }),
      [program],
      { token_endpoint_auth_method: "none", jwks: undefined }
    ))

  test("is the only one that may without an owner: one whose id holds its registration may not", () =>
    inWorld(
      function* (world) {
        const client = yield* registerClient(world)
        expect(client.id).toStartWith("tsr_c_")
        yield* trust(world)
        const answer = yield* bring(world, client, yield* signed(claimsFor(client)))
        expect([answer.status, jsonOf(answer).error]).toEqual([400, "unauthorized_client"])
        // Nor can an owner name it beside an issuer.
        const other = { issuer: "https://login.other.example", clients: [client.id] }
        expect(yield* Effect.flip(trust(world, other))).toMatchObject({ _tag: "BadIssuer" })
      },
      { signatures: realSignatures, policy: { registrationRows: "at_consent" } }
    ))

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

  test("that proved nothing for a while begins anew: what it brought before stays dead, and what it brings then is good", () =>
    withProgram(
      (world, web) =>
        Effect.gen(function* () {
          const isLive = (answer: HttpResponse) =>
            Effect.map(told(world, text(jsonOf(answer).access_token)), ({ active }) => active)
          const before = yield* bringAs(world)
          expect(yield* isLive(before)).toBe(true)
          for (const [members, status] of [
            [{ ...signs, token_endpoint_auth_method: "none", jwks: undefined }, 401],
            [signs, 200]
          ] as const) {
            web.publish(program, members)
            yield* TestClock.adjust("601 seconds")
            const answer = yield* bringAs(world)
            expect(answer.status).toBe(status)
            if (status === 200) expect(yield* isLive(answer)).toBe(true)
            expect(yield* isLive(before)).toBe(false)
          }
          expect(yield* isLive(yield* bringAs(world))).toBe(true)
          expect(yield* grantsOf(world)).toHaveLength(1)
        }),
      [program]
    ))

  test("is on record with the request that it came by, and is unknown to other processes once its host is blocked", () =>
    withProgram(
      (world) =>
        Effect.gen(function* () {
          const answer = yield* bringAs(world)
          expect(answer.status).toBe(200)
          const came = world.audit.find(({ event }) => event._tag === "ClientRegistered")
          expect(came).toMatchObject({
            workspace: "home",
            requestId: header(answer, "x-request-id"),
            event: { identifier: program }
          })
          const rows = () =>
            Effect.map(
              world.services.clients.list(theWorkspace.id, { after: undefined, limit: 5 }),
              ({ values }) => values
            )
          for (const { id } of yield* rows()) yield* world.services.clients.remove(theWorkspace.id, id)

          const elsewhere = yield* world.elsewhere
          expect((yield* elsewhere.send("GET", "/.well-known/oauth-authorization-server")).status).toBe(200)
          const opened = yield* world.services.openings.open(world.workspace)
          yield* blockClientHost(world.services, byOwner(world), opened, "chat.example")
          const late = yield* bringAs(elsewhere)
          expect([late.status, jsonOf(late).error, header(late, "www-authenticate")]).toEqual([
            401,
            "invalid_client",
            undefined
          ])
          expect(world.audit.at(-1)?.event).toMatchObject({ refusal: "InvalidClient", reason: "document_refused" })
          expect(yield* rows()).toEqual([])
        }),
      [program]
    ))

  test.each([
    ["whose address no owner named", undefined, {}, "UnauthorizedClient"],
    ["of another address of its host", ["https://chat.example/other.json"], {}, "UnauthorizedClient"],
    ["that proves nothing", [program], { token_endpoint_auth_method: "none", jwks: undefined }, "InvalidClient"]
  ] as const)("%s, brings none, and leaves no record", (_, clients, members, refusal) =>
    withProgram(
      (world) =>
        Effect.gen(function* () {
          const answer = yield* bringAs(world)
          expect(answer.status).toBe(refusal === "InvalidClient" ? 401 : 400)
          expect(world.audit.at(-1)?.event).toMatchObject({ refusal })
          expect(yield* grantsOf(world)).toEqual([])
          const rows = (yield* world.services.clients.list(theWorkspace.id, { after: undefined, limit: 5 })).values
          expect(rows).toEqual([])
        }),
      clients,
      members
    )
  )
})
