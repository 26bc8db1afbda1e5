import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { decodeJwt } from "jose"
import { exchangeGrant } from "../../../core/client/Client.ts"
import { ClientIdentifier, clientKey } from "../../../core/client/ClientIdentifier.ts"
import { setAccessTokenFormat, setSecurityProfile, setServedResource } from "../../../core/engine/administerClients.ts"
import { assertionType } from "../../../core/oauth/clients/assertion.ts"
import { ClientId } from "../../../core/rules/Id.ts"
import { currentInstant } from "../../../core/rules/Instant.ts"
import { byOwner } from "../../given/auditContext.ts"
import { DocumentsWeb } from "../../given/documentsWeb.ts"
import { holderOf, tokenProof } from "../../given/dpop.ts"
import {
  bearing,
  decide,
  form,
  formHeaders,
  jsonOf,
  provenClient,
  redirectUri,
  registerClient,
  signInToApp,
  text,
  tokenRequest,
  type Values,
  verifier
} from "../../given/flow.ts"
import { signsIn, verified } from "../../given/openId.ts"
import {
  askedBy,
  assertionOf,
  backOf,
  keyOf,
  pushSigned,
  type SigningClient,
  uriOf,
  visit,
  visitTarget
} from "../../given/pushing.ts"
import { inWorld, type World } from "../../given/World.ts"

/** A program by its document that proves itself by keys at an address, and what else it may do then. */

const address = "https://app.example.org/client.json"
const [first, second, foreign] = await Promise.all([
  keyOf("RS256", "first"),
  keyOf("ES256", "second"),
  keyOf("ES256", "second")
])
const jkt = await holderOf("ES256")
const keysAt = "https://keys.example.org/jwks"

const client = (key = first): SigningClient => ({
  id: address,
  redirectUri,
  registrationUri: "",
  registrationToken: "",
  key
})

const published = { token_endpoint_auth_method: "private_key_jwt", jwks_uri: keysAt, scope: "openid api profile" }

const withKeys = (body: (world: World, web: DocumentsWeb) => Effect.Effect<void, unknown>) => {
  const web = new DocumentsWeb()
  web.publish(address, published, { cacheControl: "max-age=300" })
  web.pages.set(keysAt, { body: { keys: [first.jwk] }, cacheControl: "max-age=60" })
  return inWorld((world) => body(world, web), { ...signsIn, documents: web.layer() })
}

const codeFor = Effect.fnUntraced(function* (world: World, by: SigningClient, fields: Values = {}) {
  const page = yield* visit(world, `/oauth/authorize?${form(askedBy(by, fields))}`)
  return String(backOf(yield* decide(world, page, "approve")).get("code"))
})

const now = Effect.map(currentInstant, (millis) => millis / 1000)

const token = Effect.fnUntraced(function* (world: World, fields: Values, by = client(), headers = {}) {
  const seconds = yield* now
  const client_assertion = yield* assertionOf(by, { iat: seconds, nbf: seconds, exp: seconds + 60 }, {}, by.key)
  return yield* world.send("POST", "/oauth/token", {
    headers: { ...formHeaders, ...headers },
    body: form({ ...fields, client_assertion_type: assertionType, client_assertion })
  })
})

const redeemed = (code: string): Values => ({
  grant_type: "authorization_code",
  code,
  redirect_uri: redirectUri,
  code_verifier: verifier
})

const refreshed = (token: unknown): Values => ({ grant_type: "refresh_token", refresh_token: String(token) })

