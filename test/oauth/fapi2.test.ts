import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { decodeProtectedHeader } from "jose"
import { setAccessTokenFormat, setSecurityProfile } from "../../core/engine/administerClients.ts"
import type { HttpResponse } from "../../core/http/Http.ts"
import { assertionType } from "../../core/oauth/clients/assertion.ts"
import { ClientId } from "../../core/rules/Id.ts"
import { algorithms } from "../../core/rules/Jwk.ts"
import { signInScopes } from "../../core/rules/Scope.ts"
import { byOwner } from "../given/auditContext.ts"
import { DocumentsWeb } from "../given/documentsWeb.ts"
import { companiesAddress, type Holder, holderOf, proofFor, tokenProof } from "../given/dpop.ts"
import {
  decide,
  form,
  formHeaders,
  header,
  isUnguessable,
  jsonOf,
  redirectUri,
  registerClient,
  tokenRequest,
  type Values,
  verifier
} from "../given/flow.ts"
import { verified } from "../given/openId.ts"
import {
  approveAt,
  askedBy,
  assertionOf,
  backOf,
  type Claims,
  codeByPush,
  errorOf,
  keyOf,
  objectOf,
  post,
  pushSigned,
  type SigningClient,
  signingClient,
  uriOf,
  visit,
  visitTarget
} from "../given/pushing.ts"
import { inWorld, realSignatures, t0, theWorkspace, type World, type WorldOptions } from "../given/World.ts"

/*
 * The rows of the OpenID Foundation's FAPI 2.0 modules that are about pushed requests, each under the name of its module,
 * about codes, and about the keys that they are bound to. Those about proofs alone are in `presented/dpop.test.ts`, about
 * assertions in `clients/conformance.test.ts`.
 */

const { issuer } = theWorkspace
const now = t0 / 1000
const minute = 60
const ps256 = await keyOf("PS256", "one")
const es256 = await keyOf("ES256", "two")

const dummies = "https://app.example.org/callback?dummy1=lorem&dummy2=ipsum"

interface Scene {
  readonly world: World
  readonly one: SigningClient
  readonly two: SigningClient
}

const fapi = { security_profile: "fapi2", require_pushed_authorization_requests: true } as const

/** Two clients of the profile; the second has a redirect URI with a query. */
const onStage = (
  body: (scene: Scene) => Effect.Effect<void>,
  more: object = {},
  policy: NonNullable<WorldOptions["policy"]> = {}
) =>
  inWorld(
    (world) =>
      Effect.gen(function* () {
        const one = yield* signingClient(world, ps256, { ...fapi, ...more })
        const two = yield* signingClient(world, es256, { ...fapi, redirect_uris: [dummies], ...more })
        yield* body({ world, one, two })
      }),
    { signatures: realSignatures, policy }
  )

type Module = readonly [name: string, body: (scene: Scene) => Effect.Effect<void>]

const pushed = ({ world, one }: Scene, over: Values = {}) => pushSigned(world, one, askedBy(one, over))

/** PAR refuses what is asked for, with one of these errors and 400. */
const refusedAtPar =
  (over: Values, ...errors: ReadonlyArray<string>) =>
  (scene: Scene) =>
    Effect.gen(function* () {
      const answer = yield* pushed(scene, over)
      expect(answer.status).toBe(400)
      expect(errors).toContain(errorOf(answer))
    })

/** PAR takes an assertion with these claims or it does not. */
const assertion =
  (over: Claims, status: number, header: object = {}) =>
  ({ one, world }: Scene) =>
    Effect.gen(function* () {
      const answer = yield* pushSigned(world, one, askedBy(one), yield* assertionOf(one, over, header))
      expect(answer.status).toBe(status)
      if (status !== 201) expect(errorOf(answer)).toBe("invalid_client")
    })

const targetOf = (scene: Scene, over: Values = {}, beside: Values = {}) =>
  Effect.map(pushed(scene, over), (answer) => visitTarget(scene.one, uriOf(answer), beside))

const isPage = (answer: { readonly status: number; readonly body: string }) => {
  expect(answer.status).toBe(400)
  expect(answer.body).toContain("<h1>")
  expect(answer.body).not.toContain("<form")
}

const repeats = { response_type: "code", scope: "api", redirect_uri: redirectUri }

