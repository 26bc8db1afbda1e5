import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { decodeJwt, decodeProtectedHeader } from "jose"
import { callOf, emptied, failed, type LogoutQueue, taken, woken } from "../../core/engine/logoutCalls.ts"
import { ClientId, UserId } from "../../core/rules/Id.ts"
import { currentInstant, Instant } from "../../core/rules/Instant.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import { DocumentsWeb } from "../given/documentsWeb.ts"
import {
  authorizeTarget,
  bearing,
  codeFor,
  form,
  formHeaders,
  header,
  hiddenFields,
  jsonHeaders,
  jsonOf,
  postRegistration,
  prove,
  redeem,
  registerClient,
  returned,
  type TestClient,
  text,
  unregistered
} from "../given/flow.ts"
import { identify, signsIn, verified } from "../given/openId.ts"
import { inWorld, t0, theWorkspace, type World } from "../given/World.ts"

const back = "https://app.example.org/signed-out"
const told = "https://app.example.org/logout"
const state = 'a state with "signs" & <more> % | ~'

const members = {
  redirect_uris: ["https://app.example.org/callback"],
  post_logout_redirect_uris: [back],
  backchannel_logout_uri: told,
  backchannel_logout_session_required: true
}

type Body<A, E> = (world: World, web: DocumentsWeb) => Effect.Effect<A, E>

const atSignIn = <A, E>(body: Body<A, E>): Promise<A> => {
  const web = new DocumentsWeb()
  return inWorld((world) => body(world, web), { ...signsIn, documents: web.layer() })
}

const app = (world: World, more: object = {}) => registerClient(world, { ...members, ...more })

const hintOf = (world: World, client: TestClient, fields: Readonly<Record<string, string>> = {}, as = "alice") =>
  Effect.map(identify(world, client, fields, as), ({ id_token }) => text(id_token))

const at = (fields: Readonly<Record<string, string>>) => `/oauth/logout?${form(fields)}`
const pageOf = (body: string) => /data-page="([^"]+)"/.exec(body)?.[1]

/** What a person's browser is answered. */
const asked = (world: World, fields: Readonly<Record<string, string>>, as = "alice", headers = {}) =>
  world.send("GET", at(fields), { as, headers })

const pressed = Effect.fnUntraced(function* (world: World, page: { readonly body: string }, as = "alice") {
  return yield* world.send("POST", "/oauth/logout", { as, headers: formHeaders, body: form(hiddenFields(page.body)) })
})

const delivered = (world: World) => world.services.logouts.deliver(world.workspace)

const tokenIn = ({ form: sent }: { readonly form: string }) => text(new URLSearchParams(sent).get("logout_token"))

