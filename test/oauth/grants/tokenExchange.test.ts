import { describe, expect, test } from "bun:test"
import { Effect, Result, Schema } from "effect"
import { TestClock } from "effect/testing"
import { decodeJwt } from "jose"
import {
  deleteClient,
  setAccessTokenFormat,
  setClientEnabled,
  setServedResource
} from "../../../core/engine/administerClients.ts"
import { tokenExchange } from "../../../core/oauth/grants/tokenExchange.ts"
import { ClientId } from "../../../core/rules/Id.ts"
import { Instant } from "../../../core/rules/Instant.ts"
import { ResourceRegistry } from "../../../core/rules/Resource.ts"
import { ScopeRegistry } from "../../../core/rules/Scope.ts"
import { openAny, seal } from "../../../core/token/Token.ts"
import type { Workspace } from "../../../core/workspace/Workspace.ts"
import { byOwner } from "../../given/auditContext.ts"
import { type Holder, holderOf, tokenProof } from "../../given/dpop.ts"
import {
  bearing,
  codeFor,
  companies,
  form,
  formHeaders,
  introspectBy,
  jsonHeaders,
  jsonOf,
  provenClient,
  refresh,
  registerClient,
  revokeBy,
  signInToApp,
  type TestClient,
  text,
  tokenRequest,
  type Values
} from "../../given/flow.ts"
import { inWorld, realSignatures, t0, theWorkspace, type World } from "../../given/World.ts"

const [holder, stranger] = await Promise.all([holderOf("ES256"), holderOf("ES256")])
const orders = "https://orders.example"
const billing = "https://billing.example"
const accessToken = "urn:ietf:params:oauth:token-type:access_token"
const allScopes = "api orders billing profile"

const workspace: Workspace = {
  ...theWorkspace,
  scopes: Schema.decodeUnknownSync(ScopeRegistry)([
    { name: "api", meaning: "All", needsUser: false, byDefault: true },
    { name: "orders", meaning: "Orders", needsUser: false, byDefault: false },
    { name: "billing", meaning: "Bills", needsUser: false, byDefault: false },
    { name: "profile", meaning: "You", needsUser: true, byDefault: false }
  ]),
  resources: Schema.decodeUnknownSync(ResourceRegistry)([
    { at: orders, name: "Orders", scopes: ["orders", "api"] },
    { at: billing, name: "Billing", scopes: ["billing"] }
  ])
}

const serve = (world: World, client: TestClient, address: string | null) =>
  setServedResource(world.services, byOwner(world), workspace, ClientId.make(client.id), address)

/** A resource server that its owner lets exchange. */
const server = Effect.fnUntraced(function* (world: World, address: string, scope = allScopes) {
  const client = yield* registerClient(world, { scope, grant_types: ["client_credentials"], redirect_uris: [] })
  expect(yield* serve(world, client, address)).toBe("done")
  return client
})

const exchange = (world: World, by: TestClient, subject: string, fields: Values = {}) =>
  tokenRequest(world, by, {
    grant_type: tokenExchange.name,
    subject_token: subject,
    subject_token_type: accessToken,
    ...fields
  })

const exchanged = (world: World, by: TestClient, subject: string, fields: Values = {}) =>
  Effect.map(exchange(world, by, subject, fields), (answer) => {
    expect(answer.status).toBe(200)
    return text(jsonOf(answer).access_token)
  })

const told = Effect.fnUntraced(function* (world: World, token: string) {
  const key = yield* world.services.grants.createKey(theWorkspace.id, { name: "rs", expiresAt: null })
  const headers = { ...formHeaders, ...bearing(world.reveal(key.text)) }
  return jsonOf(yield* world.send("POST", "/oauth/introspect", { headers, body: form({ token }) }))
})

interface Scene {
  readonly world: World
  readonly app: TestClient
  readonly orders: TestClient
  readonly billing: TestClient
  /** For everything that the person allowed. */
  readonly token: string
  readonly refresh: string
}

