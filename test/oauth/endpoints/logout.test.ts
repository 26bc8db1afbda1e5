import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { sealedPrefix } from "../../../core/client/ClientIdentifier.ts"
import type { AuditEvent } from "../../../core/ports/Audit.ts"
import { DocumentsWeb } from "../../given/documentsWeb.ts"
import {
  form,
  formHeaders,
  header,
  hiddenFields,
  registerClient,
  signInToApp,
  type TestClient,
  text,
  type Values
} from "../../given/flow.ts"
import { identify, signsIn } from "../../given/openId.ts"
import { pageName } from "../../given/page.ts"
import { inWorld, type Sent, type World } from "../../given/World.ts"
import { watchedLimiter } from "../../given/watchedLimiter.ts"

/* What OpenID Connect asks of it stands in `openid/logout.test.ts`. */

const path = "/oauth/logout"
const back = "https://app.example.org/signed-out"
const nobody = "A".repeat(22)

const app = (world: World) =>
  registerClient(world, {
    client_name: "Notes & more",
    backchannel_logout_uri: "https://app.example.org/logout",
    post_logout_redirect_uris: [back, "https://app.example.org/bye?x=1"]
  })

const hintOf = (world: World, client: TestClient, as = "alice") =>
  Effect.map(identify(world, client, {}, as), ({ id_token }) => text(id_token))

const asked = (world: World, fields: Values, sent: Sent = { as: "alice" }) =>
  world.send("GET", `${path}?${form(fields)}`, sent)

const posted = (world: World, fields: Values, sent: Sent = {}) =>
  world.send("POST", path, { ...sent, headers: { ...formHeaders, ...sent.headers }, body: form(fields) })

const lastEvent = (world: World): AuditEvent | undefined => world.audit.at(-1)?.event

const atSignIn = (body: (world: World, client: TestClient) => Effect.Effect<void>) =>
  inWorld((world) => Effect.flatMap(app(world), (client) => body(world, client)), {
    ...signsIn,
    documents: new DocumentsWeb().layer()
  })

