import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import type { HttpResponse } from "../../../core/http/Http.ts"
import { Pages } from "../../../core/ports/Pages.ts"
import type { UserPlace } from "../../../core/ports/ResourceOwner.ts"
import { PlaceId } from "../../../core/rules/Id.ts"
import { deviceClient, enterCode, waitingDevice } from "../../given/devices.ts"
import {
  authorizeTarget,
  form,
  formHeaders,
  header,
  hiddenFields,
  jsonOf,
  prove,
  redeem,
  registerClient,
  returned,
  type TestClient,
  text
} from "../../given/flow.ts"
import { inWorld, type World } from "../../given/World.ts"

const elsewhere = { pages: Pages.layer(undefined, { consentAt: "https://app.example.com/allow?from=auth" }) }
const beside = { pages: Pages.layer(undefined, { consentAt: "/allow" }) }

/** What the host's page does: it is opened by the redirect, and asks with the query that it was opened with. */
const openPage = Effect.fnUntraced(function* (
  world: World,
  client: TestClient,
  { as = "alice", fields = {}, origin }: { as?: string; fields?: Record<string, string>; origin?: string } = {}
) {
  const sent = yield* world.send("GET", authorizeTarget(client, fields), { as })
  expect(sent.status).toBe(303)
  const page = new URL(text(header(sent, "location")), world.workspace.issuer)
  const request = page.searchParams.get("request") ?? ""
  return yield* world.send("GET", `/consent/model?${form({ request })}`, {
    as,
    ...(origin === undefined ? {} : { headers: { origin } })
  })
})

const fieldsOf = (model: HttpResponse): Readonly<Record<string, string>> => ({
  // The model says so; a wrong shape fails where it is posted.
  ...(jsonOf(model).form as Readonly<Record<string, string>>),
  ...(jsonOf(model).acknowledge === true ? { acknowledged: "yes" } : {})
})

const post = (world: World, fields: Readonly<Record<string, string>>, as?: string) =>
  world.send("POST", "/consent/answer", {
    headers: formHeaders,
    body: form(fields),
    ...(as === undefined ? {} : { as })
  })