const inScene = <A, E>(body: (scene: Scene) => Effect.Effect<A, E>, asked: Values = {}) =>
  inWorld(
    function* (world) {
      const app = yield* provenClient(world, { scope: allScopes })
      const tokens = yield* signInToApp(world, app, {
        scope: "orders billing profile",
        resource: [orders, billing],
        ...asked
      })
      return yield* body({
        world,
        app,
        orders: yield* server(world, orders),
        billing: yield* server(world, billing),
        token: tokens.access,
        refresh: tokens.refresh
      })
    },
    { resolve: () => workspace, signatures: realSignatures }
  )

describe("an exchanged token (RFC 8693)", () => {
  test("is narrower, on the same grant, says who acts, and writes nothing", () =>
    inScene(({ app, billing: other, orders: resource, token, world }) =>
      Effect.gen(function* () {
        const writes = () => [world.calls.insert.length, world.calls.replace.length]
        const before = writes()
        const answer = yield* exchange(world, resource, token, { resource: billing })
        expect(writes()).toEqual(before)
        const { access_token, ...rest } = jsonOf(answer)
        expect(rest).toEqual({
          issued_token_type: accessToken,
          token_type: "Bearer",
          expires_in: 3600,
          scope: "billing"
        })
        const [first, second] = [yield* told(world, token), yield* told(world, text(access_token))]
        expect(first).toMatchObject({ client_id: app.id, sub: "alice" })
        expect(first.act).toBeUndefined()
        expect(second).toMatchObject({
          active: true,
          sub: "alice",
          client_id: resource.id,
          aud: billing,
          scope: "billing",
          act: { sub: resource.id },
          grant: first.grant
        })
        const again = yield* exchanged(world, other, text(access_token))
        expect(yield* told(world, again)).toMatchObject({
          client_id: other.id,
          act: { sub: other.id, act: { sub: resource.id } },
          grant: first.grant
        })
        const issued = world.audit.map(({ event }) => event).filter(({ _tag }) => _tag === "TokensIssued")
        expect(issued.at(-1)).toMatchObject({ grantType: tokenExchange.name, client: other.id, grant: first.grant })
      })
    ))

  test("lives no longer than the token that it came of", () =>
    inScene(({ orders: resource, token, world }) =>
      Effect.gen(function* () {
        yield* TestClock.adjust("50 minutes")
        const answer = jsonOf(yield* exchange(world, resource, token))
        expect(answer.expires_in).toBe(600)
        yield* TestClock.adjust("10 minutes")
        expect(yield* told(world, text(answer.access_token))).toEqual({ active: false })
      })
    ))

  test("is a JWT where its client's tokens are, of a JWT too, with act in it", () =>
    inScene(({ app, orders: resource, refresh: line, world }) =>
      Effect.gen(function* () {
        for (const client of [app, resource]) {
          yield* setAccessTokenFormat(world.services, byOwner(world), ClientId.make(client.id), "jwt")
        }
        const token = text(jsonOf(yield* refresh(world, app, line)).access_token)
        const type = "urn:ietf:params:oauth:token-type:jwt"
        const second = yield* exchanged(world, resource, token, { subject_token_type: type, resource: billing })
        expect(decodeJwt(second)).toMatchObject({
          sub: "alice",
          client_id: resource.id,
          aud: billing,
          act: { sub: resource.id }
        })
        expect(yield* told(world, second)).toMatchObject({ active: true, act: { sub: resource.id } })
      })
    ))

  test("opens resources as a person's token does, and guards are told who acts", () =>
    inScene(
      ({ orders: resource, token, world }) =>
        Effect.gen(function* () {
          const second = yield* exchanged(world, resource, token)
          expect((yield* companies(world, second)).status).toBe(200)
          const guarded = yield* world.guard("/rest/companies", { scopes: ["api"] }, bearing(second))
          expect(guarded).toMatchObject({ principal: { user: "alice", client: resource.id, actors: [resource.id] } })
        }),
      { scope: "api profile", resource: undefined }
    ))

  test("of a token that is bound takes the proof of its key, and is bound to that (RFC 9449)", () =>
    inScene(({ orders: by, token, world }) =>
      Effect.gen(function* () {
        const { keys } = world.services
        const opened = Result.getOrThrow(openAny(keys.current(), workspace, token, Instant.make(t0)))
        if (opened.kind !== "access") throw new Error("no access token was issued")
        const bound = seal(keys.current(), workspace, { ...opened, binding: { thumbprint: holder.jkt } })
        const proven = Effect.fnUntraced(function* (key: Holder) {
          const proof = yield* tokenProof(key)
          const body = form({
            grant_type: tokenExchange.name,
            client_id: by.id,
            client_secret: by.secret,
            subject_token: bound,
            subject_token_type: accessToken
          })
          return jsonOf(yield* world.send("POST", "/oauth/token", { headers: { ...formHeaders, dpop: proof }, body }))
        })
        expect((yield* proven(stranger)).error).toBe("invalid_request")
        const answer = yield* proven(holder)
        expect(answer.token_type).toBe("DPoP")
        const second = Result.getOrThrow(
          openAny(keys.current(), workspace, text(answer.access_token), Instant.make(t0))
        )
        expect(second).toMatchObject({ binding: { thumbprint: holder.jkt } })
      })
    ))

  const endings: ReadonlyArray<readonly [string, (scene: Scene, second: string) => Effect.Effect<unknown, unknown>]> = [
    ["the grant ends", ({ app, refresh: line, world }) => revokeBy(world, app, line)],
    ["the token that was shown is revoked", ({ app, token, world }) => revokeBy(world, app, token)],
    ["its own client revokes it", ({ orders: by, world }, second) => revokeBy(world, by, second)],
    [
      "its client is disabled",
      ({ orders: by, world }) => setClientEnabled(world.services, byOwner(world), ClientId.make(by.id), "disabled")
    ],
    [
      "its client is deleted",
      ({ orders: by, world }) => deleteClient(world.services, byOwner(world), ClientId.make(by.id))
    ],
    [
      "the person's application is disabled",
      ({ app, world }) => setClientEnabled(world.services, byOwner(world), ClientId.make(app.id), "disabled")
    ],
    ["an owner lets its client exchange no more", ({ orders: by, world }) => serve(world, by, null)]
  ]

  test.each([...endings])("ends when %s", (_, end) =>
    inScene((scene) =>
      Effect.gen(function* () {
        const { billing: next, orders: by, token, world } = scene
        const second = yield* exchanged(world, by, token)
        const third = yield* exchanged(world, next, second)
        yield* end(scene, second)
        expect([yield* told(world, second), yield* told(world, third)]).toEqual([{ active: false }, { active: false }])
        const again = yield* exchange(world, next, second)
        expect([again.status, jsonOf(again).error]).toEqual([400, "invalid_request"])
      })
    )
  )

  test("another client's revocation and introspection leave it as it is", () =>
    inScene(({ billing: other, orders: by, token, world }) =>
      Effect.gen(function* () {
        const second = yield* exchanged(world, by, token, { resource: orders })
        yield* revokeBy(world, other, second)
        expect((yield* told(world, second)).active).toBe(true)
        const asked = yield* introspectBy(world, other, second)
        expect(jsonOf(asked)).toEqual({ active: false })
      })
    ))
})