describe("oidcc-rp-initiated-logout", () => {
  test("-discovery-endpoint-verification, oidcc-backchannel-logout-discovery-endpoint-verification", () =>
    atSignIn((world) =>
      Effect.map(world.send("GET", "/.well-known/openid-configuration"), (answer) =>
        expect(jsonOf(answer)).toMatchObject({
          end_session_endpoint: `${theWorkspace.issuer}/oauth/logout`,
          backchannel_logout_supported: true,
          backchannel_logout_session_supported: true
        })
      )
    ))

  test("and -no-state: a hint of this session leads back at once, with the state as it came", () =>
    atSignIn(
      Effect.fnUntraced(function* (world) {
        const client = yield* app(world)
        const hint = yield* hintOf(world, client)
        const wanted = { id_token_hint: hint, post_logout_redirect_uri: back }
        const answer = yield* asked(world, { ...wanted, state })
        expect(answer.status).toBe(303)
        const there = new URL(text(header(answer, "location")))
        expect([there.origin + there.pathname, [...there.searchParams]]).toEqual([back, [["state", state]]])
        expect(header(answer, "set-cookie")).toContain("person=;")
        expect(header(yield* asked(world, wanted), "location")).toBe(back)
        // Long expired, and the person no more signed in.
        yield* TestClock.adjust("3 hours")
        expect(header(yield* world.send("GET", at(wanted)), "location")).toBe(back)
      })
    ))

  test("takes a hint whose key signs no more and is published no more, and not one of a key that others have", () =>
    atSignIn(
      Effect.fnUntraced(function* (world) {
        const client = yield* app(world)
        const wanted = { id_token_hint: yield* hintOf(world, client), post_logout_redirect_uri: back }
        const { kid } = decodeProtectedHeader(wanted.id_token_hint)
        const { signing } = world.services
        yield* signing.rotate(theWorkspace, Instant.make(t0))
        for (const wait of ["1 hour", "1 day", "12 days"] as const) {
          yield* TestClock.adjust(wait)
          yield* signing.keep(theWorkspace, yield* currentInstant)
        }
        const { body } = yield* world.send("GET", "/oauth/jwks")
        expect(body).not.toContain(text(kid))
        const elsewhere = yield* world.elsewhere
        expect(header(yield* asked(elsewhere, wanted), "location")).toBe(back)
        const silent = { scope: "openid", prompt: "none", id_token_hint: wanted.id_token_hint }
        const errorAt = (one: World) =>
          Effect.map(one.send("GET", authorizeTarget(client, silent)), (answer) => returned(answer).get("error"))
        yield* prove(world, client)
        expect(yield* errorAt(elsewhere)).toBe("login_required")
        yield* signing.retire(theWorkspace, text(kid), "compromised", yield* currentInstant)
        expect((yield* asked(yield* world.elsewhere, wanted)).status).toBe(400)
        expect(yield* errorAt(yield* world.elsewhere)).toBe("invalid_request")
      })
    ))

  test("leads back to an application that is known by its document, or whose client_id holds its registration", () => {
    const web = new DocumentsWeb()
    const id = web.publish("https://app.example.org/client.json", { ...members, token_endpoint_auth_method: "none" })
    return inWorld(
      function* (world) {
        const program = unregistered(id)
        const sealed = yield* app(world, { token_endpoint_auth_method: "none", scope: "api openid" })
        expect(sealed.id).toStartWith("tsr_c_")
        for (const [client, as] of [
          [program, "alice"],
          [sealed, "bob"]
        ] as const) {
          const hint = yield* hintOf(world, client, {}, as)
          const wanted = { id_token_hint: hint, client_id: client.id, post_logout_redirect_uri: back }
          const answer = yield* asked(world, { ...wanted, state }, as)
          expect([client.id, answer.status, header(answer, "location")?.startsWith(`${back}?state=`)]).toEqual([
            client.id,
            303,
            true
          ])
          yield* delivered(world)
          expect(web.posted.splice(0).map((sent) => decodeJwt(tokenIn(sent)))).toMatchObject([
            { aud: client.id, sub: as }
          ])
        }
      },
      { ...signsIn, policy: { ...signsIn.policy, registrationRows: "at_consent" }, documents: web.layer() }
    )
  })

  const refused: ReadonlyArray<readonly [string, (hint: string, client: TestClient) => Record<string, string>]> = [
    ["-bad-post-logout-redirect-uri", (hint) => ({ id_token_hint: hint, post_logout_redirect_uri: `${back}/x` })],
    [
      "-query-added-to-post-logout-redirect-uri",
      (hint) => ({ id_token_hint: hint, post_logout_redirect_uri: `${back}?foo=bar` })
    ],
    [
      "-modified-id-token-hint",
      (hint) => ({ id_token_hint: `eyJhbGciOiJub25lIn0.${hint.split(".")[1]}.`, post_logout_redirect_uri: back })
    ],
    ["-bad-id-token-hint", (hint) => ({ id_token_hint: `${hint.slice(0, -4)}AAAA`, post_logout_redirect_uri: back })],
    ["-no-id-token-hint", () => ({ post_logout_redirect_uri: back })],
    ["a hint beside another client's id", (hint) => ({ id_token_hint: hint, client_id: "cJGaGBDoFeSEPIdJMJ-qc6" })],
    ["an unknown client", () => ({ client_id: "cJGaGBDoFeSEPIdJMJ-qc6", post_logout_redirect_uri: back })],
    ["a hint that is no JWT", () => ({ id_token_hint: "hint" })],
    ["another site", (hint) => ({ id_token_hint: hint, post_logout_redirect_uri: "https://evil.example/" })],
    [
      "the same by a longer host",
      (hint) => ({ id_token_hint: hint, post_logout_redirect_uri: "https://app.example.org.evil.example/signed-out" })
    ],
    [
      "the same by a user part",
      (hint) => ({ id_token_hint: hint, post_logout_redirect_uri: "https://app.example.org@evil.example/signed-out" })
    ],
    ["the same in upper case", (hint) => ({ id_token_hint: hint, post_logout_redirect_uri: back.toUpperCase() })],
    ["a path that steps back", (hint) => ({ id_token_hint: hint, post_logout_redirect_uri: `${back}/../signed-out` })],
    ["a script", (hint) => ({ id_token_hint: hint, post_logout_redirect_uri: "javascript:alert(1)" })],
    [
      "an address of this server",
      (hint) => ({ id_token_hint: hint, post_logout_redirect_uri: `${theWorkspace.issuer}/login` })
    ],
    ["a path alone", (hint) => ({ id_token_hint: hint, post_logout_redirect_uri: "//evil.example" })],
    [
      "the redirect URI",
      (hint) => ({ id_token_hint: hint, post_logout_redirect_uri: "https://app.example.org/callback" })
    ],
    ["a fragment", (hint) => ({ id_token_hint: hint, post_logout_redirect_uri: `${back}#there` })]
  ]
  for (const [name, fields] of refused) {
    test(`${name}: an error page, no sign-out and no redirect`, () =>
      atSignIn(
        Effect.fnUntraced(function* (world, web) {
          const client = yield* app(world)
          const hint = yield* hintOf(world, client)
          for (const as of ["alice", undefined]) {
            const answer = yield* world.send("GET", at(fields(hint, client)), as === undefined ? {} : { as })
            expect([answer.status, header(answer, "location"), header(answer, "set-cookie")]).toEqual([
              400,
              undefined,
              undefined
            ])
            expect(answer.body).not.toContain("<form")
          }
          yield* delivered(world)
          expect(web.posted).toEqual([])
        })
      ))
  }

  test("a client that an owner disabled: an error page, no sign-out and no redirect", () =>
    atSignIn(
      Effect.fnUntraced(function* (world) {
        const client = yield* app(world)
        const hint = yield* hintOf(world, client)
        yield* world.services.clients.change(world.workspace.id, ClientId.make(client.id), (stored) => ({
          ...stored,
          disabled: true
        }))
        yield* TestClock.adjust("6 seconds")
        const answer = yield* asked(world, { id_token_hint: hint, post_logout_redirect_uri: back })
        expect([answer.status, header(answer, "location")]).toEqual([400, undefined])
      })
    ))

  test("-no-params, -only-state, -no-post-logout-redirect-uri: the person is asked, and told in the end", () =>
    atSignIn(
      Effect.fnUntraced(function* (world) {
        const client = yield* app(world)
        for (const fields of [{}, { state }]) {
          const page = yield* asked(world, fields)
          expect([page.status, pageOf(page.body)]).toEqual([200, "end-session"])
          expect(page.body.match(/<button[^>]*type="submit"/g)).toHaveLength(1)
          const end = yield* pressed(world, page)
          expect([end.status, pageOf(end.body), end.body.includes("<form")]).toEqual([200, "session-ended", false])
        }
        const end = yield* asked(world, { id_token_hint: yield* hintOf(world, client) })
        expect([end.status, pageOf(end.body)]).toEqual([200, "session-ended"])
      })
    ))
})