describe("a document's client with keys at an address", () => {
  test("signs through a rotation of them, and with none that are not there", () =>
    withKeys((world, web) =>
      Effect.gen(function* () {
        const code = yield* codeFor(world, client())
        const forged = yield* token(world, redeemed(code), client(foreign))
        expect([forged.status, jsonOf(forged).error]).toEqual([401, "invalid_client"])
        const tokens = jsonOf(yield* token(world, redeemed(code)))
        web.pages.set(keysAt, { body: { keys: [second.jwk] }, cacheControl: "max-age=60" })
        yield* TestClock.adjust("61 seconds")
        const renewed = yield* token(world, refreshed(tokens.refresh_token), client(second))
        expect(renewed.status).toBe(200)
        const line = refreshed(jsonOf(renewed).refresh_token)
        for (const key of [first, foreign]) {
          expect(jsonOf(yield* token(world, line, client(key))).error).toBe("invalid_client")
        }
        expect((yield* token(world, line, client(second))).status).toBe(200)
      })
    ))

  test("is asked to wait where they cannot be had, and never taken for another", () =>
    withKeys((world, web) =>
      Effect.gen(function* () {
        web.pages.set(keysAt, "unreachable")
        const code = yield* codeFor(world, client())
        const away = yield* token(world, redeemed(code))
        expect([away.status, jsonOf(away).error]).toEqual([503, "temporarily_unavailable"])
        web.pages.set(keysAt, { body: { keys: [first.jwk] } })
        yield* TestClock.adjust("31 seconds")
        expect((yield* token(world, redeemed(code))).status).toBe(200)
      })
    ))

  test("signs by what its document says from the next fetch on: another address, or keys beside it", () =>
    withKeys((world, web) =>
      Effect.gen(function* () {
        const tokens = jsonOf(yield* token(world, redeemed(yield* codeFor(world, client()))))
        web.pages.set("https://keys.example.org/moved", { body: { keys: [second.jwk] } })
        web.publish(
          address,
          { ...published, jwks_uri: "https://keys.example.org/moved" },
          { cacheControl: "max-age=300" }
        )
        yield* TestClock.adjust("301 seconds")
        expect(jsonOf(yield* token(world, refreshed(tokens.refresh_token))).error).toBe("invalid_client")
        const renewed = jsonOf(yield* token(world, refreshed(tokens.refresh_token), client(second)))
        web.publish(address, { ...published, jwks_uri: undefined, jwks: { keys: [first.jwk] } })
        yield* TestClock.adjust("301 seconds")
        expect((yield* token(world, refreshed(renewed.refresh_token))).status).toBe(200)
      })
    ))

  test("stays in its profile, its own choice or an owner's, until an owner takes it out", () =>
    withKeys((world, web) =>
      Effect.gen(function* () {
        const record = clientKey(ClientIdentifier.make(address))
        const set = (name: "standard" | "fapi2") =>
          Effect.orDie(setSecurityProfile(world.services, byOwner(world), record, name))
        const publish = Effect.fnUntraced(function* (members: object) {
          web.publish(address, { ...published, ...members }, { cacheControl: "max-age=300" })
          yield* TestClock.adjust("301 seconds")
        })
        const plainly = Effect.fnUntraced(function* () {
          const answer = yield* visit(world, `/oauth/authorize?${form(askedBy(client()))}`)
          return answer.status === 200 ? "consent" : backOf(answer).get("error")
        })
        yield* token(world, redeemed(yield* codeFor(world, client())))
        expect(yield* set("fapi2")).toBe("done")
        yield* publish({ client_name: "Renamed" })
        expect(yield* plainly()).toBe("invalid_request")
        expect(yield* set("standard")).toBe("done")
        yield* publish({})
        expect(yield* plainly()).toBe("consent")
        for (const members of [{ security_profile: "fapi2" }, {}, { security_profile: "standard" }]) {
          yield* publish(members)
          // The record follows its document where a token is asked for.
          yield* token(world, refreshed("x"))
          expect(yield* plainly()).toBe("invalid_request")
        }
      })
    ))

  test("stays the API that an owner says it is, until it proves nothing of itself any more", () =>
    withKeys((world, web) =>
      Effect.gen(function* () {
        const record = clientKey(ClientIdentifier.make(address))
        const api = `${world.workspace.issuer}/rest`
        const readAnew = Effect.fnUntraced(function* (members: object) {
          web.publish(address, { ...published, ...members }, { cacheControl: "max-age=300" })
          yield* TestClock.adjust("301 seconds")
          yield* token(world, refreshed("x"))
          const stored = yield* world.services.clients.findStored(world.workspace.id, record)
          return [stored?.about.client_name, stored?.serves, stored?.grantTypes.includes(exchangeGrant)]
        })
        yield* token(world, redeemed(yield* codeFor(world, client())))
        yield* setServedResource(world.services, byOwner(world), world.workspace, record, api)
        expect(yield* readAnew({ client_name: "Renamed" })).toEqual(["Renamed", api, true])
        const publicly = { client_name: "Open", token_endpoint_auth_method: "none", jwks_uri: undefined }
        expect(yield* readAnew(publicly)).toEqual(["Open", undefined, false])
      })
    ))

  test("is told by its address where it exchanged a token, to itself, to guards and in JWTs", () =>
    withKeys((world) =>
      Effect.gen(function* () {
        const owner = byOwner(world)
        const record = clientKey(ClientIdentifier.make(address))
        const api = `${world.workspace.issuer}/rest`
        yield* token(world, redeemed(yield* codeFor(world, client())))
        const app = yield* provenClient(world)
        const { access } = yield* signInToApp(world, app, { scope: "api profile" })
        const next = yield* registerClient(world, { grant_types: ["client_credentials"], redirect_uris: [] })
        for (const id of [record, ClientId.make(next.id)]) {
          yield* setServedResource(world.services, owner, world.workspace, id, api)
        }
        const asked = (subject_token: string): Values => ({
          grant_type: exchangeGrant,
          subject_token,
          subject_token_type: "urn:ietf:params:oauth:token-type:access_token"
        })
        const exchanged = text(jsonOf(yield* token(world, asked(access))).access_token)
        const client_assertion = yield* assertionOf(client())
        const fields = { token: exchanged, client_assertion_type: assertionType, client_assertion }
        const told = yield* world.send("POST", "/oauth/introspect", { headers: formHeaders, body: form(fields) })
        const named = { client_id: address, act: { sub: address } }
        expect(jsonOf(told)).toMatchObject({ active: true, ...named })
        const guarded = yield* world.guard("/rest/companies", { scopes: ["api"] }, bearing(exchanged))
        expect(guarded).toMatchObject({ principal: { client: address, actors: [address] } })
        for (const id of [record, ClientId.make(next.id)]) {
          yield* setAccessTokenFormat(world.services, owner, id, "jwt")
        }
        const signed = text(jsonOf(yield* token(world, asked(access))).access_token)
        expect(decodeJwt(signed)).toMatchObject(named)
        const last = text(jsonOf(yield* tokenRequest(world, next, asked(signed))).access_token)
        expect(decodeJwt(last)).toMatchObject({ client_id: next.id, act: { sub: next.id, act: { sub: address } } })
        const again = yield* world.guard("/rest/companies", { scopes: ["api"] }, bearing(last))
        expect(again).toMatchObject({ principal: { client: next.id, actors: [next.id, address] } })
      })
    ))

  test("proves itself: its address alone, or an assertion for another, proves nothing", () =>
    withKeys((world) =>
      Effect.gen(function* () {
        const code = yield* codeFor(world, client())
        const bare = { ...redeemed(code), client_id: address }
        const open = yield* world.send("POST", "/oauth/token", { headers: formHeaders, body: form(bare) })
        expect([open.status, jsonOf(open).error]).toEqual([401, "invalid_client"])
        for (const claims of [
          { sub: "https://other.example/client.json" },
          { iss: "https://other.example/client.json" }
        ]) {
          const client_assertion = yield* assertionOf(client(), claims)
          const fields = { ...bare, client_assertion_type: assertionType, client_assertion }
          const other = yield* world.send("POST", "/oauth/token", { headers: formHeaders, body: form(fields) })
          expect([other.status, jsonOf(other).error]).toEqual([401, "invalid_client"])
        }
      })
    ))
})