type Attack = (scene: Scene) => Effect.Effect<readonly [TestClient, Values], unknown>
const subject = ({ token }: Scene, more: Values = {}): Values => ({ subject_token: token, ...more })
const byOrders =
  (more: Values): Attack =>
  (scene) =>
    Effect.succeed([scene.orders, subject(scene, more)])

const keyOf = ({ world }: Scene) =>
  Effect.map(world.services.grants.createKey(theWorkspace.id, { name: "k", expiresAt: null }), (key) =>
    world.reveal(key.text)
  )

const changedTokens: ReadonlyArray<readonly [what: string, change: (token: string) => string]> = [
  ["a letter more", (token) => `${token}A`],
  ["a blank in front", (token) => ` ${token}`],
  ["a line's end behind", (token) => `${token}\n`],
  ["padding", (token) => `${token}=`],
  ["another prefix", (token) => token.replace("tsr_at_", "tsr_rt_")],
  ["no prefix", (token) => token.replace("tsr_at_", "")],
  ["upper case", (token) => token.toUpperCase()],
  ["its halves swapped", (token) => token.slice(0, 7) + token.slice(40) + token.slice(7, 40)],
  ["the scheme in front", (token) => `Bearer ${token}`]
]

/** `refusal`: which, and why, as the operator is told. */
type Row = readonly [name: string, refusal: string, attack: Attack]