describe("no person is signed out unasked", () => {
  const rows: ReadonlyArray<
    readonly [
      string,
      (
        | Effect.Effect<Record<string, string>, never, never>
        | ((world: World, client: TestClient) => Effect.Effect<Record<string, string>>)
      ),
      Record<string, string>
    ]
  > = [
    ["by a link without a hint", () => Effect.succeed({}), {}],
    ["by a client's name", (_, { id }) => Effect.succeed({ client_id: id, post_logout_redirect_uri: back }), {}],
    [
      "by a hint of another person",
      (world, client) => Effect.map(hintOf(world, client, {}, "bob"), (id_token_hint) => ({ id_token_hint })),
      {}
    ],
    [
      "by a hint of another session",
      (world, client) =>
        Effect.map(hintOf(world, client, {}, "alice; session=other"), (id_token_hint) => ({ id_token_hint })),
      {}
    ],
    [
      "by a picture",
      (world, client) => Effect.map(hintOf(world, client), (id_token_hint) => ({ id_token_hint })),
      { "sec-fetch-dest": "image" }
    ],
    [
      "in a frame",
      (world, client) => Effect.map(hintOf(world, client), (id_token_hint) => ({ id_token_hint })),
      { "sec-fetch-dest": "iframe" }
    ],
    [
      "by a browser that looks ahead",
      (world, client) => Effect.map(hintOf(world, client), (id_token_hint) => ({ id_token_hint })),
      { "sec-purpose": "prefetch;prerender" }
    ]
  ]
  for (const [name, fields, headers] of rows) {
    test(name, () =>
      atSignIn(
        Effect.fnUntraced(function* (world, web) {
          const client = yield* app(world)
          yield* identify(world, client)
          const given = typeof fields === "function" ? yield* fields(world, client) : yield* fields
          const page = yield* asked(world, given, "alice", headers)
          expect([page.status, pageOf(page.body), header(page, "set-cookie")]).toEqual([200, "end-session", undefined])
          yield* delivered(world)
          expect(web.posted).toEqual([])
          const end = yield* pressed(world, page)
          expect(header(end, "set-cookie")).toContain("person=;")
        })
      )
    )
  }

  test("by a form of another site, or one that was drawn for another person", () =>
    atSignIn(
      Effect.fnUntraced(function* (world) {
        const client = yield* app(world)
        const bobs = hiddenFields((yield* asked(world, {}, "bob")).body)
        for (const fields of [bobs, { csrf: "x" }, { client_id: client.id }]) {
          const page = yield* world.send("POST", "/oauth/logout", {
            as: "alice",
            headers: formHeaders,
            body: form(fields)
          })
          expect([page.status, pageOf(page.body), header(page, "set-cookie")]).toEqual([200, "end-session", undefined])
        }
        // Without its cookie, a form becomes the navigation that has it.
        const cross = yield* world.send("POST", "/oauth/logout", {
          headers: formHeaders,
          body: form({ state: "s", csrf: "x" })
        })
        expect([cross.status, header(cross, "location")]).toEqual([303, "/oauth/logout?state=s"])
      })
    ))

  test("nor by a hint of another person, whose session the host calls by the same name", () =>
    atSignIn(
      Effect.fnUntraced(function* (world) {
        const client = yield* app(world)
        const hint = yield* hintOf(world, client, {}, "bob; session=first")
        const page = yield* asked(world, { id_token_hint: hint }, "alice; session=first")
        expect([page.status, pageOf(page.body)]).toEqual([200, "end-session"])
        const own = yield* asked(world, { id_token_hint: hint }, "bob; session=first")
        expect(pageOf(own.body)).toBe("session-ended")
      })
    ))

  test("nor by a hint that the server's own key signed for another issuer", () =>
    atSignIn(
      Effect.fnUntraced(function* (world) {
        const client = yield* app(world)
        const claims = decodeJwt(yield* hintOf(world, client))
        const signedFor = Effect.fnUntraced(function* (iss: string) {
          const { services, workspace } = world
          const asked = { algorithm: "RS256", life: services.policy.accessTtl } as const
          const sign = yield* services.signing.ready(workspace, asked, Instant.make(t0))
          return yield* sign({ typ: "JWT" }, { ...claims, iss })
        })
        const answers: Array<number> = []
        for (const iss of [theWorkspace.issuer, "https://other.example", `${theWorkspace.issuer}/`]) {
          answers.push((yield* asked(world, { id_token_hint: yield* signedFor(iss) }, "bob")).status)
        }
        expect(answers).toEqual([200, 400, 400])
      })
    ))

  test("and a client without a hint gets no redirect but by the person's own click", () =>
    atSignIn(
      Effect.fnUntraced(function* (world) {
        const client = yield* app(world)
        const page = yield* world.send("GET", at({ client_id: client.id, post_logout_redirect_uri: back }))
        expect([page.status, pageOf(page.body), header(page, "location")]).toEqual([200, "session-ended", undefined])
        expect(page.body).toContain(`href="${back}"`)
      })
    ))
})