describe("a consent page of the host's own, elsewhere", () => {
  test("is opened with the request, byte for byte, and told all that ours shows", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, { client_name: "Led\u202eger" })
      const target = authorizeTarget(client, { state: "a b&c=d/é+%", scope: "profile" })
      const sent = yield* world.send("GET", target, { as: "alice" })
      const page = new URL(text(header(sent, "location")))
      expect([page.origin + page.pathname, page.searchParams.get("from")]).toEqual([
        "https://app.example.com/allow",
        "auth"
      ])
      expect(page.searchParams.get("request")).toBe(target.slice(target.indexOf("?") + 1))
      const told = yield* openPage(world, client, { fields: { scope: "profile" } })
      expect(jsonOf(told)).toEqual({
        state: "consent",
        client: {
          id: client.id,
          name: "Led ger",
          returnsTo: { kind: "site", host: "app.example.org" },
          registeredItself: true,
          registeredAt: expect.any(Number)
        },
        scopes: [{ scope: "profile", words: expect.any(String), byDefault: false }],
        resources: [],
        account: "alice@example.com",
        acknowledge: true,
        switchAccount: expect.stringMatching(/^\/login\?return_to=%2Foauth%2Fauthorize%3F/),
        form: { csrf: expect.any(String), ticket: expect.any(String) }
      })
      expect(header(told, "cache-control")).toBe("no-store")
      expect(header(told, "cross-origin-resource-policy")).toBe("same-origin")
    }, elsewhere))

  test("posts the answer, and is told where the browser goes; a second time the same, a code never twice", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const fields = { ...fieldsOf(yield* openPage(world, client)), decision: "approve" }
      const done = jsonOf(yield* post(world, fields, "alice"))
      expect(done.state).toBe("done")
      const code = new URL(text(done.continueTo)).searchParams.get("code") ?? "no code"
      const again = jsonOf(yield* post(world, fields, "alice"))
      expect(again).toEqual({ state: "waiting", continueTo: text(done.continueTo) })
      const redeemed = yield* world.send("POST", "/oauth/token", {
        headers: formHeaders,
        body: form({
          grant_type: "authorization_code",
          code,
          redirect_uri: client.redirectUri,
          client_id: client.id,
          client_secret: client.secret,
          code_verifier: "a-code-verifier-of-at-least-43-characters-~._"
        })
      })
      expect(redeemed.status).toBe(200)
      expect(jsonOf(yield* post(world, fields, "alice"))).toEqual({ state: "used" })
    }, beside))

  test("is told what its answer lacks, and asks for the page again where that was drawn for other places", () => {
    const places: Array<UserPlace> = []
    const named = (id: string): UserPlace => ({ id: PlaceId.make(id), label: id })
    return inWorld(
      function* (world) {
        const client = yield* registerClient(world)
        const fields = fieldsOf(yield* openPage(world, client))
        const told = (over: Readonly<Record<string, string>>) =>
          Effect.map(post(world, { ...fields, decision: "approve", ...over }, "alice"), jsonOf)
        expect(yield* told({ acknowledged: "no" })).toEqual({ state: "unacknowledged" })
        places.push(named("a"), named("b"))
        // Drawn for none, and there is a choice by now.
        expect(yield* told({})).toEqual({ state: "place" })
        const choosing = fieldsOf(yield* openPage(world, client))
        expect(yield* told({ ...choosing })).toEqual({ state: "place" })
        expect(yield* told({ ...choosing, decision: "search" })).toEqual({ state: "place" })
        places.length = 0
        expect(yield* told({ ...choosing, place: "a" })).toEqual({ state: "place" })
        expect(world.audit.filter(({ event }) => event._tag === "ConsentGiven")).toEqual([])
        expect((yield* told({})).state).toBe("done")
      },
      { ...beside, places: () => places }
    )
  })

  test("is read by the origin that it is at, and by no other", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const headersFor = Effect.fnUntraced(function* (origin: string | undefined) {
        const { headers } = yield* openPage(world, client, origin === undefined ? {} : { origin })
        return headers.filter(([name]) => /^(access-control-|vary|cross-origin-resource)/.test(name))
      })
      const own = [
        ["vary", "Origin"],
        ["cross-origin-resource-policy", "same-origin"]
      ]
      expect<unknown>(yield* headersFor("https://app.example.com")).toEqual([
        ...own,
        ["access-control-allow-origin", "https://app.example.com"],
        ["access-control-allow-credentials", "true"],
        ["access-control-expose-headers", "Retry-After, X-Request-Id"]
      ])
      for (const origin of [undefined, "null", world.workspace.issuer, "https://app.example.com.evil.example"]) {
        expect<unknown>(yield* headersFor(origin)).toEqual(own)
      }
    }, elsewhere))

  test("posts no, and the client is told", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const fields = { ...fieldsOf(yield* openPage(world, client)), decision: "deny" }
      const done = jsonOf(yield* post(world, fields, "alice"))
      expect(new URL(text(done.continueTo)).searchParams.get("error")).toBe("access_denied")
    }, beside))

  test("learns nothing for who is not signed in, a broken request or an unknown client", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const ask = (request: string, as?: string) =>
        world.send("GET", `/consent/model?${form({ request })}`, as === undefined ? {} : { as })
      const query = authorizeTarget(client).split("?")[1] ?? ""
      const nobody = jsonOf(yield* ask(query))
      expect(nobody.state).toBe("sign_in")
      expect(decodeURIComponent(text(nobody.continueTo))).toBe(`/login?return_to=/oauth/authorize?${query}`)
      const broken = jsonOf(yield* ask(`${query}&scope=unknown`, "alice"))
      expect(broken).toEqual({ state: "refused", continueTo: `/oauth/authorize?${query}&scope=unknown` })
      yield* prove(world, client)
      const known = jsonOf(yield* ask(`${query}&scope=unknown`, "alice"))
      expect(known.state).toBe("refused")
      expect(new URL(text(known.continueTo)).searchParams.get("error")).toBe("invalid_scope")
      for (const request of ["", "client_id=nobody", `${query}&client_id=x`]) {
        const refused = yield* ask(request, "alice")
        expect([refused.status, jsonOf(refused).error]).toEqual([400, "invalid_request"])
        expect(world.audit.at(-1)?.event).toMatchObject({ _tag: "Refused", refusal: "UntrustedRequest" })
      }
    }, beside))

  test("sends a person back to us where a device asks for what they cannot allow: it has no address of its own", () => {
    const places: Array<UserPlace> = []
    return inWorld(
      function* (world) {
        const device = yield* deviceClient(world)
        yield* prove(world, device)
        const { userCode } = yield* waitingDevice(world, device, { scope: "profile" })
        const sent = yield* enterCode(world, userCode)
        const request = new URL(text(header(sent, "location")), world.workspace.issuer).searchParams.get("request")
        const ask = world.send("GET", `/consent/model?${form({ request: text(request) })}`, { as: "alice" })
        expect(jsonOf(yield* ask).state).toBe("consent")
        places.push({ id: PlaceId.make("acme"), label: "Acme", scopes: [] })
        const told = jsonOf(yield* ask)
        expect(told).toEqual({ state: "refused", continueTo: `/oauth/authorize?${request}` })
        const page = yield* world.send("GET", text(told.continueTo), { as: "alice" })
        expect([page.status, header(page, "location")]).toEqual([400, undefined])
      },
      { ...beside, places: () => places }
    )
  })

  test("answers for its own session, person and request alone", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const own = fieldsOf(yield* openPage(world, client))
      const bobs = fieldsOf(yield* openPage(world, client, { as: "bob" }))
      const forged: ReadonlyArray<readonly [as: string, fields: Readonly<Record<string, string>>]> = [
        ["bob", own],
        ["bob", { ...own, csrf: bobs.csrf ?? "" }],
        ["alice", { ...own, csrf: "" }],
        ["bob", { ...own, ticket: bobs.ticket ?? "" }],
        ["alice", { ...own, ticket: bobs.ticket ?? "" }],
        ["alice", { ...own, ticket: `${own.ticket}AAAA` }]
      ]
      for (const [as, fields] of forged) {
        const answer = yield* post(world, { ...fields, decision: "approve" }, as)
        expect([answer.status, jsonOf(answer).error]).toEqual([403, "access_denied"])
        expect(world.audit.at(-1)?.event).toMatchObject({ _tag: "Refused", refusal: "ForgedForm" })
      }
      expect((yield* post(world, { ...own, decision: "maybe" }, "alice")).status).toBe(403)
      const signedOut = jsonOf(yield* post(world, { ...own, decision: "approve" }))
      expect(signedOut.state).toBe("sign_in")
      expect(world.audit.filter(({ event }) => event._tag === "ConsentGiven")).toEqual([])
    }, beside))

  test("of another origin may read, and no other origin may", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const allowed = Effect.fnUntraced(function* (origin: string) {
        const told = yield* openPage(world, client, { origin })
        expect(header(told, "vary")).toBe("Origin")
        return [header(told, "access-control-allow-origin"), header(told, "access-control-allow-credentials")]
      })
      expect(yield* allowed("https://app.example.com")).toEqual(["https://app.example.com", "true"])
      const strangers = [
        "https://evil.example",
        "null",
        "https://app.example.com.evil.example",
        "http://app.example.com"
      ]
      for (const origin of [...strangers, "https://auth.example.com"]) {
        expect(yield* allowed(origin)).toEqual([undefined, undefined])
      }
      const refused = yield* world.send("POST", "/consent/answer", {
        as: "alice",
        headers: { ...formHeaders, origin: "https://app.example.com" },
        body: form({ decision: "approve" })
      })
      expect([refused.status, header(refused, "access-control-allow-origin")]).toEqual([403, "https://app.example.com"])
    }, elsewhere))

  test("beside the issuer is read by no other origin; and without one there is nothing to ask", () =>
    Promise.all([
      inWorld(function* (world) {
        for (const origin of ["https://evil.example", new URL(world.workspace.issuer).origin]) {
          const told = yield* openPage(world, yield* registerClient(world), { origin })
          expect(told.headers.filter(([name]) => name.startsWith("access-control"))).toEqual([])
        }
      }, beside),
      inWorld(function* (world) {
        expect((yield* world.send("GET", "/consent/model", { as: "alice" })).status).toBe(404)
        expect((yield* world.send("POST", "/consent/answer", { as: "alice" })).status).toBe(404)
      })
    ]))
})