const attacks: ReadonlyArray<Row> = [
  // RFC 8693 §2.1: other types of tokens, which this server takes for none of its own.
  ...["id_token", "refresh_token", "saml1", "saml2", "constructor", "ACCESS_TOKEN", ""].map(
    (type): Row => [
      `the subject_token_type ${type}`,
      "InvalidRequest malformed_parameter",
      byOrders({ subject_token_type: `urn:ietf:params:oauth:token-type:${type}` })
    ]
  ),
  ...["jwt", "id_token", "saml2", ""].map(
    (type): Row => [
      `the requested_token_type ${type}`,
      "InvalidRequest malformed_parameter",
      byOrders({ requested_token_type: `urn:ietf:params:oauth:token-type:${type}` })
    ]
  ),
  [
    "a subject_token_type that comes twice",
    "InvalidRequest repeated_parameter",
    byOrders({ subject_token_type: [accessToken, accessToken] })
  ],
  ["an empty subject_token", "InvalidRequest missing_parameter", byOrders({ subject_token: "" })],
  [
    "a subject_token of 64 KiB",
    "InvalidSubjectToken malformed",
    byOrders({ subject_token: `tsr_at_${"A".repeat(65_536)}` })
  ],
  [
    "itself as its actor",
    "InvalidRequest malformed_parameter",
    (scene) => Effect.succeed([scene.orders, subject(scene, { actor_token: scene.token })])
  ],
  ...changedTokens.map(
    ([what, change]): Row => [
      `a token with ${what}`,
      "InvalidSubjectToken malformed",
      (scene) => Effect.succeed([scene.orders, { subject_token: change(scene.token) }])
    ]
  ),
  [
    "a code in its place",
    "InvalidSubjectToken wrong_kind",
    (scene) => Effect.map(codeFor(scene.world, scene.app), (code) => [scene.orders, { subject_token: code }])
  ],
  [
    "a registration token in its place",
    "InvalidSubjectToken malformed",
    (scene) => Effect.succeed([scene.orders, { subject_token: scene.app.registrationToken }])
  ],
  [
    "a client's secret in its place",
    "InvalidSubjectToken malformed",
    (scene) => Effect.succeed([scene.orders, { subject_token: scene.app.secret }])
  ],
  ["a scope in upper case", "InvalidScope none_to_be_had", byOrders({ scope: "ORDERS" })],
  ["a scope with a NUL behind it", "InvalidScope none_to_be_had", byOrders({ scope: "orders\0" })],
  ["a scope with a tab behind it", "InvalidScope none_to_be_had", byOrders({ scope: "orders\tapi" })],
  ["a scope of a prototype", "InvalidScope none_to_be_had", byOrders({ scope: "constructor" })],
  ["scopes that come twice", "InvalidRequest repeated_parameter", byOrders({ scope: ["orders", "api"] })],
  ...[
    "http://billing.example",
    "https://BILLING.example.evil.example",
    "https://billing.example:8443",
    "https://mallory@billing.example",
    "https://billing.example@evil.example",
    "urn:billing",
    "javascript:alert(1)"
  ].map((resource): Row => [`the resource ${resource}`, "InvalidTarget not_ours", byOrders({ resource })]),
  ...["https://billing.example#x", "https://billing.example\\@evil.example", "billing.example", "*"].map(
    (resource): Row => [`the resource ${resource}`, "InvalidTarget malformed", byOrders({ resource })]
  ),
  [
    "two resources of which one is another's",
    "InvalidTarget not_ours",
    byOrders({ resource: [billing, "https://evil.example"] })
  ],
  [
    "two audiences of which one is another's",
    "InvalidTarget not_ours",
    byOrders({ audience: [billing, "https://evil.example"] })
  ],
  [
    "a client's id for an audience",
    "InvalidTarget malformed",
    (scene) => Effect.succeed([scene.orders, subject(scene, { audience: scene.billing.id })])
  ],
  [
    "what a narrower token has lost of scope",
    "InvalidScope wider_than_granted",
    (scene) =>
      Effect.map(exchanged(scene.world, scene.orders, scene.token, { scope: "billing" }), (narrow) => [
        scene.billing,
        { subject_token: narrow, scope: "billing orders" }
      ])
  ],
  [
    "what a narrower token has lost of resources",
    "InvalidTarget wider_than_granted",
    (scene) =>
      Effect.map(exchanged(scene.world, scene.orders, scene.token, { resource: billing }), (narrow) => [
        scene.billing,
        { subject_token: narrow, resource: [orders, billing] }
      ])
  ],
  [
    "a token back that was passed on to another",
    "InvalidSubjectToken not_sent_here",
    (scene) =>
      Effect.map(exchanged(scene.world, scene.orders, scene.token, { resource: billing }), (narrow) => [
        scene.orders,
        { subject_token: narrow }
      ])
  ],
  [
    "a token past the life of the one that it came of",
    "InvalidSubjectToken expired",
    (scene) =>
      Effect.gen(function* () {
        yield* TestClock.adjust("59 minutes")
        const second = yield* exchanged(scene.world, scene.orders, scene.token)
        yield* TestClock.adjust("1 minute")
        return [scene.billing, { subject_token: second }] as const
      })
  ],
  [
    "a public client's word",
    "UnauthorizedClient grant_type_not_registered",
    (scene) =>
      Effect.map(registerClient(scene.world, { token_endpoint_auth_method: "none" }), (open) => [open, subject(scene)])
  ],
  [
    "an unknown client's word",
    "InvalidClient unknown",
    (scene) => Effect.succeed([{ ...scene.orders, id: "A".repeat(22) }, subject(scene)])
  ],
  ["no subject_token", "InvalidRequest missing_parameter", byOrders({ subject_token: undefined })],
  ["no subject_token_type", "InvalidRequest missing_parameter", byOrders({ subject_token_type: undefined })],
  [
    "a subject_token_type that is not ours",
    "InvalidRequest malformed_parameter",
    byOrders({ subject_token_type: "urn:ietf:params:oauth:token-type:id_token" })
  ],
  [
    "a refresh token's type",
    "InvalidRequest malformed_parameter",
    byOrders({ subject_token_type: "urn:ietf:params:oauth:token-type:refresh_token" })
  ],
  [
    "a refresh token asked for",
    "InvalidRequest malformed_parameter",
    byOrders({ requested_token_type: "urn:ietf:params:oauth:token-type:refresh_token" })
  ],
  [
    "an actor_token",
    "InvalidRequest malformed_parameter",
    (scene) =>
      Effect.succeed([scene.orders, subject(scene, { actor_token: scene.token, actor_token_type: accessToken })])
  ],
  ["an actor_token_type alone", "InvalidRequest malformed_parameter", byOrders({ actor_token_type: accessToken })],
  [
    "two subject tokens",
    "InvalidRequest repeated_parameter",
    (scene) => Effect.succeed([scene.orders, subject(scene, { subject_token: [scene.token, scene.token] })])
  ],
  ["a text that is no token", "InvalidSubjectToken malformed", byOrders({ subject_token: "made-up" })],
  [
    "a token cut short",
    "InvalidSubjectToken malformed",
    (scene) => Effect.succeed([scene.orders, { subject_token: scene.token.slice(0, -1) }])
  ],
  [
    "a refresh token in its place",
    "InvalidSubjectToken wrong_kind",
    (scene) => Effect.succeed([scene.orders, { subject_token: scene.refresh }])
  ],
  [
    "an API key in its place",
    "InvalidSubjectToken wrong_kind",
    (scene) => Effect.map(keyOf(scene), (key) => [scene.orders, { subject_token: key }])
  ],
  [
    "an unsigned JWT of no issuer",
    "InvalidSubjectToken malformed",
    byOrders({ subject_token: "eyJhbGciOiJub25lIiwidHlwIjoiYXQrand0In0.eyJyZWYiOiJ4In0.x" })
  ],
  [
    "a client's own access in its place",
    "InvalidSubjectToken wrong_kind",
    (scene) =>
      Effect.map(tokenRequest(scene.world, scene.orders, { grant_type: "client_credentials" }), (own) => [
        scene.orders,
        { subject_token: text(jsonOf(own).access_token) }
      ])
  ],
  [
    "an expired token",
    "InvalidSubjectToken expired",
    (scene) => Effect.as(TestClock.adjust("1 hour"), [scene.orders, subject(scene)])
  ],
  [
    "a token that was sent elsewhere",
    "InvalidSubjectToken not_sent_here",
    (scene) =>
      Effect.map(refresh(scene.world, scene.app, scene.refresh, { resource: billing }), (only) => [
        scene.orders,
        { subject_token: text(jsonOf(only).access_token) }
      ])
  ],
  [
    "a token of another workspace's seal",
    "InvalidSubjectToken forged",
    (scene) =>
      Effect.sync(() => {
        const { keys } = scene.world.services
        const opened = Result.getOrThrow(openAny(keys.current(), workspace, scene.token, Instant.make(t0)))
        return [
          scene.orders,
          { subject_token: seal(keys.current(), { id: "other", issuer: workspace.issuer }, opened) }
        ] as const
      })
  ],
  [
    "a bound token without its proof",
    "InvalidSubjectToken binding_differs",
    (scene) =>
      Effect.sync(() => {
        const { keys } = scene.world.services
        const opened = Result.getOrThrow(openAny(keys.current(), workspace, scene.token, Instant.make(t0)))
        const bound = { ...opened, binding: { thumbprint: "A".repeat(43) } }
        return [scene.orders, { subject_token: seal(keys.current(), workspace, bound) }] as const
      })
  ],
  ["a scope that the token has not", "InvalidScope wider_than_granted", byOrders({ scope: "api" })],
  ["an unknown scope", "InvalidScope none_to_be_had", byOrders({ scope: "root" })],
  ["one scope more than the token has", "InvalidScope wider_than_granted", byOrders({ scope: "orders billing api" })],
  [
    "a resource that the token is not for",
    "InvalidTarget wider_than_granted",
    byOrders({ resource: theWorkspace.issuer })
  ],
  ["an unlisted resource", "InvalidTarget not_ours", byOrders({ resource: "https://evil.example" })],
  ["an unlisted audience", "InvalidTarget not_ours", byOrders({ audience: "https://evil.example" })],
  [
    "a good resource beside a bad audience",
    "InvalidTarget not_ours",
    byOrders({ resource: billing, audience: "https://evil.example" })
  ],
  [
    "scopes that the resource does not take",
    "InvalidTarget takes_none",
    byOrders({ resource: billing, scope: "orders" })
  ],
  [
    "a resource above the one that it is for",
    "InvalidTarget not_ours",
    byOrders({ resource: "https://billing.example.evil.example" })
  ],
  [
    "a client that no owner let exchange",
    "UnauthorizedClient grant_type_not_registered",
    (scene) => Effect.succeed([scene.app, subject(scene)])
  ],
  [
    "a client that an owner lets no more",
    "UnauthorizedClient grant_type_not_registered",
    (scene) => Effect.as(serve(scene.world, scene.orders, null), [scene.orders, subject(scene)])
  ],
  [
    "a client with fewer scopes",
    "InvalidScope none_to_be_had",
    (scene) => Effect.map(server(scene.world, orders, "api"), (weak) => [weak, subject(scene)])
  ],
  [
    "no proof of the client",
    "InvalidClient bad_secret",
    (scene) => Effect.succeed([{ ...scene.orders, secret: "wrong" }, subject(scene)])
  ]
]

