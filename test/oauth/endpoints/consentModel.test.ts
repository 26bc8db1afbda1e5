import { describe, expect, test } from "bun:test"
import { Effect, Schema } from "effect"
import { removeIssuer } from "../../../core/engine/administerWorkspace.ts"
import { jwtBearer } from "../../../core/oauth/grants/jwtBearer.ts"
import type { ConsentPage } from "../../../core/pages/Consent.ts"
import { Pages } from "../../../core/ports/Pages.ts"
import { ClientId, PlaceId } from "../../../core/rules/Id.ts"
import { ResourceRegistry } from "../../../core/rules/Resource.ts"
import { byOwner } from "../../given/auditContext.ts"
import { deviceClient, enterCode, waitingDevice } from "../../given/devices.ts"
import { DocumentsWeb } from "../../given/documentsWeb.ts"
import { bring, claimsFor, enterprise, login, signed, trust } from "../../given/enterprise.ts"
import {
  authorizeTarget,
  form,
  formHeaders,
  header,
  prove,
  redeem,
  redirectUri,
  registerClient,
  returned,
  type TestClient,
  text,
  type Values
} from "../../given/flow.ts"
import { pageName } from "../../given/page.ts"
import { inWorld, realSignatures, t0, theWorkspace, type World, type WorldOptions } from "../../given/World.ts"

const orders = "https://orders.example"
const documentAt = "https://app.example.org/client.json"

const web = () => {
  const all = new DocumentsWeb()
  all.publish(documentAt, {
    client_name: "Desk",
    redirect_uris: ["http://127.0.0.1/cb", "http://localhost/cb"],
    token_endpoint_auth_method: "none"
  })
  all.publish("https://app.example.org/both.json", {
    client_name: "Both",
    redirect_uris: ["http://127.0.0.1/cb", redirectUri],
    token_endpoint_auth_method: "none"
  })
  return all
}

/** A host that draws the page itself, and so is told all that belongs on it. */
const inHost = <E>(
  body: (world: World, shown: () => ConsentPage) => Effect.Effect<void, E>,
  options: Partial<WorldOptions> = {}
) => {
  const models: Array<ConsentPage> = []
  const consent = (_: unknown, model: ConsentPage) => {
    models.push(model)
    return { status: 200, headers: [], body: "" }
  }
  return inWorld((world) => body(world, () => models.pop() ?? expect.unreachable("no page was drawn")), {
    pages: Pages.layer(undefined, { consent }),
    documents: web().layer(),
    resolve: () => ({
      ...theWorkspace,
      resources: Schema.decodeUnknownSync(ResourceRegistry)([
        { at: orders, name: "Orders" },
        { at: `${orders}/bare`, name: "Bare" }
      ])
    }),
    ...options
  })
}

const open = (world: World, client: Pick<TestClient, "id" | "redirectUri">, fields: Values = {}, as = "alice") =>
  world.send("GET", authorizeTarget(client as TestClient, fields), { as })

const brought = (id: string, redirectUri: string) => ({ id, redirectUri })

const api = { scope: "api", words: expect.any(String), byDefault: true }

/** What every page has; `switchAccount` is the way back to the request. */
const common = {
  scopes: [api],
  resources: [],
  account: "alice@example.com",
  acknowledge: true,
  switchAccount: expect.stringMatching(/^\/login\?return_to=%2Foauth%2Fauthorize%3F/),
  csrf: expect.any(String),
  ticket: expect.any(String),
  now: t0
}