const withUsers: ReadonlyArray<Module> = [
  [
    "happy-flow",
    (scene) =>
      Effect.gen(function* () {
        const back = backOf(yield* approveAt(scene.world, yield* targetOf(scene, {}, repeats)))
        expect([back.get("state"), back.get("iss")]).toEqual(["st", issuer])
        expect([...back.keys()].toSorted()).toEqual(["code", "iss", "state"])
        expect(isUnguessable(back.get("code") ?? "")).toBe(true)
        const state = `${"x".repeat(124)}-._~`
        const two = yield* pushSigned(scene.world, scene.two, askedBy(scene.two, { redirect_uri: dummies, state }))
        const also = backOf(yield* approveAt(scene.world, visitTarget(scene.two, uriOf(two))))
        expect([also.get("dummy1"), also.get("dummy2"), also.get("state")]).toEqual(["lorem", "ipsum", state])
        // What of it a client could not guess: the rest is the same for all.
        expect(isUnguessable(uriOf(two).slice("urn:ietf:params:oauth:request_uri:".length))).toBe(true)
      })
  ],
  [
    "user-rejects-authentication",
    ({ two, world }) =>
      Effect.gen(function* () {
        const answer = yield* pushSigned(world, two, askedBy(two, { redirect_uri: dummies }))
        const page = yield* visit(world, visitTarget(two, uriOf(answer)))
        const back = backOf(yield* decide(world, page, "deny"))
        expect(["error", "state", "iss", "dummy1"].map((name) => back.get(name))).toEqual([
          "access_denied",
          "st",
          issuer,
          "lorem"
        ])
        isPage(yield* visit(world, visitTarget(two, uriOf(answer))))
      })
  ],
  [
    "ensure-authorization-request-without-state-success",
    (scene) =>
      Effect.gen(function* () {
        const back = backOf(yield* approveAt(scene.world, yield* targetOf(scene, { state: undefined })))
        expect([back.has("code"), back.has("state")]).toEqual([true, false])
      })
  ],
  [
    "ensure-different-state-inside-and-outside-request-object",
    (scene) =>
      Effect.gen(function* () {
        const back = backOf(yield* approveAt(scene.world, yield* targetOf(scene, {}, { ...repeats, state: "other" })))
        expect(back.getAll("state")).toEqual(["st"])
      })
  ],
  [
    "ensure-authorization-request-with-long-state",
    (scene) =>
      Effect.gen(function* () {
        const state = `${"s".repeat(996)}-._~`
        const back = backOf(yield* approveAt(scene.world, yield* targetOf(scene, { state })))
        expect(back.get("state")).toBe(state)
      })
  ],
  [
    "state-only-outside-request-object-not-used",
    (scene) =>
      Effect.gen(function* () {
        const target = yield* targetOf(scene, { state: undefined }, { state: "outside" })
        expect(backOf(yield* approveAt(scene.world, target)).has("state")).toBe(false)
      })
  ],
  ["ensure-request-object-without-redirect-uri-fails", refusedAtPar({ redirect_uri: undefined }, "invalid_request")],
  ["ensure-redirect-uri-in-authorization-request", refusedAtPar({ redirect_uri: undefined }, "invalid_request")],
  [
    "plain-fapi-tolerate-unregistered-redirect-uri",
    refusedAtPar({ redirect_uri: "https://app.example.org/other" }, "invalid_request")
  ],
  [
    "ensure-unsigned-authorization-request-without-using-par-fails",
    ({ one, world }) =>
      Effect.gen(function* () {
        const query = new URLSearchParams(Object.entries(askedBy(one)).map(([name, value]) => [name, String(value)]))
        const back = backOf(yield* visit(world, `/oauth/authorize?${query}`))
        expect([back.get("error"), back.get("state"), back.get("iss")]).toEqual(["invalid_request", "st", issuer])
      })
  ],
  [
    "ensure-response-type-code-idtoken-fails",
    refusedAtPar({ response_type: "code id_token" }, "unsupported_response_type")
  ],
  ["ensure-response-type-token-fails", refusedAtPar({ response_type: "token" }, "unsupported_response_type")],
  [
    "par-ensure-reused-request-uri-prior-to-auth-completion-succeeds",
    (scene) =>
      Effect.gen(function* () {
        const target = yield* targetOf(scene)
        for (const _ of [1, 2]) {
          const signIn = yield* scene.world.send("GET", target)
          expect(header(signIn, "location")).toContain("/login")
        }
        expect(backOf(yield* approveAt(scene.world, target)).has("code")).toBe(true)
      })
  ],
  [
    "par-attempt-reuse-request_uri",
    (scene) =>
      Effect.gen(function* () {
        const target = yield* targetOf(scene)
        expect(backOf(yield* approveAt(scene.world, target)).has("code")).toBe(true)
        isPage(yield* visit(scene.world, target))
      })
  ],
  [
    "par-attempt-to-use-expired-request_uri",
    (scene) =>
      Effect.gen(function* () {
        const answer = yield* pushed(scene)
        const lasts = Number(jsonOf(answer).expires_in)
        expect([lasts >= 60, lasts <= 90]).toEqual([true, true])
        const target = visitTarget(scene.one, uriOf(answer))
        yield* TestClock.adjust(lasts * 1000 - 1)
        expect((yield* visit(scene.world, target)).status).toBe(200)
        yield* TestClock.adjust(1)
        isPage(yield* visit(scene.world, target))
      })
  ],
  [
    "par-ensure-jwt-client-assertions-nbf-8-seconds-in-the-future-is-accepted",
    assertion({ iat: now + 8, nbf: now + 8 }, 201)
  ],
  [
    "par-ensure-jwt-client-assertions-nbf-over-60-seconds-in-the-future-fails",
    assertion({ iat: now + 62, nbf: now + 62, exp: now + 122 }, 401)
  ],
  [
    "par-attempt-to-use-request_uri-for-different-client",
    (scene) =>
      Effect.gen(function* () {
        isPage(yield* visit(scene.world, visitTarget(scene.two, uriOf(yield* pushed(scene)))))
      })
  ],
  [
    "par-authorization-request-containing-request_uri-form-param",
    refusedAtPar({ request_uri: "urn:ietf:params:oauth:request_uri:x" }, "invalid_request")
  ],
  [
    "par-attempt-invalid-http-method",
    ({ world }) =>
      Effect.gen(function* () {
        expect((yield* world.send("PUT", "/oauth/par")).status).toBe(405)
      })
  ],
  [
    "par-ensure-pkce-required",
    refusedAtPar({ code_challenge: undefined, code_challenge_method: undefined }, "invalid_request")
  ],
  ["par-plain-pkce-rejected", refusedAtPar({ code_challenge_method: "plain" }, "invalid_request")],
  [
    "par-without-duplicate-parameters",
    (scene) =>
      Effect.gen(function* () {
        expect(backOf(yield* approveAt(scene.world, yield* targetOf(scene))).has("code")).toBe(true)
      })
  ],
  ["par-test-array-as-audience-fails", assertion({ aud: [issuer, "https://other.example"] }, 401)],
  ["par-test-par-endpoint-url-as-audience-fails", assertion({ aud: `${issuer}/oauth/par` }, 401)],
  ["par-test-token-endpoint-url-as-audience-fails", assertion({ aud: `${issuer}/oauth/token` }, 401)],
  [
    "ensure-signed-client-assertion-with-RS256-fails",
    ({ world }) =>
      Effect.gen(function* () {
        const rs256 = yield* Effect.promise(() => keyOf("RS256", "three"))
        const rows = [fapi, {}]
        for (const profile of rows) {
          const client = yield* signingClient(world, { ...rs256, jwk: { ...rs256.jwk } }, profile)
          expect((yield* pushSigned(world, client)).status).toBe(profile === fapi ? 401 : 201)
        }
      })
  ]
]

