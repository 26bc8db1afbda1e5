import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { decodeProtectedHeader } from "jose"
import { setAccessTokenFormat, setSecurityProfile } from "../../core/engine/administerClients.ts"
import { halfHash } from "../../core/grant/idToken.ts"
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
  postRegistration,
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
  pushSigned,
  type SigningClient,
  signingClient,
  uriOf,
  visit,
  visitTarget
} from "../given/pushing.ts"
import { inWorld, realSignatures, type Steps, t0, theWorkspace, type World, type WorldOptions } from "../given/World.ts"

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
  /** Whether its clients push request objects that they signed. */
  readonly signs: boolean
}

const fapi = { security_profile: "fapi2", require_pushed_authorization_requests: true } as const
const signed = { require_signed_request_object: true } as const

/** Two clients of the profile; the second has a redirect URI with a query. */
const onStage = (
  body: (scene: Scene) => Steps<void>,
  more: object = {},
  policy: NonNullable<WorldOptions["policy"]> = {}
) =>
  inWorld(
    function* (world) {
      const one = yield* signingClient(world, ps256, { ...fapi, ...more })
      const two = yield* signingClient(world, es256, { ...fapi, redirect_uris: [dummies], ...more })
      yield* body({ world, one, two, signs: "require_signed_request_object" in more })
    },
    { signatures: realSignatures, policy }
  )

type Module = readonly [name: string, body: (scene: Scene) => Effect.Effect<void>]

/** What a client asks for, as its scene has it: as parameters, or in an object that it signed. */
const asked = ({ signs }: Scene, client: SigningClient, over: Values = {}): Effect.Effect<Values> =>
  signs
    ? Effect.map(objectOf(client, over), (request) => ({ client_id: client.id, request }))
    : Effect.succeed(askedBy(client, over))

const pushed = (scene: Scene, over: Values = {}, client = scene.one, assertion?: string) =>
  Effect.flatMap(asked(scene, client, over), (fields) => pushSigned(scene.world, client, fields, assertion))

/** Where a person's approval of what a client pushed leads to. */
const approved = (scene: Scene, over: Values = {}, client = scene.one) =>
  Effect.flatMap(pushed(scene, over, client), (answer) => approveAt(scene.world, visitTarget(client, uriOf(answer))))

