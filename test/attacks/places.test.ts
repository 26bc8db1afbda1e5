import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { decodeJwt } from "jose"
import { userGrants } from "../../core/grant/Grant.ts"
import type { HttpResponse } from "../../core/http/Http.ts"
import type { UserPlace } from "../../core/ports/ResourceOwner.ts"
import { ClientId, PlaceId, UserId } from "../../core/rules/Id.ts"
import { ScopeName } from "../../core/rules/Scope.ts"
import {
  authorizeTarget,
  form,
  formHeaders,
  header,
  hiddenFields,
  introspectBy,
  jsonOf,
  provenClient,
  redeem,
  refresh,
  returned,
  revokeBy,
  type TestClient,
  text,
  tokensOf,
  type Values
} from "../given/flow.ts"
import { signsIn } from "../given/openId.ts"
import { approveAt, askedBy, uriOf, visitTarget } from "../given/pushing.ts"
import { inWorld, realSignatures, type Steps, type World } from "../given/World.ts"

const place = (id: string, more: Partial<UserPlace> = {}): UserPlace => ({
  id: PlaceId.make(id),
  label: `The ${id}`,
  ...more
})

const many = Array.from({ length: 40 }, (_, index) => place(`org_${index}`, { detail: `${index}.example` }))

/** Whose places are what, for as long as a test says so. */
const theirs = (): Record<string, ReadonlyArray<UserPlace>> => ({
  alice: [place("bakery"), place("museum")],
  bob: [place("bank"), place("museum")],
  one: [place("bakery")],
  many
})

interface Case {
  readonly world: World
  readonly client: TestClient
  readonly places: Record<string, ReadonlyArray<UserPlace>>
}

const attacked = (body: (given: Case) => Steps<void>) => {
  const places = theirs()
  return inWorld(
    function* (world) {
      yield* body({ world, client: yield* provenClient(world, { scope: "api profile" }), places })
    },
    { places: (user) => places[user] ?? [], signatures: realSignatures }
  )
}

const ask = ({ client, world }: Case, as = "alice", fields: Values = {}) =>
  world.send("GET", authorizeTarget(client, fields), { as })

const post = ({ world }: Case, page: HttpResponse, fields: Values, as = "alice") =>
  world.send("POST", "/consent", {
    as,
    headers: formHeaders,
    body: form({ ...hiddenFields(page.body), decision: "approve", ...fields })
  })

/** The grants of a person, and where each is. */
const placesOf = ({ world }: Case, user = "alice") =>
  Effect.map(
    world.services.grantRecords.list(world.workspace.id, userGrants(UserId.make(user)), {
      after: undefined,
      limit: 100
    }),
    ({ values }) => values.map((grant) => ("place" in grant ? String(grant.place) : "nowhere")).toSorted()
  )

const isPage = (response: HttpResponse) => /<title>([^<]*)/.exec(response.body)?.[1] ?? header(response, "location")

