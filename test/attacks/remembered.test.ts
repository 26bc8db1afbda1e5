import { describe, expect, test } from "bun:test"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import type { Client } from "../../core/client/Client.ts"
import { endAll } from "../../core/engine/administerGrants.ts"
import { userGrants } from "../../core/grant/Grant.ts"
import type { HttpResponse } from "../../core/http/Http.ts"
import type { UserPlace } from "../../core/ports/ResourceOwner.ts"
import { ClientId, PlaceId, UserId } from "../../core/rules/Id.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { RedirectUri } from "../../core/rules/RedirectUri.ts"
import { ResourceRegistry } from "../../core/rules/Resource.ts"
import { byOwner } from "../given/auditContext.ts"
import {
  authorizeTarget,
  codeFor,
  decide,
  header,
  provenClient,
  redeem,
  redirectUri,
  refresh,
  registerClient,
  returned,
  revokeBy,
  signInToApp,
  type TestClient,
  type TestTokens,
  tokensOf,
  type Values
} from "../given/flow.ts"
import { inWorld, t0, theWorkspace, type World } from "../given/World.ts"
import { watchedLimiter } from "../given/watchedLimiter.ts"

interface Case {
  readonly world: World
  readonly client: TestClient
  readonly tokens: TestTokens
  readonly places: Record<string, ReadonlyArray<UserPlace>>
}

const mcp = "https://mcp.example.com"

/** A person who said yes to a client that they use. */
const afterYes = <E>(
  body: (given: Case) => Effect.Effect<void, E>,
  {
    asked = {},
    consent = "remember",
    metadata = {}
  }: { asked?: Values; consent?: "ask" | "remember"; metadata?: object } = {}
) => {
  const places: Record<string, ReadonlyArray<UserPlace>> = {}
  const resources = Schema.decodeUnknownSync(ResourceRegistry)([{ at: mcp, name: "Tools" }])
  return inWorld(
    function* (world: World) {
      const client = yield* provenClient(world, { scope: "api profile", ...metadata })
      const tokens = yield* signInToApp(world, client, asked)
      yield* body({ world, client, tokens, places })
    },
    { policy: { consent }, places: (user) => places[user] ?? [], resolve: () => ({ ...theWorkspace, resources }) }
  )
}

const ask = ({ client, world }: Pick<Case, "client" | "world">, fields: Values = {}, as = "alice") =>
  world.send("GET", authorizeTarget(client, fields), { as })

const outcome = (response: HttpResponse): string => {
  const location = header(response, "location")
  if (location === undefined) return `page ${response.status}`
  const url = new URL(location, theWorkspace.issuer)
  if (url.pathname === "/login") return "sign-in"
  return url.searchParams.get("error") ?? (url.searchParams.has("code") ? "code" : "nothing")
}

const change = ({ client, world }: Case, to: (stored: Client) => Client) =>
  world.services.clients.change(world.workspace.id, ClientId.make(client.id), to)

const grantsOf = ({ world }: Case) =>
  Effect.map(
    world.services.grantRecords.list(world.workspace.id, userGrants(UserId.make("alice")), {
      after: undefined,
      limit: 100
    }),
    ({ values }) => values.length
  )

const day = 24 * 60 * 60 * 1000