/** A client that the profile does not hold, so that its tokens need no key of their own. */
const redeemed = ({ world }: Scene, over: Values) =>
  Effect.gen(function* () {
    const client = yield* signingClient(world, es256, { require_pushed_authorization_requests: true })
    const code = yield* codeByPush(world, client)
    return yield* post(world, "/oauth/token", {
      grant_type: "authorization_code",
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      client_assertion: yield* assertionOf(client),
      ...over
    })
  })

const atToken: ReadonlyArray<Module> = [
  [
    "ensure-pkce-code-verifier-required",
    (scene) =>
      Effect.map(redeemed(scene, { code_verifier: undefined }), (answer) =>
        expect(errorOf(answer)).toBe("invalid_grant")
      )
  ],
  [
    "incorrect-pkce-code-verifier-rejected",
    (scene) =>
      Effect.map(redeemed(scene, { code_verifier: "w".repeat(43) }), (answer) =>
        expect(errorOf(answer)).toBe("invalid_grant")
      )
  ],
  ["happy-flow (token)", (scene) => Effect.map(redeemed(scene, {}), (answer) => expect(answer.status).toBe(200))]
]

const holder = await holderOf("ES256")
const another = await holderOf("ES256")

/** A request to the token endpoint, so many seconds from the start, with a fresh assertion and a fresh proof. */
const asks = Effect.fnUntraced(function* (
  world: World,
  client: SigningClient,
  fields: Values,
  { after = 0, key = holder }: { readonly after?: number; readonly key?: Holder | null } = {}
) {
  const at = now + after
  const proof = key === null ? {} : { dpop: yield* tokenProof(key, { claims: { iat: at } }) }
  const client_assertion = yield* assertionOf(client, { iat: at, nbf: at, exp: at + minute })
  return yield* world.send("POST", "/oauth/token", {
    headers: { ...formHeaders, ...proof },
    body: form({ client_assertion_type: assertionType, client_assertion, ...fields })
  })
})

const codeFields = (code: string): Values => ({
  grant_type: "authorization_code",
  code,
  redirect_uri: redirectUri,
  code_verifier: verifier
})

const opens = Effect.fnUntraced(function* (world: World, access: string, key: Holder, after = 0) {
  const dpop = yield* proofFor(key, "GET", companiesAddress, access, { claims: { iat: now + after } })
  return yield* world.send("GET", "/rest/companies", { headers: { authorization: `DPoP ${access}`, dpop } })
})

const isInvalidGrant = (answer: HttpResponse) =>
  expect([answer.status, errorOf(answer)]).toEqual([400, "invalid_grant"])

/** Clients that also act for themselves. */
const withOwn = { grant_types: ["authorization_code", "refresh_token", "client_credentials"] }

const tenMinutes = 10 * 60 * 1000

/** Of codes and of what comes of them; the server's codes live longer than the profile has it. */
const ofCodes: ReadonlyArray<Module> = [
  [
    "attempt-reuse-authorization-code-after-one-second",
    ({ one, world }) =>
      Effect.gen(function* () {
        const fields = codeFields(yield* codeByPush(world, one))
        const access = String(jsonOf(yield* asks(world, one, fields)).access_token)
        expect((yield* opens(world, access, holder)).status).toBe(200)
        yield* TestClock.adjust(1000)
        isInvalidGrant(yield* asks(world, one, fields, { after: 1 }))
        expect((yield* opens(world, access, holder, 1)).status).toBe(401)
      })
  ],
  [
    "ensure-token-endpoint-fails-with-expired-auth-code",
    ({ one, world }) =>
      Effect.gen(function* () {
        const codes = [yield* codeByPush(world, one), yield* codeByPush(world, one), yield* codeByPush(world, one)]
        for (const [n, after, status] of [
          [0, 59, 200],
          [1, 60, 400],
          [2, 62, 400]
        ] as const) {
          yield* TestClock.setTime(t0 + after * 1000)
          const answer = yield* asks(world, one, codeFields(codes[n] ?? ""), { after })
          expect([after, answer.status]).toEqual([after, status])
          if (status === 400) isInvalidGrant(answer)
        }
      })
  ],
  [
    "ensure-authorization-code-is-bound-to-client",
    ({ one, two, world }) =>
      Effect.gen(function* () {
        const fields = codeFields(yield* codeByPush(world, one))
        isInvalidGrant(yield* asks(world, two, fields))
        isInvalidGrant(yield* asks(world, two, { ...fields, redirect_uri: dummies }))
        // A client that shows another's code spends nothing of it.
        expect((yield* asks(world, one, fields)).status).toBe(200)
      })
  ],
  [
    "refresh-token",
    ({ one, two, world }) =>
      Effect.gen(function* () {
        const first = jsonOf(yield* asks(world, one, codeFields(yield* codeByPush(world, one))))
        const fields = { grant_type: "refresh_token", refresh_token: String(first.refresh_token) }
        for (const token of [first.access_token, first.refresh_token]) expect(isUnguessable(String(token))).toBe(true)
        const again = yield* asks(world, one, fields, { key: another })
        const { access_token, token_type } = jsonOf(again)
        expect([again.status, token_type, header(again, "cache-control")]).toEqual([200, "DPoP", "no-store"])
        expect((yield* opens(world, String(access_token), another)).status).toBe(200)
        expect((yield* opens(world, String(access_token), holder)).status).toBe(401)
        expect((yield* opens(world, String(first.access_token), another)).status).toBe(401)
        yield* TestClock.adjust(30_000)
        expect((yield* asks(world, one, fields, { after: 30 })).status).toBe(200)
        const dpop = yield* tokenProof(holder, { claims: { iat: now + 30 } })
        const unproven = yield* world.send("POST", "/oauth/token", {
          headers: { ...formHeaders, dpop },
          body: form({ ...fields, client_id: one.id })
        })
        expect([401, errorOf(unproven)]).toEqual([unproven.status, "invalid_client"])
        const keyless = yield* asks(world, one, fields, { after: 30, key: null })
        expect([keyless.status, errorOf(keyless)]).toEqual([400, "invalid_dpop_proof"])
        isInvalidGrant(yield* asks(world, two, fields, { after: 30 }))
      })
  ]
]