describe("what a consent page is told", () => {
  test("of a client that registered itself, and that no person let in", () =>
    inHost((world, shown) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world, {
          client_name: "Notes",
          policy_uri: "https://app.example.org/policy",
          tos_uri: "https://app.example.org/terms"
        })
        yield* open(world, client)
        const known = { id: client.id, registeredItself: true, registeredAt: t0 }
        const pages = { policyUri: "https://app.example.org/policy", tosUri: "https://app.example.org/terms" }
        expect<unknown>(shown()).toEqual({ ...common, client: { ...known, name: "Notes", redirectUri, ...pages } })
        const bare = yield* registerClient(world)
        yield* open(world, bare)
        const model = shown()
        expect(model.client).toStrictEqual({
          ...known,
          id: bare.id,
          name: undefined,
          redirectUri
        } as ConsentPage["client"])
        expect("remembers" in model).toBe(false)
        expect(new URL(model.switchAccount, theWorkspace.issuer).searchParams.get("return_to")).toBe(
          authorizeTarget(bare)
        )
      })
    ))

  test("of one that asks for no scope is nothing beyond what it registered for, though it may ask for that", () =>
    inHost((world, shown) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world, { scope: "profile" })
        // What is given by default is nothing that it registered for.
        expect(pageName(yield* open(world, client))).toBe("error-strangers-request")
        yield* open(world, client, { scope: "api" })
        expect(shown().scopes.map(({ scope }) => scope)).toEqual(["api"])
      })
    ))

  test("of one that an owner made, and that the person let in before", () =>
    inHost(
      (world, shown) =>
        Effect.gen(function* () {
          const client = yield* registerClient(world, { scope: "api profile" })
          yield* world.services.clients.change(theWorkspace.id, ClientId.make(client.id), (stored) => ({
            ...stored,
            madeBy: "owner"
          }))
          yield* open(world, client, { scope: "api profile" })
          const model = shown()
          const scopes = [
            { ...api, byDefault: false },
            { scope: "profile", words: expect.any(String), byDefault: false }
          ]
          expect<unknown>(model).toEqual({
            ...common,
            client: { id: client.id, name: undefined, redirectUri, registeredItself: false, registeredAt: t0 },
            scopes,
            acknowledge: false,
            remembers: true
          })
        }),
      { policy: { consent: "remember" } }
    ))

  test("of scopes that the client has from this person already", () =>
    inHost((world, shown) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world, { scope: "api profile" })
        yield* prove(world, client)
        yield* open(world, client, { scope: "profile" })
        const { csrf, ticket } = shown()
        const body = form({ csrf, ticket, decision: "approve" })
        const done = yield* world.send("POST", "/consent", { as: "alice", headers: formHeaders, body })
        yield* redeem(world, client, text(returned(done).get("code")))
        yield* open(world, client, { scope: "api profile" })
        expect<unknown>(shown().scopes).toEqual([
          { scope: "api", words: expect.any(String), byDefault: false },
          { scope: "profile", words: expect.any(String), byDefault: false, allowedBefore: true }
        ])
        // What one client has is nothing that another has.
        yield* open(world, yield* registerClient(world, { scope: "api profile" }), { scope: "api profile" })
        expect(shown().scopes.some(({ allowedBefore }) => allowedBefore === true)).toBe(false)
      })
    ))

  test("of scopes that an issuer asserted, as long as it is trusted", () =>
    inHost(
      (world, shown) =>
        Effect.gen(function* () {
          yield* trust(world)
          const grantTypes = { grant_types: [jwtBearer.name, "authorization_code"], redirect_uris: [redirectUri] }
          const client = { ...(yield* Effect.orDie(enterprise(world, grantTypes))), redirectUri }
          yield* bring(world, client, yield* signed(claimsFor(client, { scope: "profile" })))
          const before = Effect.fnUntraced(function* () {
            yield* open(world, client, { scope: "api profile" })
            return shown().scopes.flatMap(({ allowedBefore, scope }) => (allowedBefore === true ? [scope] : []))
          })
          expect<unknown>(yield* before()).toEqual(["profile"])
          const opened = yield* world.services.openings.open(world.workspace)
          yield* removeIssuer(world.services, byOwner(world), opened, login)
          expect(yield* before()).toEqual([])
        }).pipe(Effect.orDie),
      { signatures: realSignatures }
    ))

  test("of scopes that the client has at each of the places that may be chosen", () =>
    inHost(
      (world, shown) =>
        Effect.gen(function* () {
          const client = yield* registerClient(world, { scope: "api profile" })
          yield* prove(world, client)
          const before: Array<ReadonlyArray<string>> = []
          const look = Effect.fnUntraced(function* () {
            yield* open(world, client, { scope: "api profile" })
            const { csrf, scopes, ticket } = shown()
            before.push(scopes.flatMap(({ allowedBefore, scope }) => (allowedBefore === true ? [scope] : [])))
            return { csrf, ticket }
          })
          for (const place of ["bakery", "museum"]) {
            const body = form({ ...(yield* look()), decision: "approve", place })
            const done = yield* world.send("POST", "/consent", { as: "alice", headers: formHeaders, body })
            yield* redeem(world, client, text(returned(done).get("code")))
          }
          yield* look()
          expect(before).toEqual([[], [], ["api", "profile"]])
        }),
      { places: () => ["bakery", "museum"].map((id) => ({ id: PlaceId.make(id), label: id })) }
    ))

  test("of one that a person let in once: no person has to say that they know it", () =>
    inHost((world, shown) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world)
        yield* prove(world, client)
        yield* open(world, client)
        expect<unknown>(shown()).toEqual({
          ...common,
          client: { id: client.id, name: undefined, redirectUri, registeredItself: true, registeredAt: t0 },
          acknowledge: false
        })
      })
    ))

  test.each([
    [documentAt, "Desk", "http://127.0.0.1:4000/cb", true],
    ["https://app.example.org/both.json", "Both", redirectUri, false]
  ] as const)("of one that brings the document %s: its host, and where its answers stay", (id, name, to, stays) =>
    inHost((world, shown) =>
      Effect.gen(function* () {
        yield* open(world, brought(id, to))
        expect<unknown>(shown()).toEqual({
          ...common,
          client: {
            id,
            name,
            redirectUri: to,
            registeredItself: true,
            registeredAt: t0,
            host: "app.example.org",
            staysOnComputer: stays
          }
        })
      })
    )
  )

  test("of a device: the code that it shows, and nowhere that the answer goes", () =>
    inHost((world, shown) =>
      Effect.gen(function* () {
        const tv = yield* deviceClient(world)
        yield* prove(world, tv)
        const told = yield* waitingDevice(world, tv)
        yield* enterCode(world, told.userCode)
        const { client, acknowledge, remembers } = shown()
        expect<unknown>([client, acknowledge, remembers]).toEqual([
          {
            id: tv.id,
            name: "Television",
            userCode: told.userCode,
            registeredItself: true,
            registeredAt: t0
          },
          true,
          undefined
        ])
      })
    ))

  test.each([
    [undefined, []],
    [theWorkspace.issuer, []],
    [orders, [{ at: orders, name: "Orders" }]],
    [[orders, theWorkspace.issuer], []],
    [
      [orders, `${orders}/bare`],
      [
        { at: orders, name: "Orders" },
        { at: `${orders}/bare`, name: "Bare" }
      ]
    ]
  ])("of what it is for, where that is less than everything: %j", (resource, resources) =>
    inHost((world, shown) =>
      Effect.gen(function* () {
        yield* open(world, yield* registerClient(world), { resource })
        expect(shown().resources).toEqual(resources)
      })
    )
  )

  test("of a part of the workspace that no owner named", () =>
    inHost(
      (world, shown) =>
        Effect.gen(function* () {
          const at = `${theWorkspace.issuer}/rest`
          yield* open(world, yield* registerClient(world), { resource: at })
          expect(shown().resources).toStrictEqual([{ at }])
        }),
      { resolve: () => theWorkspace }
    ))
})