describe("a yes that counts again", () => {
  const rows: ReadonlyArray<readonly [what: string, asked: Values, as: string, outcome: string]> = [
    ["for the same", {}, "alice", "code"],
    ["in another session", {}, "alice; session=other", "code"],
    ["where no page may be shown", { prompt: "none" }, "alice", "code"],
    ["for another state", { state: "other" }, "alice", "code"],
    ["for less", { scope: "profile" }, "alice", "code"],
    ["for the same by name", { scope: "api profile" }, "alice", "code"],
    ["not for another person", {}, "bob", "page 200"],
    ["not for another person, who may be shown none", { prompt: "none" }, "bob", "consent_required"],
    ["not where the page is asked for", { prompt: "consent" }, "alice", "page 200"],
    ["not where the page is asked for beside an account", { prompt: "consent select_account" }, "alice", "sign-in"],
    ["not where a sign-in is asked for", { prompt: "login" }, "alice", "sign-in"],
    ["at any API of the workspace", { resource: mcp }, "alice", "code"],
    ["not where no person is signed in", { prompt: "none" }, "", "login_required"]
  ]
  for (const [what, asked, as, expected] of rows) {
    test(what, () =>
      afterYes(
        (given) =>
          Effect.gen(function* () {
            expect(outcome(yield* ask(given, asked, as))).toBe(expected)
          }),
        { asked: { scope: "api profile" } }
      )
    )
  }

  test("not after a sign-in that was asked for: who asks for it wants the person there", () =>
    afterYes((given) =>
      Effect.gen(function* () {
        const away = new URL(header(yield* ask(given, { prompt: "login" }), "location") ?? "", theWorkspace.issuer)
        const back = away.searchParams.get("return_to") ?? ""
        yield* TestClock.adjust("1 minute")
        const as = `alice; session=new; since=${t0 + 60_000}`
        expect(outcome(yield* given.world.send("GET", back, { as }))).toBe("page 200")
        expect(outcome(yield* ask(given, {}, as))).toBe("code")
      })
    ))

  test("not by a server that asks every time, with a page or without", () =>
    afterYes(
      (given) =>
        Effect.gen(function* () {
          expect(outcome(yield* ask(given))).toBe("page 200")
          expect(outcome(yield* ask(given, { prompt: "none" }))).toBe("consent_required")
        }),
      { consent: "ask" }
    ))

  test("not for more, and the page says what is new", () =>
    afterYes(
      (given) =>
        Effect.gen(function* () {
          const page = yield* ask(given, { scope: "api profile" })
          expect([outcome(page), page.body.includes("New: it will also be able to")]).toEqual(["page 200", true])
          expect(outcome(yield* ask(given, { scope: "api profile", prompt: "none" }))).toBe("consent_required")
        }),
      { asked: { scope: "profile" } }
    ))

  test("not for more resources than it was for", () =>
    afterYes(
      (given) =>
        Effect.gen(function* () {
          expect(outcome(yield* ask(given, { resource: mcp }))).toBe("code")
          expect(outcome(yield* ask(given, { resource: `${mcp}/tools` }))).toBe("code")
          expect(outcome(yield* ask(given, { resource: theWorkspace.issuer }))).toBe("page 200")
          expect(outcome(yield* ask(given, { resource: [mcp, theWorkspace.issuer] }))).toBe("page 200")
          expect(outcome(yield* ask(given))).toBe("page 200")
        }),
      { asked: { resource: mcp } }
    ))

  test("at the cost of a page: each takes of the person's share", () => {
    const { limiter, taken } = watchedLimiter()
    return inWorld(
      function* (world) {
        const client = yield* provenClient(world, { scope: "api profile" })
        yield* signInToApp(world, client)
        taken.length = 0
        expect([outcome(yield* ask({ client, world })), taken]).toEqual(["code", ["authorize ", "account alice"]])
      },
      { policy: { consent: "remember" }, limiter }
    )
  })

  test("begins a grant of its own, which the audit stream tells, and the earlier one stays", () =>
    afterYes((given) =>
      Effect.gen(function* () {
        const { client, tokens, world } = given
        const code = returned(yield* ask(given)).get("code") ?? ""
        expect(world.audit.at(-1)?.event).toMatchObject({ _tag: "ConsentGiven", remembered: true, user: "alice" })
        const next = tokensOf(yield* redeem(world, client, code))
        expect(yield* grantsOf(given)).toBe(2)
        expect((yield* redeem(world, client, code)).status).toBe(400)
        expect((yield* refresh(world, client, next.refresh)).status).toBe(400)
        expect((yield* refresh(world, client, tokens.refresh)).status).toBe(200)
      })
    ))
})

