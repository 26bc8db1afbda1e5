import { describe, expect, test } from "bun:test"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import type { HttpResponse } from "../../core/http/Http.ts"
import { LimitSharing, layer as sharedLimits } from "../../core/limits/SharedLimiter.ts"
import { Entropy } from "../../core/ports/Entropy.ts"
import { allowances, Limiter } from "../../core/ports/Limiter.ts"
import { Storage } from "../../core/ports/Storage.ts"
import { requestUriPrefix } from "../../core/request/pushed.ts"
import { ClientId, UserId } from "../../core/rules/Id.ts"
import {
  authorizeTarget,
  decide,
  form,
  formHeaders,
  header,
  prove,
  provenClient,
  redirectUri,
  registerClient,
  type Values
} from "../given/flow.ts"
import {
  approveAt,
  askedBy,
  assertionOf,
  backOf,
  type Claims,
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
import { inWorld, keyFrom, realSignatures, type Steps, t0, theWorkspace, type World } from "../given/World.ts"

const { issuer } = theWorkspace
const now = t0 / 1000
const minute = 60
const es256 = await keyOf("ES256", "one")
const ed25519 = await keyOf("EdDSA", "two")
const rs256 = await keyOf("RS256", "three")

interface Scene {
  readonly world: World
  /** Whose request it is, and who attacks it. */
  readonly victim: SigningClient
  readonly thief: SigningClient
}

const onStage = (body: (scene: Scene) => Steps<void>, metadata: object = {}) =>
  inWorld(
    function* (world) {
      const victim = yield* signingClient(world, es256, { ...metadata })
      const thief = yield* signingClient(world, ed25519)
      yield* body({ world, victim, thief })
    },
    { signatures: realSignatures }
  )

/** What is pushed, and nearly right: no record is kept of any. */
const pushes: ReadonlyArray<readonly [what: string, over: Values, error: string, reason?: string]> = [
  ["another client's client_id", { client_id: "other" }, "invalid_client"],
  [
    "a request_uri inside",
    { request_uri: `${requestUriPrefix}x` },
    "invalid_request",
    "InvalidRequest request_uri_pushed"
  ],
  ["a request_uri of elsewhere", { request_uri: "https://app.example.org/r.jwt" }, "invalid_request"],
  ["no redirect_uri", { redirect_uri: undefined }, "invalid_request", "UntrustedRequest redirect_uri_missing"],
  [
    "a redirect_uri of no client",
    { redirect_uri: "https://evil.example/cb" },
    "invalid_request",
    "UntrustedRequest redirect_uri_not_registered"
  ],
  ["a redirect_uri with more behind", { redirect_uri: `${redirectUri}/..` }, "invalid_request"],
  ["a redirect_uri with a query added", { redirect_uri: `${redirectUri}?a=b` }, "invalid_request"],
  ["a redirect_uri in capitals", { redirect_uri: redirectUri.toUpperCase() }, "invalid_request"],
  ["two redirect_uris", { redirect_uri: [redirectUri, "https://evil.example/cb"] }, "invalid_request"],
  ["two states", { state: ["a", "b"] }, "invalid_request", "InvalidRequest repeated_parameter"],
  ["two challenges", { code_challenge: ["a".repeat(43), "b".repeat(43)] }, "invalid_request"],
  ["no response_type", { response_type: undefined }, "invalid_request"],
  ["response_type=token", { response_type: "token" }, "unsupported_response_type", "UnsupportedResponseType null"],
  ["response_type=none", { response_type: "none" }, "unsupported_response_type"],
  ["response_mode=fragment", { response_mode: "fragment" }, "invalid_request"],
  ["a plain challenge", { code_challenge_method: "plain" }, "invalid_request", "InvalidRequest challenge_method"],
  ["a method without a challenge", { code_challenge: undefined }, "invalid_request"],
  ["a challenge without a method", { code_challenge_method: undefined }, "invalid_request"],
  ["a challenge that is too short", { code_challenge: "a".repeat(42) }, "invalid_request"],
  ["a scope that there is not", { scope: "everything" }, "invalid_scope", "InvalidScope none_to_be_had"],
  ["a resource of elsewhere", { resource: "https://evil.example/" }, "invalid_target", "InvalidTarget not_ours"],
  ["more than a record may have", { state: "s".repeat(9000) }, "invalid_request", "InvalidRequest request_too_long"],
  ["two request objects", { request: ["e30.e30.x", "e30.e30.y"] }, "invalid_request"],
  ["an unsigned request", { request: "e30.e30." }, "invalid_request_object", "InvalidRequestObject malformed"],
  [
    "a request without an algorithm",
    { request: "e30.e30.AA" },
    "invalid_request_object",
    "InvalidRequestObject algorithm"
  ],
  ["a request that is no JWT", { request: "x" }, "invalid_request_object", "InvalidRequestObject malformed"]
]

/** Requests stand in the store, or they do not. */
const kept = ({ calls }: World) => calls.insert.filter((what) => String(what).includes("request")).length

describe("what is pushed", () => {
  test.each(pushes.map(([what, ...row]) => [what, row] as const))("is refused with %s", (_, [over, error, reason]) =>
    onStage(function* ({ victim, world }) {
      const before = kept(world)
      const answer = yield* pushSigned(world, victim, askedBy(victim, over))
      expect([400, 401]).toContain(answer.status)
      expect(errorOf(answer)).toBe(error)
      const event = world.audit.at(-1)?.event
      expect(event?._tag).toBe("Refused")
      if (reason !== undefined && event?._tag === "Refused") expect(`${event.refusal} ${event.reason}`).toBe(reason)
      expect(kept(world)).toBe(before)
    })
  )

  const unproven: ReadonlyArray<readonly [what: string, fields: (scene: Scene) => Effect.Effect<Values>]> = [
    ["by its name alone", ({ victim }) => Effect.succeed(askedBy(victim))],
    ["with a secret", ({ victim }) => Effect.succeed({ ...askedBy(victim), client_secret: "tsr_cs_x" })],
    ["by another's assertion", (scene) => shown(scene, assertionOf(scene.thief))],
    [
      "by an assertion of its name and another's key",
      (scene) => shown(scene, assertionOf(scene.victim, {}, {}, scene.thief.key))
    ],
    ["by a request object instead of an assertion", (scene) => shown(scene, objectOf(scene.victim))],
    ["by an assertion that has expired", (scene) => shown(scene, assertionOf(scene.victim, { exp: now - 60 }))],
    [
      "by an assertion for another server",
      (scene) => shown(scene, assertionOf(scene.victim, { aud: "https://other.example" }))
    ]
  ]
  const shown = ({ victim }: Scene, made: Effect.Effect<string>): Effect.Effect<Values> =>
    Effect.map(made, (client_assertion) => ({
      ...askedBy(victim),
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      client_assertion
    }))
  test.each(unproven)("is refused of a client that is not proven: %s", (_, fields) =>
    onStage(function* (scene) {
      const answer = yield* post(scene.world, "/oauth/par", yield* fields(scene))
      expect([answer.status, errorOf(answer)]).toEqual([401, "invalid_client"])
    })
  )

  test("of an assertion counts once", () =>
    onStage(function* ({ victim, world }) {
      const assertion = yield* assertionOf(victim)
      expect((yield* pushSigned(world, victim, askedBy(victim), assertion)).status).toBe(201)
      const elsewhere = yield* world.elsewhere
      for (const server of [world, elsewhere]) {
        expect((yield* pushSigned(server, victim, askedBy(victim), assertion)).status).toBe(401)
      }
    }))

  test("by a public client is its own alone", () =>
    onStage(function* ({ victim, world }) {
      const app = yield* registerClient(world, { token_endpoint_auth_method: "none" })
      expect((yield* post(world, "/oauth/par", askedBy(app))).status).toBe(201)
      expect((yield* post(world, "/oauth/par", askedBy(victim))).status).toBe(401)
    }))
})

const pushedBy = (world: World, client: SigningClient, over: Values = {}) =>
  Effect.map(pushSigned(world, client, askedBy(client, over)), uriOf)

describe("a flood of pushed requests", () => {
  /** One network, whichever process it comes to; the processes hear of each other's limits after so many pushes. */
  const stranger = "203.0.113.9"
  const between = 100
  const flood = 900

  test("by one stranger fills no store and stops no other client, at two processes, with clients of any kind", () => {
    let taking: Limiter["Service"] = { take: () => Effect.void }
    const limiter = Layer.succeed(Limiter, { take: (key) => taking.take(key) })
    return inWorld(
      (world) =>
        Effect.gen(function* () {
          const shared = sharedLimits.pipe(Layer.provide([Layer.succeed(Storage, world.storage), Entropy.layer]))
          const limits = [yield* Layer.build(shared), yield* Layer.build(Layer.fresh(shared))] as const
          const servers = [world, yield* world.elsewhere] as const
          const open = { token_endpoint_auth_method: "none" }
          const known = yield* Effect.forEach([1, 2, 3], () => registerClient(world, open))
          yield* Effect.forEach(known, (client) => Effect.orDie(prove(world, client)))
          const own = yield* Effect.forEach([open, {}, open, {}], (metadata) => registerClient(world, metadata))
          const push = (n: number, client: (typeof own)[number], peer: string) => {
            taking = Context.get(limits[n % 2] ?? limits[0], Limiter)
            const fields = { ...askedBy(client), client_secret: client.secret }
            const sent = { headers: formHeaders, body: form(fields), peer }
            return Effect.map((servers[n % 2] ?? world).send("POST", "/oauth/par", sent), ({ status }) => status)
          }
          const before = world.calls.insert.length
          const statuses: Array<number> = []
          for (let n = 0; n < flood; n++) {
            // Each at both processes, those that people let in before those that only registered.
            const clients = n < flood / 2 ? known : own
            statuses.push(yield* push(n, clients[(n >> 1) % clients.length] ?? expect.unreachable(), stranger))
            if (n % between === 0) {
              for (const one of limits) yield* Effect.orDie(Context.get(one, LimitSharing).share)
            }
          }
          const written = world.calls.insert.slice(before).filter((what) => String(what).includes("request"))
          expect(new Set(statuses)).toEqual(new Set([201, 429]))
          expect(written).toHaveLength(statuses.filter((status) => status === 201).length)
          expect(written.length).toBeLessThanOrEqual(allowances.push.burst + between)

          const machine = yield* Effect.orDie(provenClient(world))
          const newcomer = yield* registerClient(world, open)
          const others = [...known, ...own, newcomer].map((client) => [client, "198.51.100.7"] as const)
          // One that proves itself has a share of its own, also behind the stranger's address.
          for (const [client, peer] of [...others, [machine, stranger] as const]) {
            for (const n of [0, 1]) expect([client.id, yield* push(n, client, peer)]).toEqual([client.id, 201])
          }
        }).pipe(Effect.scoped),
      { limiter }
    )
  })
})

const flipped = (text: string, at: number) =>
  text.slice(0, at) + (text.charAt(at) === "A" ? "B" : "A") + text.slice(at + 1)

/** A request_uri that is none, made of one that is. */
const forged: ReadonlyArray<readonly [what: string, make: (uri: string) => string]> = [
  ["nothing behind the prefix", () => requestUriPrefix],
  ["one letter more", (uri) => `${uri}A`],
  ["one letter less", (uri) => uri.slice(0, -1)],
  ["padding", (uri) => `${uri.slice(0, -1)}=`],
  ["a space behind", (uri) => `${uri} `],
  ["another version", (uri) => flipped(uri, requestUriPrefix.length)],
  ["another key", (uri) => flipped(uri, requestUriPrefix.length + 3)],
  ["another kind of visit", (uri) => flipped(uri, requestUriPrefix.length + 7)],
  ["another request", (uri) => flipped(uri, requestUriPrefix.length + 12)],
  ["another MAC", (uri) => flipped(uri, uri.length - 5)],
  ["zeros", () => requestUriPrefix + "A".repeat(72)],
  ["a token", () => `${requestUriPrefix}tsr_ac_${"A".repeat(65)}`],
  ["one of megabytes", () => requestUriPrefix + "A".repeat(100_000)]
]

const isRefused = (answer: { readonly status: number; readonly body: string }) => {
  expect(answer.status).toBe(400)
  expect(answer.body).toContain("<h1>")
  expect(answer.body).not.toContain("<form")
}

describe("a request_uri", () => {
  test.each(forged)("that was never given out opens nothing, and asks the store nothing: %s", (_, make) =>
    onStage(function* ({ victim, world }) {
      const uri = make(yield* pushedBy(world, victim))
      const before = world.calls.get.filter((what) => String(what).includes("request")).length
      isRefused(yield* visit(world, visitTarget(victim, uri)))
      expect(world.calls.get.filter((what) => String(what).includes("request")).length).toBe(before)
    })
  )

  const beside: ReadonlyArray<readonly [what: string, more: Values]> = [
    ["a redirect_uri of the attacker's", { redirect_uri: "https://evil.example/cb" }],
    ["another state", { state: "evil" }],
    ["two states", { state: ["evil", "worse"] }],
    ["a wider scope", { scope: "api profile" }],
    ["another challenge", { code_challenge: "e".repeat(43), code_challenge_method: "S256" }],
    ["a plain challenge", { code_challenge: "e".repeat(43), code_challenge_method: "plain" }],
    ["another response_type", { response_type: "token" }],
    ["a response_mode", { response_mode: "fragment" }],
    ["a prompt", { prompt: "none" }],
    ["a resource", { resource: "https://evil.example" }],
    ["a dpop_jkt", { dpop_jkt: "e".repeat(43) }]
  ]
  test.each(beside)("is what was pushed, whatever stands beside it: %s", (_, more) =>
    onStage(function* ({ victim, world }) {
      const uri = yield* pushedBy(world, victim)
      const to = header(yield* approveAt(world, visitTarget(victim, uri, more)), "location") ?? ""
      expect(to).toStartWith(`${redirectUri}?`)
      const back = new URL(to).searchParams
      expect([back.getAll("state"), back.get("iss"), back.has("code")]).toEqual([["st"], issuer, true])
    })
  )

  const wrongly: ReadonlyArray<readonly [what: string, target: (scene: Scene, uri: string) => string]> = [
    ["another client's name", ({ thief }, uri) => visitTarget(thief, uri)],
    ["no client", (_, uri) => `/oauth/authorize?request_uri=${encodeURIComponent(uri)}`],
    ["two clients", ({ thief, victim }, uri) => `${visitTarget(victim, uri)}&client_id=${thief.id}`],
    ["two of them", ({ victim }, uri) => `${visitTarget(victim, uri)}&request_uri=x`],
    ["a request object beside it", ({ victim }, uri) => visitTarget(victim, uri, { request: "e30.e30.x" })]
  ]
  test.each(wrongly)("is refused with %s", (_, target) =>
    onStage(function* (scene) {
      isRefused(yield* visit(scene.world, target(scene, yield* pushedBy(scene.world, scene.victim))))
    })
  )

  test("of racing approvals by two people has one answer", () =>
    onStage(function* ({ victim, world }) {
      const target = visitTarget(victim, yield* pushedBy(world, victim))
      const people = ["alice", "bob", "carol"]
      const pages = yield* Effect.forEach(people, (as) =>
        Effect.map(visit(world, target, as), (page) => ({ as, page }))
      )
      const answers = yield* Effect.forEach(pages, ({ as, page }) => decide(world, page, "approve", as), {
        concurrency: "unbounded"
      })
      expect(answers.filter((answer) => backOf(answer).has("code"))).toHaveLength(1)
      isRefused(yield* visit(world, target, "alice"))
    }))

  test("of racing approvals at two processes by one person makes one grant", () =>
    onStage(function* ({ victim, world }) {
      const target = visitTarget(victim, yield* pushedBy(world, victim))
      const there = yield* world.elsewhere
      const pages = yield* Effect.forEach([world, there, world], (at) =>
        Effect.map(visit(at, target), (page) => ({ at, page }))
      )
      yield* Effect.forEach(pages, ({ at, page }) => decide(at, page, "approve"), { concurrency: "unbounded" })
      const grants = yield* Effect.orDie(
        world.services.grants.ofUser(world.workspace.id, UserId.make("alice"), { after: undefined, limit: 10 })
      )
      expect(grants.values).toHaveLength(1)
    }))

  test("that was denied stays so", () =>
    onStage(function* ({ victim, world }) {
      const target = visitTarget(victim, yield* pushedBy(world, victim))
      const first = yield* visit(world, target)
      const second = yield* visit(world, target)
      yield* decide(world, first, "deny")
      expect(backOf(yield* decide(world, second, "approve")).has("code")).toBe(false)
      isRefused(yield* visit(world, target))
    }))

  test("opens under the keys that sealed it, and no others", () =>
    onStage(function* ({ victim, world }) {
      const target = visitTarget(victim, yield* pushedBy(world, victim))
      world.turnRing(() => [keyFrom(9)])
      isRefused(yield* visit(world, target))
      world.turnRing(() => [keyFrom(9), keyFrom(1)])
      expect((yield* visit(world, target)).status).toBe(200)
    }))

  test("is over with its consent page, also for a visit that began in time", () =>
    onStage(function* ({ victim, world }) {
      const signIn = yield* world.send("GET", visitTarget(victim, yield* pushedBy(world, victim)))
      const back = backOf(signIn).get("return_to") ?? ""
      expect(back).not.toContain("redirect_uri")
      yield* TestClock.adjust("15 minutes")
      const page = yield* visit(world, back)
      expect(page.status).toBe(200)
      yield* TestClock.adjust("1 minute")
      isRefused(yield* visit(world, back))
      expect(backOf(yield* decide(world, page, "approve")).has("code")).toBe(false)
    }))

  test("leads back to itself from its page, and not around it", () =>
    onStage(
      function* ({ victim, world }) {
        const page = yield* visit(world, visitTarget(victim, yield* pushedBy(world, victim)))
        expect(page.body).toContain("request_uri")
        expect(page.body).not.toContain(encodeURIComponent("code_challenge="))
        // Another person's answer, which is told where to begin again.
        const foreign = yield* decide(world, page, "approve", "bob")
        expect(foreign.body).not.toContain("code_challenge")
        expect(backOf(yield* visit(world, authorizeTarget({ ...victim, secret: undefined }))).get("error")).toBe(
          "invalid_request"
        )
      },
      { require_pushed_authorization_requests: true }
    ))

  test("of a client that may ask no more is an error there; without a redirect URI, or disabled, there is no redirect", () =>
    onStage(function* ({ victim, world }) {
      const target = visitTarget(victim, yield* pushedBy(world, victim))
      const page = yield* visit(world, target)
      const change = (over: object) =>
        Effect.orDie(
          world.services.clients.change(world.workspace.id, ClientId.make(victim.id), (stored) => ({
            ...stored,
            ...over
          }))
        )
      yield* change({ grantTypes: [] })
      yield* TestClock.adjust("6 seconds")
      expect(backOf(yield* visit(world, target)).get("error")).toBe("unauthorized_client")
      for (const over of [{ redirectUris: [] }, { disabled: true }]) {
        yield* change(over)
        yield* TestClock.adjust("6 seconds")
        isRefused(yield* visit(world, target))
        expect(header(yield* decide(world, page, "approve"), "location")).toBeUndefined()
      }
    }))

  const refusedByValue: ReadonlyArray<readonly [string, Values, string]> = [
    ["request_uri", { request_uri: "https://app.example.org/r.jwt" }, "request_uri_not_supported"],
    ["request", { request: "e30.e30.x" }, "request_not_supported"]
  ]
  test.each(refusedByValue)(
    "is never fetched, and no object read, at the authorization endpoint: %s",
    (_, over, error) =>
      onStage(function* ({ world }) {
        const client = yield* Effect.orDie(provenClient(world))
        expect(backOf(yield* visit(world, authorizeTarget(client, over))).get("error")).toBe(error)
        isRefused(yield* visit(world, authorizeTarget(client, { ...over, redirect_uri: "https://evil.example/" })))
      })
  )
})

/** A client that proves to be one, and names another one beside that. */
const impostors: ReadonlyArray<
  readonly [how: string, push: (scene: Scene) => Effect.Effect<HttpResponse>, error: string]
> = [
  [
    "an assertion of its own",
    ({ thief, victim, world }) => pushSigned(world, thief, askedBy(victim)),
    "invalid_client"
  ],
  [
    "the other's assertion, and itself named",
    ({ thief, victim, world }) =>
      Effect.flatMap(assertionOf(victim), (shown) => pushSigned(world, victim, askedBy(thief), shown)),
    "invalid_client"
  ],
  [
    "an assertion about the other, signed by itself",
    ({ thief, victim, world }) =>
      Effect.flatMap(assertionOf(victim, {}, {}, thief.key), (shown) =>
        pushSigned(world, victim, askedBy(victim), shown)
      ),
    "invalid_client"
  ],
  [
    "a secret of its own in the header",
    ({ victim, world }) =>
      Effect.gen(function* () {
        const own = yield* registerClient(world, { token_endpoint_auth_method: "client_secret_basic" })
        const authorization = `Basic ${btoa(`${own.id}:${own.secret}`)}`
        return yield* world.send("POST", "/oauth/par", {
          headers: { ...formHeaders, authorization },
          body: form(askedBy(victim))
        })
      }),
    "invalid_request"
  ],
  [
    "a secret of its own in the body",
    ({ victim, world }) =>
      Effect.flatMap(registerClient(world), ({ secret }) =>
        post(world, "/oauth/par", { ...askedBy(victim), client_secret: secret })
      ),
    "invalid_client"
  ]
]

describe("a request in another client's name", () => {
  test.each(impostors)("is not pushed by %s", (_, push, error) =>
    onStage(function* (scene) {
      const before = kept(scene.world)
      const answer = yield* push(scene)
      expect([400, 401]).toContain(answer.status)
      expect(errorOf(answer)).toBe(error)
      expect(kept(scene.world)).toBe(before)
    })
  )
})

/** Objects that the client's own key signed, and that are wrong all the same. */
const objects: ReadonlyArray<readonly [what: string, claims: Claims, header: object]> = [
  ["iss of another client", { iss: "other" }, {}],
  ["client_id of another client", { client_id: "A".repeat(22) }, {}],
  ["no client_id", { client_id: undefined }, {}],
  ["no iss", { iss: undefined }, {}],
  ["sub of the client, as an assertion has", { sub: "itself" }, {}],
  ["no aud", { aud: undefined }, {}],
  ["aud of elsewhere", { aud: "https://other.example" }, {}],
  ["aud that begins with ours", { aud: `${issuer}.evil.example` }, {}],
  ["aud with a slash", { aud: `${issuer}/` }, {}],
  ["an empty list as aud", { aud: [] }, {}],
  ["an object as aud", { aud: { [issuer]: true } }, {}],
  ["exp as a text", { exp: String(now + 300) }, {}],
  ["exp without end", { exp: 1e300 }, {}],
  ["exp in milliseconds", { exp: t0 + 300_000 }, {}],
  ["nbf an hour ahead", { nbf: now + 60 * minute }, {}],
  ["nbf as a text", { nbf: String(now) }, {}],
  ["iat an hour ahead", { iat: now + 60 * minute }, {}],
  ["a request inside", { request: "e30.e30.x" }, {}],
  ["a request_uri inside", { request_uri: `${requestUriPrefix}x` }, {}],
  ["the type of an assertion", {}, { typ: "client-authentication+jwt" }],
  ["the type of an access token", {}, { typ: "at+jwt" }],
  ["the type of a proof", {}, { typ: "dpop+jwt" }],
  ["an extension that is critical", {}, { crit: ["b64"], b64: true }],
  ["another kid", {}, { kid: "nobody's" }]
]

describe("a signed request", () => {
  test.each(objects)("is refused with %s", (_, claims, header) =>
    onStage(function* ({ victim, world }) {
      const over = claims.sub === undefined ? claims : { ...claims, sub: victim.id }
      const request = yield* objectOf(victim, over, header)
      const answer = yield* pushSigned(world, victim, { client_id: victim.id, request })
      expect([answer.status, errorOf(answer)]).toEqual([400, "invalid_request_object"])
    })
  )

  test("counts alone: what stands beside it in the form is nothing", () =>
    onStage(function* ({ victim, world }) {
      const request = yield* objectOf(victim, { state: "inside" })
      const fields = {
        ...askedBy(victim, { state: "outside", redirect_uri: "https://evil.example/", scope: "x" }),
        // What the object does not say is not said.
        resource: "https://unheard-of.example",
        prompt: "none",
        response_mode: "fragment",
        claims: "{",
        dpop_jkt: "none",
        request
      }
      const answer = yield* pushSigned(world, victim, fields)
      const back = yield* approveAt(world, visitTarget(victim, uriOf(answer)))
      expect(header(back, "location")).toStartWith(redirectUri)
      expect(backOf(back).get("state")).toBe("inside")
    }))

  test("of another client is not the client's, by whichever client it is pushed", () =>
    onStage(function* ({ thief, victim, world }) {
      const request = yield* objectOf(victim)
      expect(errorOf(yield* pushSigned(world, thief, { client_id: thief.id, request }))).toBe("invalid_request_object")
      const mixed = yield* pushSigned(world, thief, { client_id: victim.id, request })
      expect([400, 401]).toContain(mixed.status)
    }))

  test("opens no client: it is no assertion, and an assertion is no request", () =>
    onStage(function* ({ victim, world }) {
      const request = yield* assertionOf(victim, { ...askedBy(victim) })
      const answer = yield* pushSigned(world, victim, { client_id: victim.id, request })
      expect(errorOf(answer)).toBe("invalid_request_object")
    }))

  test("by an algorithm that the client did not register for, or of a client without keys, is refused", () =>
    onStage(function* ({ world }) {
      const rsa = yield* signingClient(world, rs256, { request_object_signing_alg: "PS256" })
      const request = yield* objectOf(rsa)
      expect(errorOf(yield* pushSigned(world, rsa, { client_id: rsa.id, request }))).toBe("invalid_request_object")
      const secretive = yield* Effect.orDie(provenClient(world))
      const fields = { client_id: secretive.id, client_secret: secretive.secret, request }
      expect(errorOf(yield* post(world, "/oauth/par", fields))).toBe("invalid_request_object")
    }))
})