const parAddress = `${issuer}/oauth/par`

/** Pushes with a proof, or with a key's name alone. */
const pushedWith = Effect.fnUntraced(function* ({ one, world }: Scene, fields: Values, key?: Holder) {
  const body = {
    ...askedBy(one, fields),
    client_assertion_type: assertionType,
    client_assertion: yield* assertionOf(one)
  }
  const proof = key === undefined ? {} : { dpop: yield* proofFor(key, "POST", parAddress) }
  return yield* world.send("POST", "/oauth/par", { headers: { ...formHeaders, ...proof }, body: form(body) })
})

/** A request that names a key, redeemed with one: with the key, nothing was spent before, and without it nothing is had. */
const boundBy =
  (fields: Values, at: Holder | undefined, by: Holder) =>
  (scene: Scene): Effect.Effect<void> =>
    Effect.gen(function* () {
      const { one, world } = scene
      const target = visitTarget(one, uriOf(yield* pushedWith(scene, fields, at)))
      const code = backOf(yield* approveAt(world, target)).get("code") ?? ""
      const answer = yield* asks(world, one, codeFields(code), { key: by })
      if (by === holder) expect([answer.status, jsonOf(answer).token_type]).toEqual([200, "DPoP"])
      else {
        isInvalidGrant(answer)
        expect((yield* asks(world, one, codeFields(code))).status).toBe(200)
      }
    })

const named = { dpop_jkt: holder.jkt }

/** Of keys that a code is bound to, or has to have. */
const ofKeys: ReadonlyArray<Module> = [
  ["happy-flow (dpop_jkt alone)", boundBy(named, undefined, holder)],
  ["ensure-dpopproof-at-par-endpoint-binding-success", boundBy({}, holder, holder)],
  ["ensure-dpop-auth-code-binding-success", boundBy(named, holder, holder)],
  ["ensure-token-endpoint-fails-with-mismatched-dpop-proof-jkt", boundBy({}, holder, another)],
  ["ensure-token-endpoint-fails-with-mismatched-dpop-jkt", boundBy(named, undefined, another)],
  [
    "ensure-mismatched-dpop-jkt-fails",
    (scene) =>
      Effect.gen(function* () {
        const answer = yield* pushedWith(scene, named, another)
        expect([answer.status, errorOf(answer)]).toEqual([400, "invalid_dpop_proof"])
      })
  ],
  [
    "ensure-holder-of-key-required",
    ({ one, world }) =>
      Effect.gen(function* () {
        const code = yield* codeByPush(world, one)
        const own = { grant_type: "client_credentials", scope: "api" }
        for (const fields of [codeFields(code), own]) {
          const answer = yield* asks(world, one, fields, { key: null })
          expect([answer.status, errorOf(answer)]).toEqual([400, "invalid_dpop_proof"])
        }
      })
  ],
  [
    "happy-flow (at the resource)",
    ({ one, two, world }) =>
      Effect.gen(function* () {
        const own = { grant_type: "client_credentials", scope: "api" }
        for (const [client, key, other] of [
          [one, holder, another],
          [two, another, holder]
        ] as const) {
          const tokens = jsonOf(yield* asks(world, client, own, { key }))
          expect([tokens.token_type, tokens.refresh_token]).toEqual(["DPoP", undefined])
          const access = String(tokens.access_token)
          const proof = () => proofFor(key, "GET", companiesAddress, access)
          for (const more of [
            { accept: "application/json;charset=utf-8" },
            { accept: "*/*" },
            { "x-fapi-customer-ip-address": "2001:db8::1", "x-fapi-interaction-id": crypto.randomUUID() }
          ]) {
            const headers = { authorization: `DPoP ${access}`, dpop: yield* proof(), ...more }
            expect((yield* world.send("GET", "/rest/companies", { headers })).status).toBe(200)
          }
          const inQuery = yield* world.send("GET", `/rest/companies?access_token=${access}`, {
            headers: { dpop: yield* proof() }
          })
          expect([inQuery.status, (yield* opens(world, access, other)).status]).toEqual([401, 401])
        }
      })
  ]
]

/** The claims of an ID token that came of a pushed request. */
const signedIn = Effect.fnUntraced(function* (scene: Scene, asked: Values, beside: Values = {}) {
  const { one, world } = scene
  const code = backOf(yield* approveAt(world, yield* targetOf(scene, { scope: "openid", ...asked }, beside))).get(
    "code"
  )
  const tokens = jsonOf(yield* asks(world, one, codeFields(code ?? "")))
  const { payload, protectedHeader } = yield* verified(world, one, tokens.id_token)
  expect(["PS256", "ES256", "EdDSA", "Ed25519"]).toContain(protectedHeader.alg)
  return { claims: payload, access: String(tokens.access_token) }
})

const nonceOf = (scene: Scene, asked: Values, beside?: Values) =>
  Effect.map(signedIn(scene, asked, beside), ({ claims }) => claims.nonce)

