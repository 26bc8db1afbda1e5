import { describe, expect, test } from "bun:test"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import {
  type CryptoKey,
  createRemoteJWKSet,
  customFetch,
  exportJWK,
  generateKeyPair,
  type JWK,
  jwtVerify,
  SignJWT
} from "jose"
import { setAccessTokenFormat } from "../../../core/engine/administerClients.ts"
import { publishedAhead } from "../../../core/engine/signingKeys.ts"
import type { HttpResponse } from "../../../core/http/Http.ts"
import { assertionType } from "../../../core/oauth/clients/assertion.ts"
import { Documents } from "../../../core/ports/Documents.ts"
import { ClientId } from "../../../core/rules/Id.ts"
import { currentInstant, instantOf, later } from "../../../core/rules/Instant.ts"
import { byOwner } from "../../given/auditContext.ts"
import { companiesAddress, type Holder, holderOf, proofFor, tokenProof } from "../../given/dpop.ts"
import { codeFor, formHeaders, header, isUnguessable, jsonOf, registerClient, verifier } from "../../given/flow.ts"
import { inWorld, realSignatures, theWorkspace, type World } from "../../given/World.ts"

/**
 * What the OpenID Foundation's modules ask of clients that sign and of the keys of the server, each under the name of its
 * module: FAPI 2.0 with client credentials, and OpenID Connect's dynamic ones. What they ask of DPoP stands with DPoP.
 */

const { issuer } = theWorkspace
const signing = { signatures: realSignatures }
const tokenEndpoint = `${issuer}/oauth/token`

interface Signer {
  readonly sign: CryptoKey
  readonly jwk: JWK
}

const signer = async (alg: string, told: JWK = {}): Promise<Signer> => {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { sign: privateKey, jwk: { ...(await exportJWK(publicKey)), use: "sig", ...told } }
}

const one = await signer("PS256", { kid: "one", alg: "PS256" })
const two = await signer("PS256", { kid: "two", alg: "PS256" })
/** The same RSA key, for another algorithm. */
const oneByRs256 = await generateKeyPair("RS256", { extractable: true })
const nameless = await signer("RS256", { alg: "RS256" })

const registered = (
  world: World,
  keys: Readonly<Record<string, unknown>>,
  more: Readonly<Record<string, unknown>> = {}
) =>
  registerClient(world, {
    grant_types: ["client_credentials"],
    redirect_uris: [],
    token_endpoint_auth_method: "private_key_jwt",
    scope: "api",
    ...keys,
    ...more
  })

/** As the plan's own clients are registered. */
const fapi = (world: World, { jwk }: Signer) =>
  registered(
    world,
    { jwks: { keys: [jwk] }, token_endpoint_auth_signing_alg: "PS256" },
    { security_profile: "fapi2", dpop_bound_access_tokens: true }
  )

const holder = await holderOf("PS256")
const other = await holderOf("ES256")

let drawn = 0

const assertionOf = (
  client: string,
  by: CryptoKey,
  over: Readonly<Record<string, unknown>> = {},
  head: Readonly<Record<string, string | undefined>> = {}
) =>
  Effect.flatMap(currentInstant, (now) =>
    Effect.promise(() => {
      const seconds = Math.floor(now / 1000)
      const times = { iat: seconds, nbf: seconds, exp: seconds + 60 }
      const claims = { iss: client, sub: client, aud: issuer, jti: `module-${++drawn}`, ...times, ...over }
      return new SignJWT(claims).setProtectedHeader({ alg: "PS256", kid: "one", ...head }).sign(by)
    })
  )

const post = (world: World, fields: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>> = {}) =>
  world.send("POST", "/oauth/token", {
    headers: { ...formHeaders, ...headers },
    body: new URLSearchParams(fields).toString()
  })

const own = { grant_type: "client_credentials", scope: "api" }

const asked = (world: World, assertion: string, more: Readonly<Record<string, string>> = {}) =>
  post(world, { ...own, client_assertion_type: assertionType, client_assertion: assertion, ...more })

/** The same with a proof of a key, as each request of the FAPI plan has it. */
const proving = (world: World, fields: Readonly<Record<string, string>>, by = holder) =>
  Effect.flatMap(tokenProof(by), (dpop) => post(world, { ...own, ...fields }, { dpop }))

const askedBound = (world: World, client_assertion: string, more: Readonly<Record<string, string>> = {}, by = holder) =>
  proving(world, { client_assertion_type: assertionType, client_assertion, ...more }, by)

const opens = Effect.fnUntraced(function* (world: World, access: string, by: Holder) {
  const dpop = yield* proofFor(by, "GET", companiesAddress, access)
  return yield* world.send("GET", "/rest/companies", { headers: { authorization: `DPoP ${access}`, dpop } })
})