describe("a request to sign out", () => {
  const refused: ReadonlyArray<readonly [string, (hint: string, client: TestClient) => Values, string, string]> = [
    ["a hint that is none", () => ({ id_token_hint: "x" }), "InvalidRequest", "id_token_hint"],
    ["a hint of another's", (hint) => ({ id_token_hint: hint, client_id: nobody }), "InvalidRequest", "id_token_hint"],
    ["a client that is not here", () => ({ client_id: nobody }), "UntrustedRequest", "client_unknown"],
    ["a client that cannot be", () => ({ client_id: "x" }), "UntrustedRequest", "client_unknown"],
    [
      "an address of no client",
      () => ({ post_logout_redirect_uri: back }),
      "UntrustedRequest",
      "redirect_uri_not_registered"
    ],
    [
      "an address that is not the client's",
      (_, { id }) => ({ client_id: id, post_logout_redirect_uri: `${back}/` }),
      "UntrustedRequest",
      "redirect_uri_not_registered"
    ],
    ["a parameter twice", () => ({ state: ["a", "b"] }), "InvalidRequest", "repeated_parameter"]
  ]
  test.each(refused)("is refused with %s, by either method, signed in or not", (_, fields, refusal, reason) =>
    atSignIn(
      Effect.fnUntraced(function* (world, client) {
        const sent = fields(yield* hintOf(world, client), client)
        for (const answer of [
          yield* asked(world, sent),
          yield* asked(world, sent, {}),
          yield* posted(world, sent, { as: "alice" })
        ]) {
          expect([answer.status, header(answer, "location"), header(answer, "set-cookie")]).toEqual([
            400,
            undefined,
            undefined
          ])
          expect(lastEvent(world)).toEqual({ _tag: "Refused", endpoint: path, refusal, reason } as AuditEvent)
          // They came to sign out, so the page says that they are not, and leads to where they can.
          expect([pageName(answer), answer.body.includes(`href="${path}"`)]).toEqual(["error-not-signed-out", true])
          // What does not hold stands on the page, as it was sent, and by the name that it was sent under.
          expect(answer.body).not.toContain("<dt>redirect_uri</dt>")
          const shown = reason === "client_unknown" ? sent.client_id : sent.post_logout_redirect_uri
          if (refusal === "UntrustedRequest") expect(answer.body.replaceAll("<wbr>", "")).toContain(String(shown))
        }
      })
    )
  )

  test("is refused with an address of a client that has none, or that is forgotten", () =>
    atSignIn(
      Effect.fnUntraced(function* (world, client) {
        const bare = yield* registerClient(world)
        const sent = { post_logout_redirect_uri: back }
        expect((yield* asked(world, { ...sent, client_id: bare.id })).status).toBe(400)
        expect(lastEvent(world)).toMatchObject({ reason: "redirect_uri_not_registered" })
        expect((yield* asked(world, { ...sent, client_id: client.id })).status).toBe(200)
        yield* TestClock.adjust("31 days")
        expect((yield* asked(world, { ...sent, client_id: client.id })).status).toBe(400)
        expect(lastEvent(world)).toMatchObject({ reason: "client_unknown" })
      })
    ))

  test("counts for the address that it comes from", () => {
    const { limiter, taken } = watchedLimiter()
    return inWorld(
      function* (world) {
        yield* asked(world, {}, { as: "alice", peer: "192.0.2.1" })
        yield* posted(world, {}, { peer: "192.0.2.1" })
        expect(taken).toEqual(["authorize 192.0.2.1", "authorize 192.0.2.1"])
      },
      { ...signsIn, limiter }
    )
  })

  test("asks with who is there, who asks, and all that was sent", () =>
    atSignIn(
      Effect.fnUntraced(function* (world, client) {
        const sent = {
          id_token_hint: yield* hintOf(world, client, "bob"),
          client_id: client.id,
          post_logout_redirect_uri: back,
          state: "a b",
          logout_hint: "alice",
          ui_locales: "de"
        }
        const page = yield* asked(world, sent)
        const { csrf, ...fields } = hiddenFields(page.body)
        expect([page.status, pageName(page), fields]).toEqual([200, "end-session", sent])
        expect(page.body).toContain('<bdi class="name">alice@example.com</bdi>')
        expect(page.body).toContain('<bdi class="name">Notes &amp; more</bdi>')
        expect((yield* asked(world, {})).body).not.toContain("Notes")
        // The person's own click, and the way back that was asked for.
        const end = yield* posted(world, { ...fields, csrf: text(csrf) }, { as: "alice" })
        expect([end.status, header(end, "location")]).toEqual([303, `${back}?state=a%20b`])
      })
    ))

  test("ends the sessions and what was for them alone, and is on record", () =>
    atSignIn(
      Effect.fnUntraced(function* (world, client) {
        const hint = yield* hintOf(world, client)
        const before = world.audit.length
        const end = yield* asked(world, { id_token_hint: hint })
        expect([end.status, pageName(end), header(end, "set-cookie")]).toEqual([
          200,
          "session-ended",
          "person=; Max-Age=0"
        ])
        expect<unknown>(world.audit.slice(before).map(({ event }) => event)).toEqual([
          { _tag: "GrantRevoked", grant: expect.stringMatching(/^[\w-]{8}$/), why: "by_user", by: "alice" },
          { _tag: "SignedOut", account: "alice" }
        ])
      })
    ))

  test("goes back to an address that has a query with the state behind it", () =>
    atSignIn(
      Effect.fnUntraced(function* (world, client) {
        const fields = {
          id_token_hint: yield* hintOf(world, client),
          post_logout_redirect_uri: "https://app.example.org/bye?x=1"
        }
        for (const [state, tail] of [
          [undefined, ""],
          ["a&b=\u00e4", "&state=a%26b%3D%C3%A4"]
        ] as const) {
          const end = yield* asked(world, { ...fields, state })
          expect(header(end, "location")).toBe(`https://app.example.org/bye?x=1${tail}`)
        }
      })
    ))

  const looks: ReadonlyArray<readonly [headers: Readonly<Record<string, string>>, ends: boolean]> = [
    [{}, true],
    [{ "sec-fetch-dest": "document" }, true],
    [{ "sec-fetch-dest": "iframe" }, false],
    [{ "sec-fetch-dest": "empty" }, false],
    [{ "sec-purpose": "prefetch" }, false],
    [{ "sec-purpose": "prefetch;prerender" }, false],
    [{ purpose: "prefetch" }, false],
    [{ purpose: "prerender" }, false],
    [{ purpose: "other" }, true]
  ]
  test.each(looks)("with its session's hint and %j ends it at once: %p", (headers, ends) =>
    atSignIn(
      Effect.fnUntraced(function* (world, client) {
        const page = yield* asked(world, { id_token_hint: yield* hintOf(world, client) }, { as: "alice", headers })
        expect(pageName(page)).toBe(ends ? "session-ended" : "end-session")
      })
    )
  )

  test("does not end a session by a hint in another site's form", () =>
    atSignIn(
      Effect.fnUntraced(function* (world, client) {
        const hint = yield* hintOf(world, client)
        const headers = { "sec-fetch-dest": "iframe" }
        expect(pageName(yield* posted(world, { id_token_hint: hint }, { as: "alice", headers }))).toBe("end-session")
      })
    ))

  test("names a client whose id holds its registration as it is named there", () =>
    inWorld(
      function* (world) {
        const client = yield* registerClient(world, { client_name: "Notes & more" })
        expect(client.id).toStartWith(sealedPrefix)
        yield* signInToApp(world, client)
        const page = yield* asked(world, { client_id: client.id })
        expect([page.status, pageName(page)]).toEqual([200, "end-session"])
        expect(page.body).toContain(">Notes &amp; more</bdi>")
      },
      { ...signsIn, policy: { ...signsIn.policy, registrationRows: "at_consent" } }
    ))

  test("without a session goes on where a hint says who asks, and is a page with a link where only a name does", () =>
    atSignIn(
      Effect.fnUntraced(function* (world, client) {
        const hint = yield* hintOf(world, client)
        const sent = { post_logout_redirect_uri: back, state: "s" }
        const led = yield* asked(world, { ...sent, id_token_hint: hint }, {})
        expect([led.status, header(led, "location"), header(led, "set-cookie")]).toEqual([
          303,
          `${back}?state=s`,
          undefined
        ])
        const shown = yield* asked(world, { ...sent, client_id: client.id }, {})
        expect([shown.status, pageName(shown), header(shown, "location")]).toEqual([200, "session-ended", undefined])
        expect(shown.body).toContain(`<a class="button primary wide" href="${back}?state=s">`)
        expect(shown.body).toContain("<bdi>Notes &amp; more</bdi>")
        for (const fields of [{ client_id: client.id }, {}, { id_token_hint: hint }]) {
          const page = yield* asked(world, fields, {})
          expect([page.status, pageName(page)]).toEqual([200, "session-ended"])
          expect(page.body).not.toContain("<a class=")
        }
      })
    ))

  test("by a client that nobody here has let in leads to a link that names its host, though the person pressed the button", () =>
    atSignIn(
      Effect.fnUntraced(function* (world, client) {
        const sent = { client_id: client.id, post_logout_redirect_uri: back, state: "s" }
        const end = Effect.fnUntraced(function* () {
          const { body } = yield* asked(world, sent)
          return yield* posted(world, hiddenFields(body), { as: "alice" })
        })
        const shown = yield* end()
        expect([shown.status, pageName(shown), header(shown, "location")]).toEqual([200, "session-ended", undefined])
        expect(header(shown, "set-cookie")).toBe("person=; Max-Age=0")
        for (const { body } of [shown, yield* asked(world, sent, {})]) {
          expect(body).toContain(`<a class="button primary wide" href="${back}?state=s">`)
          expect(body).toContain("<bdi>app.example.org</bdi>")
          expect(body).not.toContain("Notes")
        }
        // Once a person has let it in, it is one that people know.
        yield* identify(world, client, {}, "bob")
        const led = yield* end()
        expect([led.status, header(led, "location")]).toEqual([303, `${back}?state=s`])
      })
    ))

  test("by a form that comes without a session becomes a navigation with the same parameters, and no others", () =>
    atSignIn(
      Effect.fnUntraced(function* (world) {
        const sent = { state: "a b&c\u00e4", client_id: nobody, csrf: "x", other: "y" }
        const answer = yield* posted(world, sent)
        // Read where the session is.
        expect([answer.status, header(answer, "location")]).toEqual([
          303,
          `${path}?client_id=${nobody}&state=a%20b%26c%C3%A4`
        ])
        expect(header(yield* posted(world, {}), "location")).toBe(path)
        const long = yield* posted(world, { state: "x".repeat(12 * 1024) })
        expect<unknown>([long.status, lastEvent(world)]).toEqual([
          400,
          { _tag: "Refused", endpoint: path, refusal: "InvalidRequest", reason: "request_too_long" }
        ])
        expect((yield* world.send("POST", path, { body: "{}" })).status).toBe(400)
      })
    ))

  test("is not there where no person signs in, or where the host signs no person out", () =>
    inWorld(function* (world) {
      expect((yield* asked(world, {})).status).toBe(404)
      expect(world.routes.some((route) => route.path === path)).toBe(false)
    }))
})