describe("an exchange that is refused", () => {
  const errors: Readonly<Record<string, string>> = {
    InvalidRequest: "invalid_request",
    InvalidSubjectToken: "invalid_request",
    InvalidScope: "invalid_scope",
    InvalidTarget: "invalid_target",
    InvalidClient: "invalid_client",
    UnauthorizedClient: "unauthorized_client"
  }
  test.each([...attacks])("%s: %s", (_, why, attack) =>
    inScene((scene) =>
      Effect.gen(function* () {
        const [by, fields] = yield* attack(scene)
        const answer = yield* exchange(scene.world, by, "", fields)
        const [refusal = "", reason] = why.split(" ")
        const error = errors[refusal]
        expect([answer.status, jsonOf(answer).error]).toEqual([error === "invalid_client" ? 401 : 400, error])
        expect(scene.world.audit.at(-1)?.event).toMatchObject({ _tag: "Refused", refusal, reason })
        expect((yield* told(scene.world, scene.token)).scope ?? "").not.toContain("api")
      })
    )
  )

  test("a fifth time in a row", () =>
    inScene(({ billing: other, orders: by, token, world }) =>
      Effect.gen(function* () {
        let last = token
        for (const client of [by, other, by, other]) last = yield* exchanged(world, client, last)
        const answer = yield* exchange(world, by, last)
        expect([answer.status, jsonOf(answer).error]).toEqual([400, "invalid_request"])
        expect(world.audit.at(-1)?.event).toMatchObject({ refusal: "InvalidSubjectToken", reason: "too_many_actors" })
      })
    ))
})