const places = ["bakery", "museum"].map((id) => ({ id: PlaceId.make(id), label: `The ${id}` }))

describe("a consent page that is answered with less than it asks for", () => {
  const answered = Effect.fnUntraced(function* (
    world: World,
    model: Pick<ConsentPage, "csrf" | "ticket">,
    fields: Values
  ) {
    const { csrf, ticket } = model
    const body = form({ csrf, ticket, ...fields })
    return yield* world.send("POST", "/consent", { as: "alice", headers: formHeaders, body })
  })

  test("is drawn again as it was, and says what is missing", () =>
    inHost((world, shown) =>
      Effect.gen(function* () {
        yield* open(world, yield* registerClient(world), { state: "s" })
        const { problem, ...drawn } = shown()
        const first = { ...drawn, switchAccount: common.switchAccount }
        expect(problem).toBeUndefined()
        for (const acknowledged of [undefined, "", "no", "on"]) {
          const answer = yield* answered(world, first, { decision: "approve", acknowledged })
          const { problem: told, ...again } = shown()
          expect<unknown>([answer.status, again, typeof told]).toEqual([400, first, "string"])
          expect(world.audit.at(-1)?.event).toMatchObject({ refusal: "ForgedForm", reason: "field_missing" })
        }
        const done = yield* answered(world, first, { decision: "approve", acknowledged: "yes" })
        expect(header(done, "location")).toContain("code=")
      })
    ))

  test("keeps to its places: without one, with what was searched, and with one", () =>
    inHost(
      (world, shown) =>
        Effect.gen(function* () {
          const client = yield* registerClient(world)
          yield* prove(world, client)
          yield* open(world, client)
          const first = { ...shown(), switchAccount: common.switchAccount }
          const row = (id: string, chosen = false) => ({ id, label: `The ${id}`, chosen })
          expect<unknown>(first.places).toEqual({ shown: [row("bakery"), row("museum")], count: 2 })
          const none = yield* answered(world, first, { decision: "approve" })
          const again = shown()
          expect<unknown>([none.status, again]).toEqual([
            400,
            { ...first, places: { ...first.places, problem: expect.any(String) } }
          ])
          const searched = yield* answered(world, first, { decision: "search", place: "museum", place_search: "bak" })
          expect<unknown>([searched.status, shown()]).toEqual([
            200,
            { ...first, places: { shown: [row("bakery"), row("museum", true)], count: 2, search: "bak" } }
          ])
          const done = yield* answered(world, first, { decision: "approve", place: "museum" })
          expect(header(done, "location")).toContain("code=")
          expect(world.audit.at(-1)?.event).toMatchObject({ _tag: "ConsentGiven", place: "museum" })
          expect(world.audit.filter(({ event }) => event._tag === "Refused")).toEqual([])
        }),
      { places: () => places }
    ))
})