describe("the place of an answer", () => {
  const rows: ReadonlyArray<readonly [what: string, place: Values["place"]]> = [
    ["none", undefined],
    ["an empty one", ""],
    ["another person's", "bank"],
    ["nobody's", "castle"],
    ["in another case", "BAKERY"],
    ["with a space behind it", "bakery "],
    ["a part of one", "baker"],
    ["a label", "The bakery"],
    ["both at once, in one text", "bakery museum"],
    ["a prototype's member", "constructor"],
    ["markup", '"><script>'],
    ["10,000 characters", "b".repeat(10_000)]
  ]
  for (const [what, chosen] of rows) {
    test(`${what}: the page stands, and no grant begins`, () =>
      attacked(function* (given) {
        const answer = yield* post(given, yield* ask(given), { place: chosen })
        expect([answer.status, header(answer, "location")]).toEqual([400, undefined])
        expect(answer.body).not.toContain("<script>")
        expect(answer.body).toContain('name="place"')
        expect(yield* placesOf(given)).toEqual([])
        // With what it was sent, and with a place that the person has, it is still good.
        const approved = yield* post(given, answer, { place: "museum" })
        expect(returned(approved).has("code")).toBe(true)
        expect(yield* placesOf(given)).toEqual(["museum"])
      }))
  }

  test("sent twice is a repeated parameter", () =>
    attacked(function* (given) {
      const answer = yield* post(given, yield* ask(given), { place: ["bakery", "museum"] })
      expect([answer.status, yield* placesOf(given)]).toEqual([400, []])
    }))

  test("counts by the person's places at the answer, not at the page", () =>
    attacked(function* (given) {
      const page = yield* ask(given)
      given.places.alice = [place("museum"), place("school")]
      expect((yield* post(given, page, { place: "bakery" })).status).toBe(400)
      given.places.alice = [place("museum")]
      // One is left: the page begins anew, since it showed another choice.
      expect(header(yield* post(given, page, { place: "bakery" }), "location")).toStartWith("/oauth/authorize?")
      expect(yield* placesOf(given)).toEqual([])
      expect(returned(yield* post(given, page, { place: "museum" })).has("code")).toBe(true)
      given.places.alice = []
      const late = yield* post(given, yield* ask({ ...given }), {})
      expect(returned(late).has("code")).toBe(true)
      expect(yield* placesOf(given)).toEqual(["museum", "nowhere"])
    }))

  test("is the one that there is, also of a request that was pushed", () =>
    attacked(function* (given) {
      const { client, world } = given
      const pushed = yield* world.send("POST", "/oauth/par", {
        headers: formHeaders,
        body: form({ ...askedBy(client), client_secret: client.secret })
      })
      const approved = yield* approveAt(world, visitTarget(client, uriOf(pushed)), "one")
      expect(returned(approved).has("code")).toBe(true)
      expect(yield* placesOf(given, "one")).toEqual(["bakery"])
    }))

  const changes: ReadonlyArray<readonly [what: string, before: ReadonlyArray<string>, after: ReadonlyArray<string>]> = [
    ["the one place is another", ["bakery"], ["museum"]],
    ["the one place is gone", ["bakery"], []],
    ["there is a place where there was none", [], ["bakery"]],
    ["there was a choice, and now there is nothing", ["bakery", "museum"], []],
    ["there was a choice, and now there is one, unchosen", ["bakery", "museum"], ["bakery"]]
  ]
  for (const [what, before, after] of changes) {
    test(`is drawn anew where ${what} by then`, () =>
      attacked(function* (given) {
        given.places.alice = before.map((id) => place(id))
        const page = yield* ask(given)
        given.places.alice = after.map((id) => place(id))
        const answer = yield* post(given, page, {})
        expect([answer.status, isPage(answer)?.startsWith("/oauth/authorize?")]).toEqual([303, true])
        expect(yield* placesOf(given)).toEqual([])
      }))
  }

  test("has to be chosen where the one place became two", () =>
    attacked(function* (given) {
      const page = yield* ask(given, "one")
      given.places.one = [place("bakery"), place("bank")]
      expect((yield* post(given, page, {}, "one")).status).toBe(400)
      expect(yield* placesOf(given, "one")).toEqual([])
    }))

  test("of one page cannot be that of another person, whatever the form says", () =>
    attacked(function* (given) {
      const page = yield* ask(given)
      expect((yield* post(given, page, { place: "bank" }, "bob")).status).toBe(403)
      expect((yield* post(given, page, { place: "museum" }, "bob")).status).toBe(403)
      expect([yield* placesOf(given), yield* placesOf(given, "bob")]).toEqual([[], []])
    }))

  test("takes the page's own form: no other site's, and none without its token", () =>
    attacked(function* (given) {
      const page = yield* ask(given)
      for (const decision of ["approve", "search"]) {
        expect((yield* post(given, page, { csrf: undefined, decision, place: "bakery" })).status).toBe(403)
        expect((yield* post(given, page, { csrf: "x", decision, place: "bakery" })).status).toBe(403)
        expect((yield* post(given, page, { ticket: "x", decision, place: "bakery" })).status).toBe(403)
      }
      expect(yield* placesOf(given)).toEqual([])
    }))

  test("is that of its own tab: two pages, two places, two grants", () =>
    attacked(function* (given) {
      const [a, b] = [yield* ask(given), yield* ask(given)]
      const [codeA, codeB] = [
        returned(yield* post(given, a, { place: "bakery" })).get("code") ?? "",
        returned(yield* post(given, b, { place: "museum" })).get("code") ?? ""
      ]
      expect(yield* placesOf(given)).toEqual(["bakery", "museum"])
      for (const [code, expected] of [
        [codeB, "museum"],
        [codeA, "bakery"]
      ] as const) {
        const { access } = tokensOf(yield* redeem(given.world, given.client, code))
        expect(yield* told(given, access)).toBe(expected)
      }
    }))

  test("is the first of a page that is answered twice", () =>
    attacked(function* (given) {
      const page = yield* ask(given)
      const [first, second] = [
        yield* post(given, page, { place: "bakery" }),
        yield* post(given, page, { place: "museum" })
      ]
      expect([first.status, second.status]).toEqual([303, 200])
      expect(yield* placesOf(given)).toEqual(["bakery"])
    }))

  test("is not asked of a person who has one, and is theirs", () =>
    attacked(function* (given) {
      const page = yield* ask(given, "one")
      expect(page.body).not.toContain('name="place"')
      expect((yield* post(given, page, { place: "museum" }, "one")).status).toBe(303)
      expect(yield* placesOf(given, "one")).toEqual([])
      expect(returned(yield* post(given, page, {}, "one")).has("code")).toBe(true)
      expect(yield* placesOf(given, "one")).toEqual(["bakery"])
    }))

  test("has no say where the person denies", () =>
    attacked(function* (given) {
      const answer = yield* post(given, yield* ask(given), { decision: "deny", place: "bank" })
      expect(returned(answer).get("error")).toBe("access_denied")
    }))
})