/** What is always checked of tokens (0.2). */
const expectTokens = (answer: HttpResponse, type = "Bearer") => {
  const { access_token, expires_in, refresh_token, token_type } = jsonOf(answer)
  expect([answer.status, header(answer, "content-type"), header(answer, "cache-control")]).toEqual([
    200,
    "application/json",
    "no-store"
  ])
  expect(isUnguessable(String(access_token))).toBe(true)
  expect(String(access_token)).toMatch(/^[\x20-\x7e]+$/)
  expect(Number(expires_in) > 0 && Number(expires_in) < 365 * 86_400).toBe(true)
  expect([token_type, refresh_token]).toEqual([type, undefined])
}

/** What is always checked of a refusal (0.3). */
const expectRefused = (answer: HttpResponse) => {
  const { error, error_description = "" } = jsonOf(answer)
  expect([answer.status, error]).toEqual([401, "invalid_client"])
  expect(String(error_description)).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/)
  expect(header(answer, "content-type")).toBe("application/json")
}

describe("fapi2-security-profile-final", () => {
  test("discovery-end-point-verification", () =>
    inWorld(function* (world) {
      const answer = yield* world.send("GET", "/.well-known/oauth-authorization-server")
      expect([answer.status, header(answer, "content-type")]).toEqual([200, "application/json"])
      const told = jsonOf(answer)
      expect(told.grant_types_supported).toContain("client_credentials")
      expect(told.token_endpoint_auth_methods_supported).toContain("private_key_jwt")
      expect(told.dpop_signing_alg_values_supported).toContain("PS256")
      for (const list of ["token", "revocation", "introspection"]) {
        const algorithms = told[`${list}_endpoint_auth_signing_alg_values_supported`]
        expect(algorithms).toContain("PS256")
        expect(algorithms).not.toContain("none")
      }
      expect([told.issuer, told.token_endpoint, told.jwks_uri]).toEqual([issuer, tokenEndpoint, `${issuer}/oauth/jwks`])
    }, signing))

  test("happy-flow", () =>
    inWorld(function* (world) {
      for (const [by, key, wrong] of [
        [one, holder, other],
        [two, other, holder]
      ] as const) {
        const client = yield* fapi(world, by)
        // No `client_id`: the assertion names the client.
        const assertion = yield* assertionOf(client.id, by.sign, {}, { kid: by.jwk.kid ?? "" })
        const answer = yield* askedBound(world, assertion, {}, key)
        expectTokens(answer, "DPoP")
        const access = String(jsonOf(answer).access_token)
        expect((yield* opens(world, access, key)).status).toBe(200)
        expect((yield* opens(world, access, wrong)).status).toBe(401)
        const dpop = yield* proofFor(key, "GET", companiesAddress, access)
        const inQuery = yield* world.send("GET", `/rest/companies?access_token=${access}`, { headers: { dpop } })
        expect(inQuery.status).toBe(401)
      }
    }, signing))

  interface Refusal {
    readonly module: string
    readonly over?: Readonly<Record<string, unknown>>
  }
  const wrongClaims: ReadonlyArray<Refusal> = [
    {
      module: "ensure-client-assertion-with-exp-is-5-minutes-in-past-fails",
      over: { exp: Date.UTC(2031, 0, 1) / 1000 - 300 }
    },
    { module: "ensure-client-assertion-with-wrong-aud-fails", over: { aud: "https://other1.example.com/invalid" } },
    { module: "ensure-client-assertion-with-no-sub-fails", over: { sub: undefined } }
  ]
  test.each(wrongClaims.map((row) => [row.module, row] as const))("%s", (_, { over = {} }) =>
    inWorld(function* (world) {
      const client = yield* fapi(world, one)
      expectRefused(yield* askedBound(world, yield* assertionOf(client.id, one.sign, over)))
      expectTokens(yield* askedBound(world, yield* assertionOf(client.id, one.sign)), "DPoP")
    }, signing)
  )

  test("ensure-client-id-in-token-endpoint", () =>
    inWorld(function* (world) {
      yield* fapi(world, one)
      const second = yield* fapi(world, two)
      const assertion = yield* assertionOf(second.id, one.sign)
      expectRefused(yield* askedBound(world, assertion, { client_id: second.id }))
      const byKid = yield* assertionOf(second.id, one.sign, {}, { kid: "two" })
      expectRefused(yield* askedBound(world, byKid, { client_id: second.id }))
    }, signing))

  test("ensure-signed-client-assertion-with-RS256-fails", () =>
    inWorld(function* (world) {
      const jwk = yield* Effect.promise(() => exportJWK(oneByRs256.publicKey))
      const rows = [
        { jwks: { keys: [{ ...jwk, kid: "one", alg: "PS256", use: "sig" }] } },
        { jwks: { keys: [{ ...jwk, kid: "one", use: "sig" }] }, token_endpoint_auth_signing_alg: "PS256" }
      ]
      for (const keys of rows) {
        const client = yield* registered(world, keys)
        const assertion = yield* assertionOf(client.id, oneByRs256.privateKey, {}, { alg: "RS256" })
        expectRefused(yield* askedBound(world, assertion))
      }
    }, signing))

  test("ensure-client-assertion-in-token-endpoint", () =>
    inWorld(function* (world) {
      const client = yield* fapi(world, one)
      expectRefused(yield* proving(world, { client_id: client.id }))
      expectRefused(yield* proving(world, {}))
    }, signing))
})