test("a document's client pushes what it asks for, binds its tokens, and learns who signed in", () =>
  withKeys((world, web) =>
    Effect.gen(function* () {
      const asked = askedBy(client(), { scope: "openid api", nonce: "n-1", dpop_jkt: jkt.jkt })
      const pushed = yield* pushSigned(world, client(), asked)
      expect([pushed.status, pushed.status === 201 ? "" : pushed.body]).toEqual([201, ""])
      const page = yield* visit(world, visitTarget(client(), uriOf(pushed)))
      expect([page.status, page.body.includes("app.example.org")]).toEqual([200, true])
      const code = String(backOf(yield* decide(world, page, "approve")).get("code"))
      const unbound = yield* token(world, redeemed(code))
      expect(jsonOf(unbound).error).toBe("invalid_grant")
      const answer = yield* token(world, redeemed(code), client(), { dpop: yield* tokenProof(jkt) })
      const { access_token, id_token, refresh_token, token_type } = jsonOf(answer)
      expect([answer.status, token_type]).toEqual([200, "DPoP"])
      const { payload } = yield* verified(world, client(), id_token)
      expect(payload).toMatchObject({ sub: "alice", aud: address, nonce: "n-1" })
      const bearer = yield* world.guard("/x", { scopes: ["api"] }, { authorization: `Bearer ${access_token}` })
      expect(bearer._tag).toBe("Refused")
      const again = yield* token(world, refreshed(refresh_token), client(), { dpop: yield* tokenProof(jkt) })
      expect([again.status, jsonOf(again).token_type]).toEqual([200, "DPoP"])
      expect(web.asked.filter((at) => at === address)).toHaveLength(1)
    })
  ))