/** What introspection says of a token's place. */
const told = ({ client, world }: Case, token: string) =>
  Effect.map(introspectBy(world, client, token), (response) => jsonOf(response).place)

describe("the place of a grant", () => {
  const begun = Effect.fnUntraced(function* (given: Case, fields: Values = {}) {
    const answer = yield* post(given, yield* ask(given, "alice", fields), { place: "bakery" })
    return returned(answer).get("code") ?? ""
  })

  test("is its for life: no code, refresh or parameter changes it", () =>
    attacked(function* (given) {
      const { client, world } = given
      const first = tokensOf(yield* redeem(world, client, yield* begun(given), { place: "museum" }))
      given.places.alice = [place("museum")]
      const next = tokensOf(yield* refresh(world, client, first.refresh, { place: "museum", place_hint: "museum" }))
      for (const token of [first.access, first.refresh, next.access, next.refresh]) {
        expect(yield* told(given, token)).toBe("bakery")
      }
      const guarded = yield* world.guard("/orders", { scopes: [] }, { authorization: `Bearer ${next.access}` })
      expect(guarded._tag === "Admitted" && guarded.principal).toMatchObject({ user: "alice", place: "bakery" })
      expect(yield* placesOf(given)).toEqual(["bakery"])
      expect(world.audit.find(({ event }) => event._tag === "ConsentGiven")?.event).toMatchObject({ place: "bakery" })
    }))

  test("stands in a JWT, and is kept by a grant that has ended", () =>
    attacked(function* (given) {
      const { client, world } = given
      yield* world.services.clients.change(world.workspace.id, ClientId.make(client.id), (stored) => ({
        ...stored,
        accessTokenFormat: "jwt"
      }))
      const { access, refresh: token } = tokensOf(yield* redeem(world, client, yield* begun(given)))
      const claims: unknown = JSON.parse(atob(String(access.split(".")[1]).replaceAll("-", "+").replaceAll("_", "/")))
      expect(claims).toMatchObject({ sub: "alice", place: "bakery" })
      expect(yield* told(given, access)).toBe("bakery")
      yield* revokeBy(world, client, token)
      expect(yield* placesOf(given)).toEqual(["bakery"])
      expect((yield* refresh(world, client, token)).status).toBe(400)
    }))

  test("is not there where the host has no places", () =>
    inWorld(function* (world) {
      const given = { world, client: yield* provenClient(world), places: {} }
      const answer = yield* post(given, yield* ask(given), { place: "bakery" })
      expect([answer.status, yield* placesOf(given)]).toEqual([303, []])
      const code = returned(yield* post(given, yield* ask(given), {})).get("code") ?? ""
      const { access } = tokensOf(yield* redeem(world, given.client, code))
      expect(yield* told(given, access)).toBeUndefined()
    }))

  test("narrows its scopes to what the place takes, on the page of one and at the answer of a choice", () =>
    attacked(function* (given) {
      const { client, world } = given
      const profile = [ScopeName.make("profile")]
      const asked = { scope: "api profile" }
      given.places.alice = [place("bakery", { scopes: profile }), place("museum")]
      const narrow = returned(yield* post(given, yield* ask(given, "alice", asked), { place: "bakery" })).get("code")
      expect(tokensOf(yield* redeem(world, client, narrow ?? "")).scope).toBe("profile")
      const wide = returned(yield* post(given, yield* ask(given, "alice", asked), { place: "museum" })).get("code")
      expect(tokensOf(yield* redeem(world, client, wide ?? "")).scope).toBe("api profile")
      given.places.alice = [place("bakery", { scopes: profile })]
      const page = yield* ask(given, "alice", asked)
      expect(page.body).not.toContain('<code class="scope">api</code>')
      // The person's reach shrank while the page was read.
      given.places.alice = [place("bakery", { scopes: [ScopeName.make("api")] })]
      expect((yield* post(given, page, {})).status).toBe(303)
      expect(yield* placesOf(given)).toEqual(["bakery", "museum"])
    }))

  test("tells of the person what the place takes: no claim of another scope stands in the ID token (OpenID Connect Core §5.5)", () => {
    const scopes = (...names: ReadonlyArray<string>) => names.map((name) => ScopeName.make(name))
    const places = [place("bakery", { scopes: scopes("openid", "profile") }), place("museum")]
    return inWorld(
      function* (world) {
        const given = { world, client: yield* provenClient(world), places: {} }
        const claims = JSON.stringify({ id_token: { name: null, email: null } })
        for (const [at, asked, told] of [
          ["bakery", "openid", { name: "Mx alice" }],
          ["bakery", "openid email", { name: "Mx alice" }],
          ["museum", "openid", { name: "Mx alice", email: "alice@example.com" }]
        ] as const) {
          const page = yield* ask(given, "alice", { scope: asked, claims })
          const code = returned(yield* post(given, page, { place: at })).get("code") ?? ""
          const first = jsonOf(yield* redeem(world, given.client, code))
          const next = jsonOf(yield* refresh(world, given.client, text(first.refresh_token)))
          for (const { id_token } of [first, next]) {
            const { email, name } = decodeJwt(text(id_token))
            expect({ at, name, email }).toEqual({ at, email: undefined, ...told })
          }
        }
      },
      { ...signsIn, places: () => places, profile: { email: "alice@example.com" } }
    )
  })

  test("is none where no place takes any scope: the client is told", () =>
    attacked(function* (given) {
      given.places.alice = [place("bakery", { scopes: [] }), place("museum", { scopes: [ScopeName.make("profile")] })]
      expect(returned(yield* ask(given, "alice", { scope: "api" })).get("error")).toBe("invalid_scope")
      // The one that takes it is not asked about.
      expect((yield* ask(given, "alice", { scope: "profile" })).body).not.toContain('name="place"')
    }))

  test("makes a connection of its own: what is allowed at one place is new at another", () =>
    attacked(function* (given) {
      yield* redeem(given.world, given.client, yield* begun(given))
      given.places.alice = [place("museum")]
      expect((yield* ask(given)).body).not.toContain('id="allowed"')
      given.places.alice = [place("bakery")]
      expect((yield* ask(given)).body).toContain('id="allowed"')
      given.places.alice = [place("bakery"), place("museum")]
      expect((yield* ask(given)).body).not.toContain('id="allowed"')
    }))
})