describe("oidcc-backchannel-rp-initiated-logout", () => {
  test("tells the client by a token that it verifies, once, and ends what was for the session alone", () =>
    atSignIn(
      Effect.fnUntraced(function* (world, web) {
        const client = yield* app(world)
        const tokens = yield* identify(world, client)
        const away = yield* identify(world, client, { scope: "openid offline_access" })
        const hint = text(tokens.id_token)
        yield* asked(world, { id_token_hint: hint })
        yield* delivered(world)
        yield* delivered(world)
        expect(web.posted.map(({ href }) => href)).toEqual([told])
        const [sent] = web.posted
        const token = tokenIn(sent ?? { form: "" })
        expect([...new URLSearchParams(sent?.form).keys()]).toEqual(["logout_token"])
        const { payload, protectedHeader } = yield* verified(world, client, token)
        expect(protectedHeader.typ).toBe("logout+jwt")
        const { sid, sub } = decodeJwt(hint)
        // Back-Channel Logout §2.4: no nonce above all.
        expect(payload).toEqual({
          iss: theWorkspace.issuer,
          aud: client.id,
          sub: text(sub),
          sid,
          iat: t0 / 1000,
          exp: t0 / 1000 + 120,
          jti: expect.stringMatching(/^[\w-]{43}$/),
          events: { "http://schemas.openid.net/event/backchannel-logout": {} }
        })
        const user = (access: unknown) =>
          world.send("GET", "/oauth/userinfo", { headers: { authorization: `Bearer ${text(access)}` } })
        expect((yield* user(tokens.access_token)).status).toBe(401)
        expect((yield* user(away.access_token)).status).toBe(200)
        // Nor is it taken for an ID token.
        expect((yield* asked(world, { id_token_hint: token })).status).toBe(400)
      })
    ))

  test("is the end of a session that went on under another name since, too", () =>
    atSignIn(
      Effect.fnUntraced(function* (world, web) {
        const client = yield* app(world)
        const tokens = yield* identify(world, client, {}, "alice; session=first")
        const hint = text(tokens.id_token)
        const now = "alice; session=second; before=first"
        const answer = yield* asked(world, { id_token_hint: hint, post_logout_redirect_uri: back }, now)
        expect([answer.status, header(answer, "location")]).toEqual([303, back])
        yield* delivered(world)
        expect(web.posted.map((sent) => decodeJwt(tokenIn(sent)).sid)).toEqual([decodeJwt(hint).sid])
      })
    ))

  test("is the end of a session that applications know by a name which outlasts the sign-in", () =>
    atSignIn(
      Effect.fnUntraced(function* (world, web) {
        const client = yield* app(world)
        const hints = [
          yield* hintOf(world, client, {}, "alice; session=first"),
          yield* hintOf(world, client, {}, "alice; session=second; name=first")
        ]
        expect(new Set(hints.map((hint) => decodeJwt(hint).sid)).size).toBe(1)
        const now = "alice; session=third; name=first"
        const answer = yield* asked(world, { id_token_hint: text(hints[0]), post_logout_redirect_uri: back }, now)
        expect([answer.status, header(answer, "location")]).toEqual([303, back])
        yield* delivered(world)
        expect(web.posted.map((sent) => decodeJwt(tokenIn(sent)).sid)).toEqual([decodeJwt(text(hints[1])).sid])
      })
    ))

  test("has no code redeemed later that was given in the session", () =>
    atSignIn(
      Effect.fnUntraced(function* (world) {
        const client = yield* registerClient(world, { redirect_uris: members.redirect_uris })
        const hint = yield* hintOf(world, client)
        const [over, other] = ["alice", "bob"]
        const codes = [
          yield* codeFor(world, client, { scope: "openid" }, over),
          yield* codeFor(world, client, { scope: "openid" }, other)
        ]
        expect((yield* asked(world, { id_token_hint: hint })).status).toBe(200)
        const statuses = []
        for (const code of codes) statuses.push((yield* redeem(world, client, code)).status)
        expect(statuses).toEqual([400, 200])
      })
    ))

  test("tells a client whose tokens are long over, since the session that it knows goes on", () => {
    const web = new DocumentsWeb()
    const policy = { ...signsIn.policy, refreshIdleTtl: 60 * 60 * 1000, accessTtl: 60 * 1000 }
    return inWorld(
      function* (world) {
        const client = yield* app(world)
        const { sid } = decodeJwt(yield* hintOf(world, client))
        yield* TestClock.adjust("13 days")
        yield* world.services.storage.sweep(yield* currentInstant, 1000)
        yield* pressed(world, yield* asked(world, {}))
        yield* delivered(world)
        expect(web.posted.map((sent) => decodeJwt(tokenIn(sent)))).toMatchObject([{ sub: "alice", sid }])
      },
      { ...signsIn, policy, documents: web.layer() }
    )
  })

  test("tells no client of another session, person or client, and writes no call where none wants to know", () =>
    atSignIn(
      Effect.fnUntraced(function* (world, web) {
        const plain = yield* registerClient(world, { redirect_uris: members.redirect_uris })
        const client = yield* app(world)
        yield* identify(world, client, {}, "bob")
        yield* identify(world, client, {}, "alice; session=other")
        const hint = yield* hintOf(world, plain)
        world.calls.insert.length = 0
        yield* asked(world, { id_token_hint: hint })
        yield* delivered(world)
        // The mark of the session that ends, and its removal.
        expect([web.posted, world.calls.insert, world.calls.remove]).toEqual([[], ["logout"], ["logout"]])
      })
    ))

  test("tries again with one jti and growing pauses, in order, and gives up after a day in the audit", () =>
    atSignIn(
      Effect.fnUntraced(function* (world, web) {
        const client = yield* app(world)
        web.answers.set(told, "timed_out")
        const hints = [yield* hintOf(world, client), yield* hintOf(world, client, {}, "bob")]
        yield* asked(world, { id_token_hint: text(hints[0]) })
        yield* TestClock.adjust("1 second")
        yield* asked(world, { id_token_hint: text(hints[1]) }, "bob")
        const gaps: Array<number> = []
        for (let n = 0; n < 4; n++) {
          const from = yield* delivered(world)
          const now = world.services.policy && t0
          gaps.push((from ?? 0) - now)
          yield* TestClock.setTime(from ?? 0)
        }
        expect(gaps.map((gap, n) => gap - (gaps[n - 1] ?? 1000))).toEqual([10_000, 20_000, 40_000, 80_000])
        const claims = web.posted.map((sent) => decodeJwt(tokenIn(sent)))
        expect(new Set(claims.map(({ jti }) => jti)).size).toBe(1)
        expect(claims.every(({ sub }) => sub === "alice")).toBe(true)
        // Each attempt is fresh, for a client that takes no token older than some minutes.
        expect(claims.map(({ iat = 0 }) => iat - t0 / 1000)).toEqual([1, 11, 31, 71])
        web.answers.set(told, 503)
        yield* delivered(world)
        yield* TestClock.adjust("2 days")
        web.posted.length = 0
        web.answers.set(told, 200)
        // By another process.
        const other = yield* world.elsewhere
        yield* delivered(other)
        expect(web.posted.map((sent) => decodeJwt(tokenIn(sent)).sub)).toEqual(["alice", "bob"])
        expect(decodeProtectedHeader(tokenIn(web.posted[0] ?? { form: "" })).typ).toBe("logout+jwt")
        expect(yield* delivered(world)).toBeUndefined()
      })
    ))

  describe("counts the failures of each call", () => {
    /** Whom a call is about. */
    const subOf = (sent: string) => text(decodeJwt(tokenIn({ form: sent })).sub)

    /** How long the queue waits after each of so many rounds of deliveries. */
    const pauses = Effect.fnUntraced(function* (world: World, rounds: number) {
      const waited: Array<number> = []
      for (let n = 0; n < rounds; n++) {
        const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
        const from = (yield* delivered(world)) ?? now
        waited.push(from - now)
        yield* TestClock.setTime(from)
      }
      return waited
    })

    test("and waits an hour at most", () =>
      atSignIn(
        Effect.fnUntraced(function* (world, web) {
          const client = yield* app(world)
          web.answers.set(told, 503)
          yield* asked(world, { id_token_hint: yield* hintOf(world, client) })
          expect((yield* pauses(world, 12)).map((pause) => pause / 1000)).toEqual([
            ...[10, 20, 40, 80, 160, 320, 640, 1280, 2560],
            ...[3600, 3600, 3600]
          ])
        })
      ))

    test("and goes on after an earlier one came late, of a process whose clock is behind", () =>
      atSignIn(
        Effect.fnUntraced(function* (world, web) {
          const client = yield* app(world)
          web.answers.set(told, (sent) => (subOf(sent) === "bob" ? 200 : 503))
          const hints = [yield* hintOf(world, client), yield* hintOf(world, client, {}, "bob")]
          yield* TestClock.adjust("1 second")
          yield* asked(world, { id_token_hint: text(hints[0]) })
          expect(yield* pauses(world, 3)).toEqual([10_000, 20_000, 40_000])
          const due = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
          yield* TestClock.setTime(t0)
          yield* asked(yield* world.elsewhere, { id_token_hint: text(hints[1]) }, "bob")
          yield* TestClock.setTime(due)
          expect(yield* pauses(yield* world.elsewhere, 2)).toEqual([80_000, 160_000])
          expect(web.posted.map(({ form: sent }) => subOf(sent))).toEqual([
            ...["alice", "alice", "alice"],
            ...["bob", "alice", "alice"]
          ])
        })
      ))

    test("and begins anew with the next one, though the process that delivered the one before was stopped then", () =>
      atSignIn(
        Effect.fnUntraced(function* (world, web) {
          const client = yield* app(world)
          web.answers.set(told, 503)
          const hints = [yield* hintOf(world, client), yield* hintOf(world, client, {}, "bob")]
          yield* asked(world, { id_token_hint: text(hints[0]) })
          yield* TestClock.adjust("1 second")
          yield* asked(world, { id_token_hint: text(hints[1]) }, "bob")
          expect(yield* pauses(world, 4)).toEqual([10_000, 20_000, 40_000, 80_000])
          web.answers.set(told, (sent) => {
            if (subOf(sent) === "alice") return 200
            world.away.add("replace logout")
            return 503
          })
          yield* Effect.exit(delivered(world))
          world.away.clear()
          web.answers.set(told, 503)
          yield* TestClock.adjust("1 minute")
          expect(yield* pauses(yield* world.elsewhere, 2)).toEqual([10_000, 20_000])
        })
      ))
  })

  const answers = [
    [400, 1, "refused"],
    [302, 3, "redirected"],
    [401, 3, "not_delivered"],
    [403, 3, "not_delivered"],
    [404, 3, "not_delivered"],
    [408, 3, "not_delivered"],
    [425, 3, "not_delivered"],
    [429, 3, "not_delivered"],
    ["unreachable", 3, "unreachable"],
    ["bad_address", 3, "bad_address"],
    ["address_refused", 3, "address_refused"]
  ] as const
  test("waits for a client that is deployed just then, and answers 404 meanwhile", () =>
    atSignIn(
      Effect.fnUntraced(function* (world, web) {
        const client = yield* app(world)
        web.answers.set(told, 404)
        yield* asked(world, { id_token_hint: yield* hintOf(world, client) })
        yield* delivered(world)
        web.answers.set(told, 200)
        yield* TestClock.adjust("1 minute")
        expect(yield* delivered(world)).toBeUndefined()
        expect(web.posted).toHaveLength(2)
        expect(world.audit.filter(({ event }) => event._tag === "LogoutCallGivenUp")).toEqual([])
      })
    ))

  for (const [answer, posts, why] of answers) {
    test(`${answer}: tells the audit what became of it`, () =>
      atSignIn(
        Effect.fnUntraced(function* (world, web) {
          const client = yield* app(world)
          web.answers.set(told, answer)
          yield* asked(world, { id_token_hint: yield* hintOf(world, client) })
          yield* delivered(world)
          // For a day it is tried, and not for longer.
          for (const pause of ["23 hours", "2 hours", "2 days"] as const) {
            yield* TestClock.adjust(pause)
            yield* delivered(world)
          }
          expect(web.posted).toHaveLength(posts)
          const given = world.audit.filter(({ event }) => event._tag === "LogoutCallGivenUp")
          expect(given.map(({ event }) => event)).toEqual([{ _tag: "LogoutCallGivenUp", client: client.id, why }])
        })
      ))
  }
})