const withOpenId: ReadonlyArray<Module> = [
  [
    "ensure-authorization-request-without-nonce-success",
    (scene) => Effect.map(nonceOf(scene, {}), (nonce) => expect(nonce).toBeUndefined())
  ],
  ...[
    ["ensure-authorization-request-with-64-char-nonce-success", 64] as const,
    ["ensure-authorization-request-with-long-nonce", 384] as const
  ].map(([module, length]): Module => {
    const nonce = "n".repeat(length)
    return [module, (scene) => Effect.map(nonceOf(scene, { nonce }), (told) => expect(told).toBe(nonce))]
  }),
  [
    "ensure-different-nonce-inside-and-outside-request-object",
    (scene) =>
      Effect.map(nonceOf(scene, { nonce: "inside" }, { nonce: "outside" }), (told) => expect(told).toBe("inside"))
  ],
  [
    "ensure-other-scope-order-succeeds",
    (scene) =>
      Effect.map(signedIn(scene, { scope: "api email profile openid" }), ({ claims }) =>
        expect(claims.sub).toBe("alice")
      )
  ],
  [
    "test-claims-parameter-identity-claims",
    (scene) =>
      Effect.gen(function* () {
        const { world } = scene
        const metadata = jsonOf(yield* world.send("GET", "/.well-known/openid-configuration"))
        expect(metadata.claims_parameter_supported).toBe(true)
        const each = [...(metadata.claims_supported as ReadonlyArray<string>), "unheard_of"]
        const wanted = Object.fromEntries(each.map((name) => [name, null]))
        const asked = JSON.stringify({ id_token: wanted, userinfo: wanted })
        const { access, claims } = yield* signedIn(scene, { claims: asked })
        const address = `${issuer}/oauth/userinfo`
        const dpop = yield* proofFor(holder, "GET", address, access)
        const told = yield* world.send("GET", "/oauth/userinfo", { headers: { authorization: `DPoP ${access}`, dpop } })
        expect([told.status, jsonOf(told).sub, claims.sub]).toEqual([200, "alice", "alice"])
      })
  ]
]

describe("fapi2-security-profile-final", () => {
  test.each(withUsers)("%s", (_, body) => onStage(body))
  test.each(atToken)("%s", (_, body) => onStage(body))
  test.each(ofCodes)("%s", (_, body) => onStage(body, {}, { codeTtl: tenMinutes }))
  test.each(ofKeys)("%s", (_, body) => onStage(body, withOwn))
  test.each(withOpenId)("%s", (_, body) => onStage(body, {}, { scopes: signInScopes }))
})

type Signed = readonly [
  module: string,
  claims: Claims,
  header: object,
  by: "one" | "two",
  errors: ReadonlyArray<string> | undefined
]

const bad = ["invalid_request_object"]
const messages: ReadonlyArray<Signed> = [
  ["happy-flow", {}, {}, "one", undefined],
  ["happy-flow (client 2)", { iat: now }, { typ: "oauth-authz-req+jwt" }, "one", undefined],
  [
    "ensure-request-object-with-multiple-aud-succeeds",
    { aud: [issuer, "https://other.example"] },
    {},
    "one",
    undefined
  ],
  ["ensure-request-object-with-nbf-8-seconds-in-the-future-is-accepted", { nbf: now + 8 }, {}, "one", undefined],
  ["ensure-request-object-without-exp-fails", { exp: undefined }, {}, "one", bad],
  ["ensure-request-object-without-nbf-fails", { nbf: undefined }, {}, "one", bad],
  ["ensure-expired-request-object-fails", { exp: now - 5 * minute }, {}, "one", bad],
  ["ensure-request-object-with-exp-over-60-fails", { exp: now + 70 * minute }, {}, "one", bad],
  ["ensure-request-object-with-nbf-over-60-fails", { nbf: now - 70 * minute }, {}, "one", bad],
  ["ensure-request-object-with-bad-aud-fails", { aud: "https://other.example" }, {}, "one", bad],
  ["ensure-matching-key-in-authorization-request", {}, {}, "two", bad],
  ["par-authorization-request-containing-request_uri", { request_uri: "https://app.example.org/r" }, {}, "one", bad]
]

const pushObject = (world: World, client: SigningClient, object: string) =>
  pushSigned(world, client, { client_id: client.id, request: object })