/** Documents at addresses, as they are now. */
const documentsAt = (told: Map<string, object>, clock: () => Clock.Clock): Documents["Service"] => ({
  ...Documents.none,
  fetch: (address) =>
    Effect.sync(() => {
      const now = instantOf(clock())
      return { body: JSON.stringify(told.get(address)), fetchedAt: now, freshUntil: later(now, 60_000) }
    })
})

const keysAt = "https://app.example.org/jwks"

/** A world that reads keys where clients keep them. */
const withKeysAt = (body: (world: World, told: Map<string, object>) => Effect.Effect<void, unknown>) => {
  const told = new Map<string, object>()
  let clock: Clock.Clock | undefined
  const documents = documentsAt(told, () => clock ?? expect.unreachable())
  return inWorld(
    (world) =>
      Effect.flatMap(Clock.Clock, (current) => {
        clock = current
        return body(world, told)
      }),
    { ...signing, documents }
  )
}

describe("oidcc", () => {
  test("ensure-client-assertion-with-iss-aud-succeeds, and with the token endpoint, by a key without a name", () =>
    inWorld(function* (world) {
      const client = yield* registered(world, { jwks: { keys: [nameless.jwk] } })
      for (const aud of [issuer, tokenEndpoint]) {
        const claims = yield* assertionOf(client.id, nameless.sign, { aud }, { alg: "RS256", kid: undefined })
        expectTokens(yield* asked(world, claims))
      }
    }, signing))

  test("registration-jwks-uri", () =>
    withKeysAt((world, told) =>
      Effect.gen(function* () {
        told.set(keysAt, { keys: [two.jwk, one.jwk] })
        const client = yield* registered(world, { jwks_uri: keysAt })
        expectTokens(yield* asked(world, yield* assertionOf(client.id, one.sign)))
        expectRefused(yield* asked(world, yield* assertionOf(client.id, one.sign, {}, { kid: "two" })))
      })
    ))

  test("refresh-token-rp-key-rotation", () =>
    withKeysAt((world, told) =>
      Effect.gen(function* () {
        told.set(keysAt, { keys: [one.jwk] })
        const app = {
          grant_types: ["authorization_code", "refresh_token"],
          redirect_uris: ["https://app.example.org/callback"]
        }
        const client = yield* registered(world, { jwks_uri: keysAt }, app)
        const code = yield* codeFor(world, client)
        const fields = {
          grant_type: "authorization_code",
          code,
          redirect_uri: client.redirectUri,
          code_verifier: verifier
        }
        const first = yield* asked(world, yield* assertionOf(client.id, one.sign), fields)
        expect(first.status).toBe(200)
        told.set(keysAt, { keys: [two.jwk] })
        yield* TestClock.adjust("60 seconds")
        const refresh = { grant_type: "refresh_token", refresh_token: String(jsonOf(first).refresh_token) }
        const second = yield* assertionOf(client.id, two.sign, {}, { kid: "two" })
        expect((yield* asked(world, second, refresh)).status).toBe(200)
        const old = yield* assertionOf(client.id, one.sign)
        expectRefused(yield* asked(world, old, { ...refresh, scope: "api" }))
      })
    ))

  test("server-rotate-keys, and jose's remote set verifies tokens through it", () =>
    inWorld(function* (world) {
      const client = yield* registered(world, { jwks: { keys: [one.jwk] } })
      yield* setAccessTokenFormat(world.services, byOwner(world), ClientId.make(client.id), "jwt")
      const token = Effect.flatMap(assertionOf(client.id, one.sign), (assertion) =>
        Effect.map(asked(world, assertion), (answer) => String(jsonOf(answer).access_token))
      )
      const context = yield* Effect.context<never>()
      const published = Effect.map(world.send("GET", "/oauth/jwks"), ({ body }) => body)
      const keys = createRemoteJWKSet(new URL(`${issuer}/oauth/jwks`), {
        cooldownDuration: 0,
        [customFetch]: async () => new Response(await Effect.runPromiseWith(context)(published))
      })
      const verified = (text: string) =>
        Effect.flatMap(currentInstant, (now) =>
          Effect.promise(async () => {
            const expected = { issuer, typ: "at+jwt", currentDate: new Date(now) }
            return (await jwtVerify(text, keys, expected)).protectedHeader.kid
          })
        )
      const kidsOf = Effect.map(published, (body) =>
        (JSON.parse(body) as { keys: ReadonlyArray<{ kid: string }> }).keys.map(({ kid }) => kid)
      )
      const before = yield* token
      const [first] = yield* kidsOf
      expect(yield* verified(before)).toBe(first)
      yield* world.services.signing.rotate(theWorkspace, yield* currentInstant)
      const both = yield* kidsOf
      expect([both.length, both.includes(String(first))]).toEqual([2, true])
      yield* TestClock.adjust(publishedAhead)
      const after = yield* token
      const second = yield* verified(after)
      expect(both).toContain(String(second))
      expect(second).not.toBe(first)
      expect(yield* verified(before)).toBe(first)
    }, signing))
})