for (const [how, method] of [
  ["that was deleted", "DELETE"],
  ["that took its address back", "PUT"]
] as const) {
  test(`a client ${how} is called no more, and the audit is told`, () =>
    atSignIn(
      Effect.fnUntraced(function* (world, web) {
        const client = yield* app(world)
        yield* asked(world, { id_token_hint: yield* hintOf(world, client) })
        const changed = yield* world.send(method, client.registrationUri.slice(theWorkspace.issuer.length), {
          headers: { ...jsonHeaders, ...bearing(client.registrationToken) },
          body: JSON.stringify({ client_id: client.id, redirect_uris: members.redirect_uris })
        })
        expect(changed.status).toBe(method === "PUT" ? 200 : 204)
        yield* TestClock.adjust("6 seconds")
        yield* delivered(world)
        expect(web.posted).toEqual([])
        const given = world.audit.filter(({ event }) => event._tag === "LogoutCallGivenUp")
        expect(given.map(({ event }) => event)).toEqual([
          { _tag: "LogoutCallGivenUp", client: ClientId.make(client.id), why: "no_address" }
        ])
        expect(yield* delivered(world)).toBeUndefined()
      })
    ))
}

test("a call that is given up is told to the audit before it is forgotten, and one that comes meanwhile is seen", () =>
  atSignIn(
    Effect.fnUntraced(function* (world, web) {
      const client = yield* app(world)
      web.answers.set(told, 400)
      yield* asked(world, { id_token_hint: yield* hintOf(world, client) })
      world.away.add("remove logout")
      yield* Effect.exit(delivered(world))
      const given = world.audit.filter(({ event }) => event._tag === "LogoutCallGivenUp")
      expect([web.posted.length, given.length]).toEqual([1, 1])
      const own = ClientId.make(client.id)
      const leased = taken(woken(undefined, own, Instant.make(1)) as LogoutQueue, "me", Instant.make(2)) as LogoutQueue
      expect(emptied(leased, "me")?.waiting).toBe(false)
      const again = woken(leased, own, Instant.make(3)) as LogoutQueue
      expect(emptied(again, "me")).toMatchObject({ waiting: true, woken: false, lease: { by: "me" } })
      expect(emptied(again, "another")).toBeUndefined()
      // Of what an earlier release counted.
      const call = callOf(own, UserId.make("alice"), digestOf("sid"), Instant.make(1), "000000")
      expect(failed({ ...leased, failures: 2 }, "me", call, Instant.make(3))).toMatchObject({ failures: 3 })
      expect(failed(leased, "another", call, Instant.make(3))).toBeUndefined()
    })
  ))