describe("fapi2-message-signing, signed_non_repudiation", () => {
  test.each(messages)("%s", (_, claims, header, by, errors) =>
    onStage(
      ({ one, two, world }) =>
        Effect.gen(function* () {
          const object = yield* objectOf(one, claims, header, by === "one" ? one.key : two.key)
          const answer = yield* pushObject(world, one, object)
          expect(answer.status).toBe(errors === undefined ? 201 : 400)
          if (errors !== undefined) expect(errors).toContain(errorOf(answer))
          else expect(backOf(yield* approveAt(world, visitTarget(one, uriOf(answer)))).get("state")).toBe("st")
        }),
      { require_signed_request_object: true }
    )
  )

  test("ensure-signed-request-object-with-RS256-fails, -signature-algorithm-is-not-none, -with-invalid-signature-fails", () =>
    onStage(
      ({ one, world }) =>
        Effect.gen(function* () {
          const object = yield* objectOf(one)
          const [head = "", claims = "", signature = ""] = object.split(".")
          const recast = (alg: string) => Buffer.from(JSON.stringify({ alg, kid: "one" })).toString("base64url")
          const rows = [
            `${recast("RS256")}.${claims}.${signature}`,
            `${recast("none")}.${claims}.`,
            `${recast("none")}.${claims}.${signature}`,
            `${head}.${claims}.${signature.slice(0, -8)}AAAAAAAA`
          ]
          for (const row of rows) {
            const answer = yield* pushObject(world, one, row)
            expect([answer.status, errorOf(answer)]).toEqual([400, "invalid_request_object"])
          }
        }),
      { require_signed_request_object: true }
    ))

  test("ensure-signed-request-object-with-RS256-fails, by a key that the client registered for it", () =>
    inWorld(
      (world) =>
        Effect.gen(function* () {
          const rs256 = yield* Effect.promise(() => keyOf("RS256", "three"))
          for (const [profile, status] of [
            [{}, 201],
            [fapi, 400]
          ] as const) {
            const jwks = { keys: [ps256.jwk, rs256.jwk] }
            const client = yield* signingClient(world, ps256, { ...profile, jwks })
            const answer = yield* pushObject(world, client, yield* objectOf(client, {}, {}, rs256))
            expect(answer.status).toBe(status)
            if (status === 400) expect(errorOf(answer)).toBe("invalid_request_object")
          }
        }),
      { signatures: realSignatures }
    ))

  test("happy-flow, by keys at the client's jwks_uri, which are asked for anew for one that has come since", () => {
    const web = new DocumentsWeb()
    const keysAt = "https://app.example.org/keys"
    const publish = (...keys: ReadonlyArray<object>) => web.pages.set(keysAt, { body: { keys } })
    return inWorld(
      (world) =>
        Effect.gen(function* () {
          publish(es256.jwk)
          const client = yield* signingClient(world, es256, { ...fapi, jwks: undefined, jwks_uri: keysAt })
          const pushedAfter = Effect.fnUntraced(function* (after: number, by: typeof es256) {
            const at = now + after
            const assertion = yield* assertionOf(client, { iat: at, nbf: at, exp: at + minute })
            const request = yield* objectOf(client, {}, {}, by)
            return (yield* pushSigned(world, client, { client_id: client.id, request }, assertion)).status
          })
          expect([yield* pushedAfter(0, es256), yield* pushedAfter(0, ps256)]).toEqual([201, 400])
          publish(es256.jwk, ps256.jwk)
          yield* TestClock.adjust("1 minute")
          expect(yield* pushedAfter(minute, ps256)).toBe(201)
        }),
      { signatures: realSignatures, documents: web.layer() }
    )
  })

  test("ensure-unsigned-request-at-par-endpoint-fails", () =>
    onStage(
      (scene) =>
        Effect.gen(function* () {
          const answer = yield* pushed(scene)
          expect([answer.status, errorOf(answer)]).toEqual([400, "invalid_request"])
        }),
      { require_signed_request_object: true }
    ))

  test("a client asks for signed requests where the server keeps its keys", () =>
    inWorld(
      (world) =>
        Effect.gen(function* () {
          for (const [method, status] of [
            ["private_key_jwt", 201],
            ["client_secret_basic", 400],
            ["none", 400]
          ] as const) {
            const answer = yield* world.send("POST", "/oauth/register", {
              headers: { "content-type": "application/json" },
              body: JSON.stringify({
                redirect_uris: [redirectUri],
                token_endpoint_auth_method: method,
                jwks: { keys: [ps256.jwk] },
                require_signed_request_object: true
              })
            })
            expect([method, answer.status]).toEqual([method, status])
          }
        }),
      { signatures: realSignatures }
    ))
})

describe("what the modules come to for the server", () => {
  test("a proof is remembered for as long as it would be taken, whatever is swept meanwhile", () =>
    onStage(
      ({ one, world }) =>
        Effect.gen(function* () {
          const own = { grant_type: "client_credentials", scope: "api" }
          const access = String(jsonOf(yield* asks(world, one, own)).access_token)
          const proofs = yield* Effect.forEach([-59, 0, 10], (after) =>
            proofFor(holder, "GET", companiesAddress, access, { claims: { iat: now + after } })
          )
          const statuses = Effect.forEach(proofs, (dpop) =>
            Effect.map(
              world.send("GET", "/rest/companies", { headers: { authorization: `DPoP ${access}`, dpop } }),
              ({ status }) => status
            )
          )
          expect(yield* statuses).toEqual([200, 200, 200])
          for (const seconds of [0, 1, 10, 59, 60, 69.9, 70, 79.9, 80, 300]) {
            yield* TestClock.setTime(t0 + seconds * 1000)
            // Of a process whose clock is a minute ahead.
            yield* Effect.orDie(world.storage.sweep(t0 + seconds * 1000 + 60_000, 1000))
            expect([seconds, yield* statuses]).toEqual([seconds, [401, 401, 401]])
          }
        }),
      withOwn
    ))

  test.each([
    ["sealed tokens", "api", "opaque"],
    ["a JWT", "api", "jwt"],
    ["an ID token", "openid api", "opaque"],
    ["an ID token beside a JWT", "openid api", "jwt"]
  ] as const)("a proof or an assertion that was used before spends no code for %s", (_, scope, format) =>
    onStage(
      ({ one, world }) =>
        Effect.gen(function* () {
          yield* Effect.orDie(setAccessTokenFormat(world.services, byOwner(world), ClientId.make(one.id), format))
          const shown = (client_assertion: string, dpop: string, fields: Values) =>
            world.send("POST", "/oauth/token", {
              headers: { ...formHeaders, dpop },
              body: form({ client_assertion_type: assertionType, client_assertion, ...fields })
            })
          const [assertion, proof] = [yield* assertionOf(one), yield* tokenProof(holder)]
          const own = yield* shown(assertion, proof, { grant_type: "client_credentials", scope: "api" })
          expect(own.status).toBe(200)
          const fields = codeFields(yield* codeByPush(world, one, askedBy(one, { scope })))
          const replayed = yield* shown(yield* assertionOf(one), proof, fields)
          expect([replayed.status, errorOf(replayed)]).toEqual([400, "invalid_dpop_proof"])
          const again = yield* shown(assertion, yield* tokenProof(holder), fields)
          expect([again.status, errorOf(again)]).toEqual([401, "invalid_client"])
          expect((yield* shown(yield* assertionOf(one), yield* tokenProof(holder), fields)).status).toBe(200)
        }),
      withOwn,
      { scopes: signInScopes }
    )
  )

  test("no list of metadata names what is not signed, and requests that are signed have their algorithms there", () =>
    onStage(
      ({ world }) =>
        Effect.gen(function* () {
          const metadata = jsonOf(yield* world.send("GET", "/.well-known/openid-configuration"))
          const lists = Object.entries(metadata).filter(([name]) => /_alg(_values)?_supported$|_algs?$/.test(name))
          expect(lists.map(([name]) => name)).toContain("request_object_signing_alg_values_supported")
          for (const [name, list] of lists) expect([name, list]).not.toEqual([name, expect.arrayContaining(["none"])])
          expect(metadata.subject_types_supported).toEqual(["public"])
          expect(metadata.request_uri_parameter_supported).toBe(false)
        }),
      {},
      { scopes: signInScopes }
    ))

  test("a signed request causes nothing before its signature holds, whichever client it names", () =>
    onStage(({ one, two, world }) =>
      Effect.gen(function* () {
        const elsewhere = "https://evil.example/app.json"
        const kept = () => world.calls.insert.filter((what) => String(what).includes("request")).length
        const before = kept()
        for (const claims of [
          { iss: elsewhere, client_id: elsewhere },
          { iss: elsewhere },
          { aud: elsewhere },
          { redirect_uri: "https://evil.example/" }
        ]) {
          const answer = yield* pushObject(world, one, yield* objectOf(one, claims, {}, two.key))
          expect([answer.status, errorOf(answer)]).toEqual([400, "invalid_request_object"])
        }
        expect(kept()).toBe(before)
      })
    ))
})