describe("a consent page that the host draws", () => {
  const drawn = Pages.layer(undefined, {
    consent: (workspace, { account, csrf, ticket }) => ({
      status: 200,
      headers: [
        ["Content-Type", "text/html; charset=utf-8"],
        ["X-Frame-Options", "ALLOWALL"],
        ["Cache-Control", "public, max-age=60"],
        ["Content-Security-Policy", "default-src 'self'"]
      ],
      body: `<h1>${workspace.name}: ${account}</h1><form method="post" action="/consent">${Object.entries({
        csrf,
        ticket
      })
        .map(([name, value]) => `<input type="hidden" name="${name}" value="${value}">`)
        .join("")}</form>`
    })
  })

  test("works as ours does, and is not framed or stored, whatever it says", () =>
    inWorld(
      function* (world) {
        const client = yield* registerClient(world)
        const page = yield* world.send("GET", authorizeTarget(client), { as: "alice" })
        expect(page.body).toStartWith("<h1>Example: alice@example.com</h1>")
        const all = (name: string) => page.headers.filter(([written]) => written === name).map(([, value]) => value)
        expect(all("content-type")).toEqual(["text/html; charset=utf-8"])
        expect(all("x-frame-options")).toEqual(["DENY"])
        expect(all("cache-control")).toEqual(["no-store"])
        expect(all("referrer-policy")).toEqual(["no-referrer"])
        expect(all("x-content-type-options")).toEqual(["nosniff"])
        expect(all("content-security-policy")).toEqual([
          "default-src 'self'",
          "frame-ancestors 'none'; base-uri 'none'"
        ])
        const answer = yield* world.send("POST", "/consent", {
          as: "alice",
          headers: formHeaders,
          body: form({ ...hiddenFields(page.body), acknowledged: "yes", decision: "approve" })
        })
        expect(returned(answer).get("code")).not.toBeNull()
      },
      { pages: drawn }
    ))

  // A client chooses its name, and Node throws where a host writes such a header: the process would end.
  for (const [what, status, header] of [
    ["a header's value with a line's end in it", 200, ["x-client", "App\r\nset-cookie: planted=1"]],
    ["a header's value of characters that no header has", 200, ["x-client", "\u4f60"]],
    ["a header's name that is none", 200, ["x client", "App"]],
    ["a status that is none", 20, ["x-client", "App"]]
  ] as const) {
    test(`is an answer that can be sent, or our own fault: ${what}`, () =>
      inWorld(
        function* (world) {
          const page = yield* world.send("GET", authorizeTarget(yield* registerClient(world)), { as: "alice" })
          expect([page.status, JSON.parse(page.body).error]).toEqual([500, "server_error"])
        },
        { pages: Pages.layer(undefined, { consent: () => ({ status, headers: [header], body: "" }) }) }
      ))
  }
})