describe("who may exchange", () => {
  test("no client registers for it by itself, nor updates itself to it; it is given up with more scopes", () =>
    inWorld(
      function* (world) {
        const asked = { grant_types: ["client_credentials", tokenExchange.name], redirect_uris: [], scope: "orders" }
        const client = yield* registerClient(world, asked)
        const stored = () => world.services.clients.findStored(theWorkspace.id, ClientId.make(client.id))
        const update = (scope: string) =>
          world.send("PUT", new URL(client.registrationUri).pathname, {
            headers: { ...jsonHeaders, ...bearing(client.registrationToken) },
            body: JSON.stringify({
              client_id: client.id,
              token_endpoint_auth_method: "client_secret_post",
              ...asked,
              scope
            })
          })
        expect((yield* stored())?.grantTypes).not.toContain(tokenExchange.name)
        expect((yield* update("orders")).status).toBe(200)
        expect((yield* stored())?.grantTypes).not.toContain(tokenExchange.name)
        expect(yield* serve(world, client, `${orders}/`)).toBe("done")
        expect((yield* update("orders")).status).toBe(200)
        expect(yield* stored()).toMatchObject({
          serves: orders,
          grantTypes: ["client_credentials", tokenExchange.name]
        })
        expect((yield* update("orders billing")).status).toBe(200)
        const after = yield* stored()
        expect([after?.serves, after?.grantTypes]).toEqual([undefined, ["client_credentials"]])
      },
      { resolve: () => workspace }
    ))

  test("an owner says so for an API that is listed and a client that proves itself, and is on record", () =>
    inWorld(
      function* (world) {
        const client = yield* registerClient(world)
        const open = yield* registerClient(world, { token_endpoint_auth_method: "none" })
        expect(yield* serve(world, client, "https://evil.example")).toBe("no_resource")
        expect(yield* serve(world, open, orders)).toBe("public")
        expect(yield* serve(world, { ...client, id: "A".repeat(22) }, orders)).toBe("unknown")
        expect([yield* serve(world, client, orders), yield* serve(world, client, orders)]).toEqual(["done", "was_so"])
        expect(yield* serve(world, client, null)).toBe("done")
        const changes = world.audit.flatMap(({ event }) => (event._tag === "ClientChanged" ? [event.change] : []))
        expect(changes).toEqual(["exchange_allowed", "exchange_ended"])
      },
      { resolve: () => workspace }
    ))
})