describe("a registration", () => {
  const wrong: ReadonlyArray<readonly [string, object]> = [
    ["another's host for calls", { backchannel_logout_uri: "https://victim.example/logout" }],
    ["another port for calls", { backchannel_logout_uri: "https://app.example.org:8443/logout" }],
    ["plain http for calls", { backchannel_logout_uri: "http://app.example.org/logout" }],
    ["a user in the address", { backchannel_logout_uri: "https://me@app.example.org/logout" }],
    ["a fragment", { backchannel_logout_uri: "https://app.example.org/logout#x" }],
    ["a host of the private network", { backchannel_logout_uri: "https://10.0.0.1/logout" }],
    ["a script to return to", { post_logout_redirect_uris: ["javascript:alert(1)"] }],
    ["plain http to return to", { post_logout_redirect_uris: ["http://app.example.org/"] }],
    ["a fragment to return to", { post_logout_redirect_uris: [`${back}#x`] }],
    ["no list to return to", { post_logout_redirect_uris: back }],
    ["front-channel logout", { frontchannel_logout_uri: "https://app.example.org/front" }]
  ]
  for (const [name, more] of wrong) {
    test(`with ${name} is refused by name`, () =>
      atSignIn(
        Effect.fnUntraced(function* (world) {
          const answer = yield* postRegistration(world, { ...members, ...more })
          expect(answer.status).toBe(400)
          expect(answer.body).toContain(Object.keys(more)[0] ?? "")
        })
      ))
  }
})