describe("a consent page elsewhere, of a person with several places", () => {
  const organisations = Array.from({ length: 30 }, (_, at) => ({ id: PlaceId.make(`org_${at}`), label: `Org ${at}` }))

  test("is told all of them, and has to be drawn again where its answer names none of them", () =>
    inWorld(
      function* (world) {
        const client = yield* registerClient(world)
        const model = yield* openPage(world, client, { fields: { place_hint: "org_7" } })
        const places = jsonOf(model).places as ReadonlyArray<{ readonly id: string; readonly chosen: boolean }>
        expect([places.length, places.filter(({ chosen }) => chosen).map(({ id }) => id)]).toEqual([30, ["org_7"]])
        for (const place of [undefined, "", "org_30", "castle"]) {
          const fields = { ...fieldsOf(model), decision: "approve", ...(place === undefined ? {} : { place }) }
          expect(jsonOf(yield* post(world, fields, "alice"))).toEqual({ state: "place" })
        }
        const done = jsonOf(yield* post(world, { ...fieldsOf(model), decision: "approve", place: "org_29" }, "alice"))
        expect([done.state, new URL(text(done.continueTo)).searchParams.has("code")]).toEqual(["done", true])
      },
      { ...elsewhere, places: () => organisations }
    ))

  test("is not asked where an earlier yes counts again, and asking begins no grant", () =>
    inWorld(
      function* (world) {
        const client = yield* registerClient(world)
        const model = yield* openPage(world, client)
        const done = jsonOf(yield* post(world, { ...fieldsOf(model), decision: "approve" }, "alice"))
        yield* redeem(world, client, new URL(text(done.continueTo)).searchParams.get("code") ?? "")
        const request = authorizeTarget(client).slice("/oauth/authorize?".length)
        const begun = () => world.audit.filter(({ event }) => event._tag === "ConsentGiven").length
        const told = jsonOf(yield* world.send("GET", `/consent/model?${form({ request })}`, { as: "alice" }))
        expect([told.state, begun()]).toEqual(["remembered", 1])
        expect(returned(yield* world.send("GET", text(told.continueTo), { as: "alice" })).has("code")).toBe(true)
        expect(begun()).toBe(2)
      },
      { ...elsewhere, policy: { consent: "remember" } }
    ))
})