/** What an owner, or an earlier policy, made of a client. */
const change = (world: World, { id }: SigningClient, over: object) =>
  Effect.orDie(world.services.clients.change(theWorkspace.id, ClientId.make(id), (stored) => ({ ...stored, ...over })))

describe("the profile of a client", () => {
  test("has the server sign for it by its algorithms too, whatever signs for others (FAPI 2.0 §5.4.1)", () =>
    onStage(
      ({ one, world }) =>
        Effect.gen(function* () {
          const plain = yield* signingClient(world, es256, withOwn)
          const algs: Array<unknown> = []
          for (const client of [one, plain]) {
            const set = setAccessTokenFormat(world.services, byOwner(world), ClientId.make(client.id), "jwt")
            expect(yield* Effect.orDie(set)).toBe("done")
            const answer = yield* asks(world, client, { grant_type: "client_credentials", scope: "api" })
            algs.push(decodeProtectedHeader(String(jsonOf(answer).access_token)).alg)
          }
          expect(algs).toEqual(["ES256", "RS256"])
          const registered = Effect.fnUntraced(function* (more: object) {
            const answer = yield* world.send("POST", "/oauth/register", {
              headers: { "content-type": "application/json" },
              body: JSON.stringify({
                ...fapi,
                redirect_uris: [redirectUri],
                token_endpoint_auth_method: "private_key_jwt",
                jwks: { keys: [ps256.jwk] },
                ...more
              })
            })
            return [answer.status, jsonOf(answer)] as const
          })
          // What the client is told to take instead is what it may take.
          for (const name of ["id_token_signed_response_alg", "userinfo_signed_response_alg"]) {
            const [status, { error_description }] = yield* registered({ [name]: "RS256" })
            expect([name, status]).toEqual([name, 400])
            const told = algorithms.filter((one) => new RegExp(`\\b${one}\\b`).test(String(error_description)))
            expect([name, told]).toEqual([name, ["EdDSA", "ES256"]])
            for (const one of told) expect([one, (yield* registered({ [name]: one }))[0]]).toEqual([one, 201])
          }
          // RFC 7591 §3.2.1: without a word of the client, it would count on RS256.
          expect((yield* registered({}))[1].id_token_signed_response_alg).toBe("ES256")
          expect((yield* registered({ id_token_signed_response_alg: "EdDSA" }))[1]).toMatchObject({
            id_token_signed_response_alg: "EdDSA"
          })
        }),
      withOwn,
      { jwtAlgorithm: "RS256", scopes: signInScopes }
    ))

  test("is kept by 7592, loosened by an owner alone, and forbids what breaks it", () =>
    onStage(({ one, world }) =>
      Effect.gen(function* () {
        const { services } = world
        const url = new URL(one.registrationUri).pathname
        const put = (more: object) =>
          world.send("PUT", url, {
            headers: { "content-type": "application/json", authorization: `Bearer ${one.registrationToken}` },
            body: JSON.stringify({
              client_id: one.id,
              redirect_uris: [redirectUri],
              token_endpoint_auth_method: "private_key_jwt",
              jwks: { keys: [one.key.jwk] },
              ...more
            })
          })
        for (const more of [
          {},
          { security_profile: "standard" },
          { ...fapi, redirect_uris: ["http://127.0.0.1/cb"] },
          { ...fapi, request_object_signing_alg: "RS256" }
        ]) {
          expect((yield* put(more)).status).toBe(400)
        }
        expect(jsonOf(yield* put(fapi)).security_profile).toBe("fapi2")
        const set = (id: string, name: "standard" | "fapi2") =>
          Effect.orDie(setSecurityProfile(services, byOwner(world), ClientId.make(id), name))
        expect(yield* set(one.id, "standard")).toBe("done")
        expect(yield* set(one.id, "standard")).toBe("was_so")
        expect(yield* set("A".repeat(22), "fapi2")).toBe("unknown")
        const secretive = yield* registerClient(world)
        expect(yield* set(secretive.id, "fapi2")).toMatchObject({ broken: [expect.any(String)] })
      })
    ))

  test("takes no secret of a client that comes to be held to it", () =>
    inWorld(
      (world) =>
        Effect.gen(function* () {
          const client = yield* registerClient(world, { grant_types: ["client_credentials"] })
          const status = Effect.map(
            tokenRequest(world, client, { grant_type: "client_credentials" }),
            ({ status }) => status
          )
          expect(yield* status).toBe(200)
          yield* world.services.clients.change(theWorkspace.id, ClientId.make(client.id), (stored) => ({
            ...stored,
            members: { ...stored.members, ...fapi, dpop_bound_access_tokens: false }
          }))
          expect(yield* status).toBe(401)
          expect(world.audit.at(-1)?.event).toMatchObject({ refusal: "InvalidClient", reason: "wrong_method" })
        }),
      { signatures: realSignatures }
    ))

  test("of a whole server has no code sent where its clients may not register, whenever they did", () =>
    inWorld(
      (world) =>
        Effect.gen(function* () {
          const one = yield* signingClient(world, es256)
          const local = "http://127.0.0.1/callback"
          yield* change(world, one, { redirectUris: [redirectUri, local, "com.example.app:/callback"] })
          for (const [uri, status] of [
            [redirectUri, 201],
            [local, 400],
            ["http://127.0.0.1:4711/callback", 400],
            ["com.example.app:/callback", 400]
          ] as const) {
            const answer = yield* pushSigned(world, one, askedBy(one, { redirect_uri: uri }))
            expect([uri, answer.status]).toEqual([uri, status])
            if (status === 400) expect(errorOf(answer)).toBe("invalid_request")
          }
          const brought = form(askedBy(one, { redirect_uri: local }))
          isPage(yield* visit(world, `/oauth/authorize?${brought}`))
        }),
      { signatures: realSignatures, policy: { profile: "fapi2" } }
    ))

  test("ends what was under way to another address, before the visit, the answer and the code", () =>
    inWorld(
      (world) =>
        Effect.gen(function* () {
          const redirect_uri = "http://127.0.0.1/callback"
          const one = yield* signingClient(world, es256, { redirect_uris: [redirect_uri] })
          const push = Effect.map(pushSigned(world, one, askedBy(one, { redirect_uri })), (answer) =>
            visitTarget(one, uriOf(answer))
          )
          const code = backOf(yield* approveAt(world, yield* push)).get("code") ?? ""
          const page = yield* visit(world, yield* push)
          const target = yield* push
          expect([code === "", page.status]).toEqual([false, 200])
          yield* change(world, one, { members: fapi })
          isPage(yield* visit(world, target))
          expect(header(yield* decide(world, page, "approve"), "location")).toBeUndefined()
          isInvalidGrant(yield* asks(world, one, { ...codeFields(code), redirect_uri }))
        }),
      { signatures: realSignatures }
    ))

  test("of a whole server is what its metadata lists: by the one method a client registers that names none", () =>
    inWorld(
      (world) =>
        Effect.gen(function* () {
          const told = jsonOf(yield* world.send("GET", "/.well-known/openid-configuration"))
          for (const endpoint of ["token", "revocation", "introspection"]) {
            const methods = told[`${endpoint}_endpoint_auth_methods_supported`] as ReadonlyArray<string>
            expect(methods.filter((name) => name !== "Bearer")).toEqual(["private_key_jwt"])
          }
          const lists = Object.entries(told).filter(([name]) => /_alg_values_supported$/.test(name))
          for (const [name, list] of lists)
            expect([name, String(list)]).not.toEqual([name, expect.stringMatching(/RS/)])
          const register = (metadata: object) =>
            world.send("POST", "/oauth/register", {
              headers: { "content-type": "application/json" },
              body: JSON.stringify({ redirect_uris: [redirectUri], ...metadata })
            })
          const made = yield* register({ jwks: { keys: [es256.jwk] } })
          expect([made.status, jsonOf(made).token_endpoint_auth_method]).toEqual([201, "private_key_jwt"])
          for (const method of ["client_secret_basic", "client_secret_post", "none"]) {
            const refused = yield* register({ jwks: { keys: [es256.jwk] }, token_endpoint_auth_method: method })
            expect([refused.status, errorOf(refused)]).toEqual([400, "invalid_client_metadata"])
            expect(String(jsonOf(refused).error_description)).toContain("private_key_jwt")
          }
        }),
      { signatures: realSignatures, policy: { profile: "fapi2", scopes: signInScopes } }
    ))

  test("of a whole server takes the method that counts of several that a document names", () => {
    const web = new DocumentsWeb()
    const id = web.publish("https://app.example.org/client.json", {
      token_endpoint_auth_method: undefined,
      token_endpoint_auth_methods_supported: ["none", "private_key_jwt"],
      jwks: { keys: [es256.jwk] }
    })
    return inWorld(
      (world) =>
        Effect.gen(function* () {
          const client = { id, redirectUri, registrationUri: "", registrationToken: "", key: es256 }
          expect((yield* pushSigned(world, client)).status).toBe(201)
        }),
      { signatures: realSignatures, policy: { profile: "fapi2" }, documents: web.layer() }
    )
  })

  test("of a whole server refuses a client that could prove itself before", () =>
    inWorld(
      (world) =>
        Effect.gen(function* () {
          const { status } = yield* world.send("POST", "/oauth/register", {
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ redirect_uris: [redirectUri] })
          })
          expect(status).toBe(400)
          const client = yield* signingClient(world, es256)
          expect((yield* pushSigned(world, client)).status).toBe(201)
          const told = jsonOf(yield* world.send("GET", "/.well-known/oauth-protected-resource"))
          expect(told.dpop_bound_access_tokens_required).toBe(true)
          expect(header(yield* world.send("GET", "/oauth/userinfo"), "www-authenticate")).toMatch(/^DPoP /)
        }),
      { signatures: realSignatures, policy: { profile: "fapi2" } }
    ))
})