describe("a choice of places", () => {
  const shown = (page: HttpResponse) =>
    [...page.body.matchAll(/name="place" type="radio" value="([^"]*)"/g)].map(([, id]) => id)
  const chosen = (page: HttpResponse) =>
    /name="place" type="radio" value="([^"]*)" required checked/.exec(page.body)?.[1]

  test("is told as an error where no page may be shown", () =>
    attacked(function* (given) {
      expect(returned(yield* ask(given, "alice", { prompt: "none" })).get("error")).toBe("interaction_required")
      expect(returned(yield* ask(given, "one", { prompt: "none" })).get("error")).toBe("consent_required")
      const hinted = yield* ask(given, "alice", { prompt: "none", place_hint: "bakery" })
      expect(returned(hinted).get("error")).toBe("interaction_required")
    }))

  const hints: ReadonlyArray<readonly [hint: string, chosen: string | undefined]> = [
    ["museum", "museum"],
    ["bank", undefined],
    ["MUSEUM", undefined],
    ["constructor", undefined]
  ]
  for (const [hint, expected] of hints) {
    test(`that a client hints at (${hint}) is made on the page`, () =>
      attacked(function* (given) {
        const page = yield* ask(given, "alice", { place_hint: hint })
        expect([page.status, chosen(page)]).toEqual([200, expected])
        expect(shown(page)).not.toContain("bank")
      }))
  }

  test("has no parameter but the hint, which is one text without spaces", () =>
    attacked(function* (given) {
      const page = yield* ask(given, "alice", { place: "museum" })
      expect([page.status, chosen(page)]).toEqual([200, undefined])
      for (const place_hint of ["a b", "é", "a".repeat(129)]) {
        expect(returned(yield* ask(given, "alice", { place_hint })).get("error")).toBe("invalid_request")
      }
    }))

  test("begins with the last one that was made, chosen", () =>
    attacked(function* (given) {
      yield* post(given, yield* ask(given), { place: "museum" })
      const page = yield* ask(given)
      expect([shown(page), chosen(page)]).toEqual([["museum", "bakery"], "museum"])
      expect(chosen(yield* ask(given, "alice", { place_hint: "bakery" }))).toBe("bakery")
      for (const last of ["bakery", "museum", "bakery"]) {
        yield* TestClock.adjust("1 second")
        yield* post(given, yield* ask(given), { place: last })
        const again = yield* ask(given)
        expect([shown(again)[0], chosen(again)]).toEqual([last, last])
      }
      // Of many, also one that was found by a search.
      yield* post(given, yield* ask(given, "many"), { place: "org_39" }, "many")
      expect(shown(yield* ask(given, "many"))).toEqual(["org_39", ...many.slice(0, 9).map(({ id }) => String(id))])
    }))

  test("of many is searched without approving anything, and of one's own alone", () =>
    attacked(function* (given) {
      const page = yield* ask(given, "many")
      expect(shown(page)).toHaveLength(10)
      // A field to search in is beyond ten, and not before.
      given.places.ten = many.slice(0, 10)
      const ten = yield* ask(given, "ten")
      expect(shown(ten)).toHaveLength(10)
      expect([page, ten].map(({ body }) => body.includes('name="place_search"'))).toEqual([true, false])
      const search = (place_search: string, more: Values = {}) =>
        post(given, page, { decision: "search", place_search, ...more }, "many")
      expect(shown(yield* search("ORG_3"))).toEqual(["org_3", ...Array.from({ length: 10 }, (_, at) => `org_3${at}`)])
      expect(shown(yield* search("39.example"))).toEqual(["org_39"])
      expect(shown(yield* search("bakery"))).toEqual([])
      expect(shown(yield* search("<script>"))).toEqual([])
      expect(shown(yield* search("o".repeat(100_000)))).toEqual([])
      expect(shown(yield* search("39.example", { place: "org_4" }))).toEqual(["org_39", "org_4"])
      expect(yield* placesOf(given, "many")).toEqual([])
      const found = yield* search("39.example")
      expect(found.status).toBe(200)
      // One that the search did not show is theirs all the same.
      expect(returned(yield* post(given, found, { place: "org_7" }, "many")).has("code")).toBe(true)
      expect((yield* post(given, page, { decision: "search", place_search: "a" }, "bob")).status).toBe(403)
    }))
})