const codeOf = (scene: Scene, over: Values = {}, client = scene.one) =>
  Effect.map(approved(scene, over, client), (answer) => backOf(answer).get("code") ?? "")

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
  (scene: Scene) =>
    Effect.gen(function* () {
      const shown = yield* assertionOf(scene.one, over, header)
      const answer = yield* pushed(scene, {}, scene.one, shown)
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

/** What goes back to a client: these parameters in its query, no other, and nothing behind a `#` (CONFORMANCE 0.2, 0.3). */
const isBack = (answer: HttpResponse, expected: Readonly<Record<string, string>>) => {
  const to = new URL(header(answer, "location") ?? "", issuer)
  expect([to.hash, [...to.searchParams.keys()].toSorted()]).toEqual(["", Object.keys(expected).toSorted()])
  expect(Object.fromEntries(to.searchParams)).toEqual(expected)
}

const said: string = expect.stringMatching(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/)
const some: string = expect.any(String)
const filled = { dummy1: "lorem", dummy2: "ipsum" }

const withUsers: ReadonlyArray<Module> = [
  [
    "happy-flow",
    (scene) =>
      Effect.gen(function* () {
        const { two, world } = scene
        const back = yield* approveAt(world, yield* targetOf(scene, {}, repeats))
        isBack(back, { code: some, state: "st", iss: issuer })
        expect(isUnguessable(backOf(back).get("code") ?? "")).toBe(true)
        const state = `${"x".repeat(124)}-._~`
        const answer = yield* pushed(scene, { redirect_uri: dummies, state }, two)
        expect(header(answer, "content-type")).toBe("application/json")
        // The parameters of the redirect in reverse order.
        const reversed = form({ request_uri: uriOf(answer), client_id: two.id })
        const also = yield* approveAt(world, `/oauth/authorize?${reversed}`)
        isBack(also, { ...filled, code: some, state, iss: issuer })
        // What of it a client could not guess: the rest is the same for all.
        expect(isUnguessable(uriOf(answer).slice("urn:ietf:params:oauth:request_uri:".length))).toBe(true)
      })
  ],
  [
    "user-rejects-authentication",
    (scene) =>
      Effect.gen(function* () {
        const { one, two, world } = scene
        for (const [client, redirect_uri, own] of [
          [one, redirectUri, {}],
          [two, dummies, filled]
        ] as const) {
          const target = visitTarget(client, uriOf(yield* pushed(scene, { redirect_uri }, client)))
          const answer = yield* decide(world, yield* visit(world, target), "deny")
          isBack(answer, { ...own, error: "access_denied", error_description: said, state: "st", iss: issuer })
          isPage(yield* visit(world, target))
        }
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
        const answer = yield* visit(world, `/oauth/authorize?${form(askedBy(one))}`)
        isBack(answer, { error: "invalid_request", error_description: said, state: "st", iss: issuer })
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
    (scene) =>
      Effect.gen(function* () {
        const fields = { ...(yield* asked(scene, scene.one)), request_uri: "urn:ietf:params:oauth:request_uri:x" }
        const answer = yield* pushSigned(scene.world, scene.one, fields)
        expect([answer.status, errorOf(answer)]).toEqual([400, "invalid_request"])
      })
  ],
  [
    "par-attempt-invalid-http-method",
    ({ world }) =>
      Effect.gen(function* () {
        for (const method of ["PUT", "GET", "HEAD", "PATCH", "DELETE"]) {
          const answer = yield* world.send(method, "/oauth/par")
          expect([method, answer.status, header(answer, "allow")]).toEqual([method, 405, "POST, OPTIONS"])
        }
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
        for (const [profile, status] of [
          [fapi, 401],
          [{}, 201]
        ] as const) {
          const client = yield* signingClient(world, rs256, profile)
          const answer = yield* pushSigned(world, client)
          expect(answer.status).toBe(status)
          if (status === 401) expect(errorOf(answer)).toBe("invalid_client")
        }
      })
  ]
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

const isInvalidGrant = (answer: HttpResponse) => isRefused(answer, 400, "invalid_grant")

/** Clients that also act for themselves. */
const withOwn = { grant_types: ["authorization_code", "refresh_token", "client_credentials"] }

const tenMinutes = 10 * 60 * 1000

/** What is always checked of tokens (CONFORMANCE 0.2). */
const tokensOf = (answer: HttpResponse) => {
  const { access_token, expires_in, refresh_token, ...rest } = jsonOf(answer)
  expect([answer.status, header(answer, "content-type"), header(answer, "cache-control")]).toEqual([
    200,
    "application/json",
    "no-store"
  ])
  expect(rest).toEqual({ token_type: "DPoP", scope: "api" })
  expect(Number(expires_in) > 0 && Number(expires_in) < 365 * 86_400).toBe(true)
  const [access, refresh] = [String(access_token), String(refresh_token)]
  for (const token of [access, refresh]) {
    expect([isUnguessable(token), /^[\x21-\x7e]+$/.test(token)]).toEqual([true, true])
  }
  return { access, refresh }
}

/** What is always checked of a refusal there (CONFORMANCE 0.3). */
const isRefused = (answer: HttpResponse, status: number, error: string) => {
  expect([answer.status, header(answer, "content-type")]).toEqual([status, "application/json"])
  expect(jsonOf(answer)).toEqual({ error, error_description: said })
}

/** Of codes and of what comes of them; the server's codes live longer than the profile has it. */
const ofCodes: ReadonlyArray<Module> = [
  ...[
    ["ensure-pkce-code-verifier-required", undefined] as const,
    ["incorrect-pkce-code-verifier-rejected", "w".repeat(43)] as const
  ].map(
    ([module, code_verifier]): Module => [
      module,
      (scene) =>
        Effect.gen(function* () {
          const fields = codeFields(yield* codeOf(scene))
          isInvalidGrant(yield* asks(scene.world, scene.one, { ...fields, code_verifier }))
          tokensOf(yield* asks(scene.world, scene.one, fields))
        })
    ]
  ),
  [
    "attempt-reuse-authorization-code-after-one-second",
    (scene) =>
      Effect.gen(function* () {
        const { one, world } = scene
        const fields = codeFields(yield* codeOf(scene))
        const { access } = tokensOf(yield* asks(world, one, fields))
        expect((yield* opens(world, access, holder)).status).toBe(200)
        yield* TestClock.adjust(1000)
        isInvalidGrant(yield* asks(world, one, fields, { after: 1 }))
        expect((yield* opens(world, access, holder, 1)).status).toBe(401)
      })
  ],
  [
    "ensure-token-endpoint-fails-with-expired-auth-code",
    (scene) =>
      Effect.gen(function* () {
        const { one, world } = scene
        const codes = [yield* codeOf(scene), yield* codeOf(scene), yield* codeOf(scene)]
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
    (scene) =>
      Effect.gen(function* () {
        const { one, two, world } = scene
        const fields = codeFields(yield* codeOf(scene))
        isInvalidGrant(yield* asks(world, two, fields))
        isInvalidGrant(yield* asks(world, two, { ...fields, redirect_uri: dummies }))
        // A client that shows another's code spends nothing of it.
        expect((yield* asks(world, one, fields)).status).toBe(200)
      })
  ],
  [
    "refresh-token",
    (scene) =>
      Effect.gen(function* () {
        const { one, two, world } = scene
        const begun = yield* Effect.forEach(
          [
            [one, holder, redirectUri],
            [two, another, dummies]
          ] as const,
          ([client, key, redirect_uri]) =>
            Effect.gen(function* () {
              const fields = { ...codeFields(yield* codeOf(scene, { redirect_uri }, client)), redirect_uri }
              return tokensOf(yield* asks(world, client, fields, { key }))
            })
        )
        const [mine, theirs] = begun
        if (mine === undefined || theirs === undefined) return expect.unreachable()
        const refresh = (token: string, scope?: string) => ({
          grant_type: "refresh_token",
          refresh_token: token,
          scope
        })
        // With another key, to which the new token is bound and the old one is not; the refresh token stays.
        for (const [client, { access, refresh: token }, before, key, scope] of [
          [one, mine, holder, another, "api"],
          [two, theirs, another, holder, undefined]
        ] as const) {
          const anew = tokensOf(yield* asks(world, client, refresh(token, scope), { key }))
          expect(anew.refresh).toBe(token)
          for (const [shown, by, status] of [
            [anew.access, key, 200],
            [anew.access, before, 401],
            [access, before, 200],
            [access, key, 401]
          ] as const) {
            expect((yield* opens(world, shown, by)).status).toBe(status)
          }
        }
        yield* TestClock.adjust(30_000)
        tokensOf(yield* asks(world, one, refresh(mine.refresh), { after: 30 }))
        const dpop = yield* tokenProof(holder, { claims: { iat: now + 30 } })
        const unproven = yield* world.send("POST", "/oauth/token", {
          headers: { ...formHeaders, dpop },
          body: form({ ...refresh(mine.refresh), client_id: one.id })
        })
        isRefused(unproven, 401, "invalid_client")
        isRefused(yield* asks(world, one, refresh(mine.refresh), { after: 30, key: null }), 400, "invalid_dpop_proof")
        isInvalidGrant(yield* asks(world, two, refresh(mine.refresh), { after: 30 }))
        isInvalidGrant(yield* asks(world, one, refresh(theirs.refresh), { after: 30 }))
      })
  ]
]

const parAddress = `${issuer}/oauth/par`

/** Pushes with a proof, or with a key's name alone. */
const pushedWith = Effect.fnUntraced(function* (scene: Scene, fields: Values, key?: Holder) {
  const { one, world } = scene
  const body = {
    ...(yield* asked(scene, one, fields)),
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
    (scene) =>
      Effect.gen(function* () {
        const { one, world } = scene
        const code = yield* codeOf(scene)
        const own = { grant_type: "client_credentials", scope: "api" }
        for (const fields of [codeFields(code), own]) {
          isRefused(yield* asks(world, one, fields, { key: null }), 400, "invalid_dpop_proof")
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
            ...["198.51.100.119", "2001:db8::1893:25c8:1946"].map((address) => ({
              "x-fapi-auth-date": "Tue, 11 Sep 2012 19:43:31 GMT",
              "x-fapi-customer-ip-address": address,
              "x-fapi-interaction-id": crypto.randomUUID()
            }))
          ]) {
            const headers = { authorization: `DPoP ${access}`, dpop: yield* proof(), ...more }
            const answer = yield* world.send("GET", "/rest/companies", { headers })
            expect([answer.status, header(answer, "x-fapi-interaction-id")]).toEqual([200, undefined])
          }
          const inQuery = yield* world.send("GET", `/rest/companies?access_token=${access}`, {
            headers: { dpop: yield* proof() }
          })
          expect([inQuery.status, (yield* opens(world, access, other)).status]).toEqual([401, 401])
        }
      })
  ]
]

const fapiAlgorithms: ReadonlyArray<string> = ["PS256", "ES256", "EdDSA", "Ed25519"]

/** The claims of an ID token that came of a pushed request. */
const signedIn = Effect.fnUntraced(function* (scene: Scene, asked: Values, beside: Values = {}) {
  const { one, world } = scene
  const code = backOf(yield* approveAt(world, yield* targetOf(scene, { scope: "openid", ...asked }, beside))).get(
    "code"
  )
  const tokens = jsonOf(yield* asks(world, one, codeFields(code ?? "")))
  const claims = yield* identified(scene, tokens)
  return { claims, access: String(tokens.access_token), refresh: String(tokens.refresh_token) }
})

/** The claims of an ID token, by the set of keys that the server publishes. */
const identified = Effect.fnUntraced(function* (
  { one, world }: Scene,
  tokens: Readonly<Record<string, unknown>>,
  after = 0
) {
  const { payload, protectedHeader } = yield* verified(world, one, tokens.id_token, t0 + after * 1000)
  expect(fapiAlgorithms).toContain(String(protectedHeader.alg))
  const { keys } = jsonOf(yield* world.send("GET", "/oauth/jwks")) as { keys: ReadonlyArray<Record<string, unknown>> }
  const kids = keys.map(({ kid }) => kid)
  expect([kids.includes(protectedHeader.kid), new Set(kids).size]).toEqual([true, kids.length])
  for (const { crv, kty } of keys) expect([kty, crv]).toEqual(["EC", "P-256"])
  expect(payload.at_hash).toBe(halfHash(String(tokens.access_token), "ES256"))
  return payload
})

const nonceOf = (scene: Scene, asked: Values, beside?: Values) =>
  Effect.map(signedIn(scene, asked, beside), ({ claims }) => claims.nonce)

const withOpenId: ReadonlyArray<Module> = [
  [
    "refresh-token (of a sign-in)",
    (scene) =>
      Effect.gen(function* () {
        const { one, world } = scene
        const { claims, refresh } = yield* signedIn(scene, {
          scope: "openid offline_access",
          nonce: "n",
          prompt: "consent"
        })
        expect(Object.keys(claims).toSorted()).toEqual(["at_hash", "aud", "exp", "iat", "iss", "nonce", "sid", "sub"])
        yield* TestClock.adjust("5 seconds")
        const fields = { grant_type: "refresh_token", refresh_token: refresh }
        const tokens = jsonOf(yield* asks(world, one, fields, { after: 5 }))
        const { at_hash: _, ...again } = yield* identified(scene, tokens, 5)
        // OpenID Connect Core §12.2: the nonce is the request's.
        const { at_hash: _before, nonce: _nonce, ...before } = claims
        expect(again).toEqual({ ...before, iat: now + 5, exp: Number(before.exp) + 5 })
      })
  ],
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

const isWords = (value: unknown) =>
  Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "string" && one !== "")
const isAddress = (value: unknown) => typeof value === "string" && value.startsWith(issuer)
const isFlag = (value: unknown) => typeof value === "boolean"

/** The members of the metadata that specifications know, each with what it has to be (CONFORMANCE 0.4). */
const known: Readonly<Record<string, (value: unknown) => boolean>> = {
  issuer: isAddress,
  jwks_uri: isAddress,
  ...Object.fromEntries(
    ["authorization", "token", "registration", "revocation", "introspection", "userinfo", "end_session"]
      .concat("pushed_authorization_request", "device_authorization")
      .map((name) => [`${name}_endpoint`, isAddress])
  ),
  ...Object.fromEntries(
    ["scopes", "response_types", "response_modes", "grant_types", "subject_types", "claim_types", "claims"]
      .concat("prompt_values", "code_challenge_methods", "authorization_grant_profiles", "dpop_signing_alg_values")
      .concat("id_token_signing_alg_values", "userinfo_signing_alg_values", "request_object_signing_alg_values")
      .concat(
        ["token", "revocation", "introspection"].flatMap((name) =>
          ["methods", "signing_alg_values"].map((list) => `${name}_endpoint_auth_${list}`)
        )
      )
      .map((name) => [`${name}_supported`, isWords])
  ),
  protected_resources: isWords,
  authorization_response_iss_parameter_supported: isFlag,
  require_pushed_authorization_requests: isFlag,
  require_signed_request_object: isFlag,
  request_uri_parameter_supported: isFlag,
  claims_parameter_supported: isFlag,
  client_id_metadata_document_supported: isFlag,
  backchannel_logout_supported: isFlag,
  backchannel_logout_session_supported: isFlag
}

test.each([
  ["plain OAuth", "oauth-authorization-server", {}],
  ["OpenID Connect", "openid-configuration", { scopes: signInScopes }],
  ["OpenID Connect, all clients held", "openid-configuration", { scopes: signInScopes, profile: "fapi2" }]
] as const)("fapi2-security-profile-final discovery-end-point-verification, %s", (_, document, policy) =>
  inWorld(
    function* (world) {
      const answer = yield* world.send("GET", `/.well-known/${document}`)
      expect([answer.status, header(answer, "content-type")]).toEqual([200, "application/json"])
      const told = jsonOf(answer)
      for (const [name, value] of Object.entries(told)) {
        expect([name, value, known[name]?.(value)]).toEqual([name, value, true])
      }
      expect(told).toMatchObject({
        issuer,
        response_types_supported: ["code"],
        authorization_response_iss_parameter_supported: true,
        code_challenge_methods_supported: ["S256"],
        grant_types_supported: expect.arrayContaining(["authorization_code", "client_credentials", "refresh_token"]),
        token_endpoint_auth_methods_supported: expect.arrayContaining(["private_key_jwt"]),
        require_pushed_authorization_requests: "profile" in policy
      })
      const isOpenId = "scopes" in policy
      for (const list of [
        "token_endpoint_auth_signing_alg_values_supported",
        "dpop_signing_alg_values_supported",
        "request_object_signing_alg_values_supported",
        ...(isOpenId ? ["id_token_signing_alg_values_supported", "userinfo_signing_alg_values_supported"] : [])
      ]) {
        const taken = (told[list] as ReadonlyArray<string>).filter((name) => fapiAlgorithms.includes(name))
        expect([list, taken.length > 0]).toEqual([list, true])
      }
      expect(isOpenId).toBe((told.scopes_supported as ReadonlyArray<string>).includes("openid"))
      expect(told.subject_types_supported).toEqual(isOpenId ? ["public"] : undefined)
    },
    { signatures: realSignatures, documents: new DocumentsWeb().layer(), policy }
  )
)

/** The plan of message signing has the modules of the other one too, its clients signing what they push. */
describe.each([
  ["fapi2-security-profile-final", {}],
  ["fapi2-message-signing-final", signed]
] as const)("%s", (_plan, more) => {
  test.each(withUsers)("%s", (_, body) => onStage(body, more))
  test.each(ofCodes)("%s", (_, body) => onStage(body, more, { codeTtl: tenMinutes }))
  test.each(ofKeys)("%s", (_, body) => onStage(body, { ...withOwn, ...more }))
  test.each(withOpenId)("%s", (_, body) => onStage(body, more, { scopes: signInScopes }))
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
  ["happy-flow, as client 2 signs", { iat: now }, { typ: "oauth-authz-req+jwt" }, "one", undefined],
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
    onStage(function* ({ one, two, world }) {
      const object = yield* objectOf(one, claims, header, by === "one" ? one.key : two.key)
      const answer = yield* pushObject(world, one, object)
      expect(answer.status).toBe(errors === undefined ? 201 : 400)
      if (errors !== undefined) expect(errors).toContain(errorOf(answer))
      else expect(backOf(yield* approveAt(world, visitTarget(one, uriOf(answer)))).get("state")).toBe("st")
    }, signed)
  )

  test("ensure-signed-request-object-with-RS256-fails, -signature-algorithm-is-not-none, -with-invalid-signature-fails", () =>
    onStage(function* ({ one, world }) {
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
    }, signed))

  test("ensure-signed-request-object-with-RS256-fails, by a key that the client registered for it", () =>
    inWorld(
      function* (world) {
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
      },
      { signatures: realSignatures }
    ))

  test("happy-flow, by keys at the client's jwks_uri, which are asked for anew for one that has come since", () => {
    const web = new DocumentsWeb()
    const keysAt = "https://app.example.org/keys"
    const publish = (...keys: ReadonlyArray<object>) => web.pages.set(keysAt, { body: { keys } })
    return inWorld(
      function* (world) {
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
      },
      { signatures: realSignatures, documents: web.layer() }
    )
  })

  test("ensure-unsigned-request-at-par-endpoint-fails", () =>
    onStage(function* ({ one, world }) {
      isRefused(yield* pushSigned(world, one), 400, "invalid_request")
    }, signed))

  test("a client asks for signed requests where the server keeps its keys", () =>
    inWorld(
      function* (world) {
        for (const [method, status, request_object_signing_alg] of [
          ["private_key_jwt", 201, undefined],
          ["private_key_jwt", 201, "PS256"],
          // None of its keys is one for that.
          ["private_key_jwt", 400, "ES256"],
          ["client_secret_basic", 400, undefined],
          ["none", 400, undefined]
        ] as const) {
          const answer = yield* postRegistration(world, {
            redirect_uris: [redirectUri],
            token_endpoint_auth_method: method,
            jwks: { keys: [ps256.jwk] },
            require_signed_request_object: true,
            request_object_signing_alg
          })
          expect([method, request_object_signing_alg, answer.status]).toEqual([
            method,
            request_object_signing_alg,
            status
          ])
        }
      },
      { signatures: realSignatures }
    ))
})

describe("what the modules come to for the server", () => {
  test("a proof is remembered for as long as it would be taken, whatever is swept meanwhile", () =>
    onStage(function* ({ one, world }) {
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
    }, withOwn))

  test.each([
    ["sealed tokens", "api", "opaque"],
    ["a JWT", "api", "jwt"],
    ["an ID token", "openid api", "opaque"],
    ["an ID token beside a JWT", "openid api", "jwt"]
  ] as const)("a proof or an assertion that was used before spends no code for %s", (_, scope, format) =>
    onStage(
      function* ({ one, world }) {
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
      },
      withOwn,
      { scopes: signInScopes }
    )
  )

  test("no list of metadata names what is not signed, and requests that are signed have their algorithms there", () =>
    onStage(
      function* ({ world }) {
        const metadata = jsonOf(yield* world.send("GET", "/.well-known/openid-configuration"))
        const lists = Object.entries(metadata).filter(([name]) => /_alg(_values)?_supported$|_algs?$/.test(name))
        expect(lists.map(([name]) => name)).toContain("request_object_signing_alg_values_supported")
        for (const [name, list] of lists) expect([name, list]).not.toEqual([name, expect.arrayContaining(["none"])])
        expect(metadata.subject_types_supported).toEqual(["public"])
        expect(metadata.request_uri_parameter_supported).toBe(false)
      },
      {},
      { scopes: signInScopes }
    ))

  test("a signed request causes nothing before its signature holds, whichever client it names", () =>
    onStage(function* ({ one, two, world }) {
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
    }))
})

/** What an owner, or an earlier policy, made of a client. */
const change = (world: World, { id }: SigningClient, over: object) =>
  Effect.orDie(world.services.clients.change(theWorkspace.id, ClientId.make(id), (stored) => ({ ...stored, ...over })))

describe("the profile of a client", () => {
  test("has the server sign for it by its algorithms too, whatever signs for others (FAPI 2.0 §5.4.1)", () =>
    onStage(
      function* ({ one, world }) {
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
          const answer = yield* postRegistration(world, {
            ...fapi,
            redirect_uris: [redirectUri],
            token_endpoint_auth_method: "private_key_jwt",
            jwks: { keys: [ps256.jwk] },
            ...more
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
      },
      withOwn,
      { jwtAlgorithm: "RS256", scopes: signInScopes }
    ))

  test("is kept by 7592, loosened by an owner alone, and forbids what breaks it", () =>
    onStage(function* ({ one, world }) {
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
    }))

  test("takes no secret of a client that comes to be held to it", () =>
    inWorld(
      function* (world) {
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
      },
      { signatures: realSignatures }
    ))

  test("of a whole server has no code sent where its clients may not register, whenever they did", () =>
    inWorld(
      function* (world) {
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
      },
      { signatures: realSignatures, policy: { profile: "fapi2" } }
    ))

  test("ends what was under way to another address, before the visit, the answer and the code", () =>
    inWorld(
      function* (world) {
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
      },
      { signatures: realSignatures }
    ))

  test("of a whole server is what its metadata lists: by the one method a client registers that names none", () =>
    inWorld(
      function* (world) {
        const told = jsonOf(yield* world.send("GET", "/.well-known/openid-configuration"))
        for (const endpoint of ["token", "revocation", "introspection"]) {
          const methods = told[`${endpoint}_endpoint_auth_methods_supported`] as ReadonlyArray<string>
          expect(methods.filter((name) => name !== "Bearer")).toEqual(["private_key_jwt"])
        }
        const lists = Object.entries(told).filter(([name]) => /_alg_values_supported$/.test(name))
        for (const [name, list] of lists) expect([name, String(list)]).not.toEqual([name, expect.stringMatching(/RS/)])
        const register = (metadata: object) => postRegistration(world, { redirect_uris: [redirectUri], ...metadata })
        const made = yield* register({ jwks: { keys: [es256.jwk] } })
        expect([made.status, jsonOf(made).token_endpoint_auth_method]).toEqual([201, "private_key_jwt"])
        for (const method of ["client_secret_basic", "client_secret_post", "none"]) {
          const refused = yield* register({ jwks: { keys: [es256.jwk] }, token_endpoint_auth_method: method })
          expect([refused.status, errorOf(refused)]).toEqual([400, "invalid_client_metadata"])
          expect(String(jsonOf(refused).error_description)).toContain("private_key_jwt")
        }
      },
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
      function* (world) {
        const client = { id, redirectUri, registrationUri: "", registrationToken: "", key: es256 }
        expect((yield* pushSigned(world, client)).status).toBe(201)
      },
      { signatures: realSignatures, policy: { profile: "fapi2" }, documents: web.layer() }
    )
  })

  test("of a whole server refuses a client that could prove itself before", () =>
    inWorld(
      function* (world) {
        const { status } = yield* postRegistration(world, { redirect_uris: [redirectUri] })
        expect(status).toBe(400)
        const client = yield* signingClient(world, es256)
        expect((yield* pushSigned(world, client)).status).toBe(201)
        const told = jsonOf(yield* world.send("GET", "/.well-known/oauth-protected-resource"))
        expect(told.dpop_bound_access_tokens_required).toBe(true)
        expect(header(yield* world.send("GET", "/oauth/userinfo"), "www-authenticate")).toMatch(/^DPoP /)
      },
      { signatures: realSignatures, policy: { profile: "fapi2" } }
    ))
})