describe("a yes that does not count again", () => {
  const targets: ReadonlyArray<readonly [what: string, redirect: string]> = [
    ["at a port of the device", "http://127.0.0.1:7777/cb"],
    ["at the device's other address", "http://[::1]:7777/cb"],
    ["at localhost", "http://localhost:7777/cb"],
    ["at localhost by https", "https://localhost:7777/cb"],
    ["at a private scheme", "com.example.app:/cb"]
  ]
  for (const [what, redirect] of targets) {
    test(`${what}, however often it was said`, () =>
      afterYes(
        (given) =>
          Effect.gen(function* () {
            expect(outcome(yield* ask(given))).toBe("page 200")
            expect(outcome(yield* ask(given, { prompt: "none" }))).toBe("consent_required")
          }),
        { metadata: { redirect_uris: [redirect] } }
      ))
  }

  test("at another redirect URI of the same client", () =>
    afterYes(
      (given) =>
        Effect.gen(function* () {
          expect(outcome(yield* ask(given, { redirect_uri: "https://other.example.org/cb" }))).toBe("page 200")
          expect(outcome(yield* ask(given))).toBe("code")
        }),
      { metadata: { redirect_uris: [redirectUri, "https://other.example.org/cb"] } }
    ))

  const changes: ReadonlyArray<readonly [what: string, to: (stored: Client) => Client, outcome: string]> = [
    ["took another name", (stored) => ({ ...stored, about: { client_name: "Bank" } }), "page 200"],
    ["is an owner's by now", (stored) => ({ ...stored, madeBy: "owner" as const }), "page 200"],
    ["is a stranger again", (stored) => ({ ...stored, provenAt: null }), "page 200"],
    ["is disabled", (stored) => ({ ...stored, disabled: true }), "page 400"],
    ["is forgotten", (stored) => ({ ...stored, expiresAt: Instant.make(t0) }), "page 400"],
    [
      "may ask no person any more",
      (stored) => ({ ...stored, grantTypes: ["client_credentials"] }),
      "unauthorized_client"
    ]
  ]
  for (const [what, to, expected] of changes) {
    test(`to a client that ${what}`, () =>
      afterYes((given) =>
        Effect.gen(function* () {
          yield* change(given, to)
          expect(outcome(yield* ask(given))).toBe(expected)
          expect(yield* grantsOf(given)).toBe(1)
        })
      ))
  }

  test("to a thief of the registration of a client: a redirect URI of theirs was never shown", () =>
    afterYes((given) =>
      Effect.gen(function* () {
        const theirs = "https://evil.example/cb"
        expect(outcome(yield* ask(given, { redirect_uri: theirs }))).toBe("page 400")
        yield* change(given, (stored) => ({ ...stored, redirectUris: [RedirectUri.make(theirs)] }))
        expect(outcome(yield* ask(given, { redirect_uri: theirs }))).toBe("page 200")
        expect(outcome(yield* ask(given, { redirect_uri: theirs, prompt: "none" }))).toBe("consent_required")
        expect(outcome(yield* ask(given))).toBe("page 400")
      })
    ))

  test("to another client of the same name and redirect URI", () =>
    afterYes((given) =>
      Effect.gen(function* () {
        const twin = yield* provenClient(given.world, { scope: "api profile" })
        expect(outcome(yield* ask({ ...given, client: twin }))).toBe("page 200")
        const stranger = yield* registerClient(given.world, { scope: "api profile" })
        expect(outcome(yield* ask({ ...given, client: stranger }))).toBe("page 200")
      })
    ))

  test("to an attacker who made the browser ask: the code is the client's, and takes its verifier", () =>
    afterYes((given) =>
      Effect.gen(function* () {
        const { client, world } = given
        const response = yield* ask(given, { state: "planted", code_challenge: "A".repeat(43) })
        expect(header(response, "location")).toStartWith(`${redirectUri}?`)
        const code = returned(response).get("code") ?? ""
        expect((yield* redeem(world, client, code)).status).toBe(400)
        expect((yield* redeem(world, { ...client, secret: "guessed" }, code)).status).toBe(401)
      })
    ))

  test("before the client has its tokens", () =>
    inWorld(
      function* (world) {
        const client = yield* provenClient(world)
        yield* codeFor(world, client)
        expect(outcome(yield* ask({ world, client }))).toBe("page 200")
      },
      { policy: { consent: "remember" } }
    ))

  const ends: ReadonlyArray<readonly [what: string, end: (given: Case) => Effect.Effect<unknown, unknown>]> = [
    ["the client gave its token back", ({ client, tokens, world }) => revokeBy(world, client, tokens.refresh)],
    [
      "its refresh token was used twice",
      ({ client, tokens, world }) =>
        Effect.gen(function* () {
          yield* refresh(world, client, tokens.refresh)
          yield* TestClock.adjust("2 minutes")
          yield* refresh(world, client, tokens.refresh)
        })
    ],
    ["no client refreshed it", () => TestClock.adjust("31 days")],
    [
      "the person ended the connection, and with it a grant that came of the same yes",
      (given) =>
        Effect.gen(function* () {
          const { client, world } = given
          yield* redeem(world, client, returned(yield* ask(given)).get("code") ?? "")
          expect(yield* grantsOf(given)).toBe(2)
          yield* endAll(world.services, byOwner(world), { user: UserId.make("alice") }, undefined)
        })
    ]
  ]
  for (const [what, end] of ends) {
    test(`once its grant has ended: ${what}`, () =>
      afterYes((given) =>
        Effect.gen(function* () {
          yield* end(given)
          expect(outcome(yield* ask(given))).toBe("page 200")
        })
      ))
  }

  test("at another place, or at one of several", () =>
    afterYes((given) =>
      Effect.gen(function* () {
        const [bakery, museum] = ["bakery", "museum"].map((id) => ({ id: PlaceId.make(id), label: id }))
        if (bakery === undefined || museum === undefined) return
        given.places.alice = [bakery]
        expect(outcome(yield* ask(given))).toBe("page 200")
        const code = returned(yield* decide(given.world, yield* ask(given), "approve")).get("code") ?? ""
        yield* redeem(given.world, given.client, code)
        expect(outcome(yield* ask(given))).toBe("code")
        given.places.alice = [museum]
        expect(outcome(yield* ask(given))).toBe("page 200")
        given.places.alice = [bakery, museum]
        expect(outcome(yield* ask(given))).toBe("page 200")
        expect(outcome(yield* ask(given, { place_hint: "bakery" }))).toBe("page 200")
        expect(outcome(yield* ask(given, { prompt: "none" }))).toBe("interaction_required")
        given.places.alice = []
        expect(outcome(yield* ask(given))).toBe("code")
      })
    ))

  test("for longer than 30 days, where no owner answers for the client: what came of it is no yes of its own", () =>
    afterYes((given) =>
      Effect.gen(function* () {
        const { client, world } = given
        yield* TestClock.adjust("20 days")
        const code = returned(yield* ask(given)).get("code") ?? ""
        yield* redeem(world, client, code)
        yield* TestClock.setTime(t0 + 30 * day - 1000)
        expect(outcome(yield* ask(given))).toBe("code")
        yield* TestClock.setTime(t0 + 30 * day)
        expect(outcome(yield* ask(given))).toBe("page 200")
        yield* change(given, (stored) => ({
          ...stored,
          workspaceAccess: {
            askedAt: Instant.make(t0),
            network: null,
            answer: { approved: true, by: "owner", at: Instant.make(t0) }
          }
        }))
        expect(outcome(yield* ask(given))).toBe("code")
      })
    ))
})
