import { describe, expect, test } from "bun:test"
import { Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import type { Client } from "../../../core/client/Client.ts"
import { readClientId } from "../../../core/rules/Id.ts"
import { RedirectUri } from "../../../core/rules/RedirectUri.ts"
import { deviceClient, enterCode, poll, waitingDevice } from "../../given/devices.ts"
import {
  authorizeTarget,
  companies,
  decide,
  form,
  formHeaders,
  header,
  hiddenFields,
  jsonHeaders,
  redeem,
  redirectUri,
  registerClient,
  returned,
  type TestClient,
  text,
  tokensOf
} from "../../given/flow.ts"
import { pageName } from "../../given/page.ts"
import { inWorld, t0, type World } from "../../given/World.ts"

const ask = (world: World, client: TestClient, fields: Readonly<Record<string, string | undefined>> = {}) =>
  world.send("GET", authorizeTarget(client, fields), { as: "alice" })

const change = (world: World, client: TestClient, by: (stored: Client) => Client) =>
  world.services.clients.change(world.workspace.id, Option.getOrThrow(readClientId(client.id)), by)

const ofClient = ({ id }: TestClient) => ({ workspace: "home", owner: `client:${id}`, after: undefined, limit: 10 })

const grantsOf = (world: World, user: string) =>
  Effect.map(
    world.storage.list({ workspace: "home", kind: "grant", owner: `user:${user}`, after: undefined, limit: 10 }),
    ({ records }) => records.map(({ body }) => body)
  )

const events = (world: World) => world.audit.map(({ event }) => event)

/** A browser in one session, in which one person is signed in. */
interface Reader {
  readonly person: string
  readonly session: string
}

const cookieOf = ({ person, session }: Reader) => ({ cookie: `person=${person}; session=${session}` })

describe("a page that was drawn for one person in one session", () => {
  const readers: ReadonlyArray<Reader> = ["alice", "bob"].flatMap((person) =>
    ["one", "two"].map((session) => ({ person, session }))
  )
  const pairs = readers.flatMap((drawnFor) => readers.map((postedBy) => [drawnFor, postedBy] as const))

  test.each(pairs)("is answered by no other person and nowhere else: %j, %j", (drawnFor, postedBy) =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const draw = (reader: Reader) =>
        Effect.map(world.send("GET", authorizeTarget(client), { headers: cookieOf(reader) }), ({ body }) =>
          hiddenFields(body)
        )
      const { ticket = "" } = yield* draw(drawnFor)
      // Its own proof against forgery, so that nothing but the ticket can tell.
      const own = yield* draw(postedBy)
      const isSame = drawnFor === postedBy
      for (const decision of ["deny", "approve"]) {
        world.calls.insert.length = 0
        const answer = yield* world.send("POST", "/consent", {
          headers: { ...formHeaders, ...cookieOf(postedBy) },
          body: form({ ...own, ticket, decision })
        })
        expect(answer.status).toBe(decision === "deny" && isSame ? 303 : isSame ? 200 : 403)
        expect(header(answer, "location")?.includes("code=") ?? false).toBe(false)
        if (!isSame) expect(world.calls.insert).toEqual([])
      }
      expect(yield* grantsOf(world, drawnFor.person)).toEqual([])
      expect(yield* grantsOf(world, postedBy.person)).toEqual([])
    })
  )
})

describe("a second Approve", () => {
  for (const redirect_uri of [
    "com.example.notes://cb",
    "cursor://anysphere.cursor-mcp/oauth/callback",
    "warp://mcp/oauth2callback"
  ]) {
    test(`leads on to ${redirect_uri}`, () =>
      inWorld(function* (world) {
        const client = yield* registerClient(world, { redirect_uris: [redirect_uri] })
        const page = yield* ask(world, client, { redirect_uri })
        yield* decide(world, page, "approve")
        const again = yield* decide(world, page, "approve")
        expect(again.body).toContain(`href="${redirect_uri}?code=`)
      }))
  }
})

describe("an answer to the consent page", () => {
  test("is noted: who let whom do what, under the request's id", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const yes = yield* decide(world, yield* ask(world, client, { scope: "profile api" }), "approve")
      const entry = world.audit.at(-1)
      expect(entry).toMatchObject({ at: t0, workspace: "home", requestId: header(yes, "x-request-id") })
      expect(entry?.event).toEqual({
        _tag: "ConsentGiven",
        client: client.id,
        user: expect.stringMatching(/^alice$/),
        scope: "api profile",
        grant: expect.stringMatching(/^[\w-]{8}$/)
      })
      const no = yield* decide(world, yield* ask(world, client), "deny")
      expect(world.audit.at(-1)).toMatchObject({
        workspace: "home",
        requestId: header(no, "x-request-id"),
        event: { _tag: "ConsentDenied", client: client.id, user: "alice" }
      })
    }))

  test("writes what became of the request, and a page that is drawn or refused writes nothing", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const written = () => [...world.calls.insert.splice(0), ...world.calls.replace.splice(0)]
      written()
      const page = yield* ask(world, client)
      const { ticket = "", ...rest } = hiddenFields(page.body)
      const answer = { ...rest, ticket, decision: "approve" }
      const posts = [
        { ...answer, csrf: "x" },
        { ...answer, ticket: `${ticket}AAAA` },
        { ...answer, decision: "maybe" }
      ]
      for (const fields of posts) {
        yield* world.send("POST", "/consent", { as: "alice", headers: formHeaders, body: form(fields) })
      }
      yield* decide(world, page, "approve", "bob")
      expect(written()).toEqual([])
      yield* decide(world, page, "deny")
      expect(written()).toEqual(["request"])
      yield* decide(world, page, "deny")
      expect(written()).toEqual([])
      yield* decide(world, yield* ask(world, client), "approve")
      expect(written()).toEqual(["request", "grant"])
    }))

  test("of yes, after a no, says so and gives nothing", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const page = yield* ask(world, client)
      yield* decide(world, page, "deny")
      const late = yield* decide(world, page, "approve")
      expect([late.status, header(late, "location")]).toEqual([200, undefined])
      expect(late.body).not.toContain("code=")
      expect(yield* grantsOf(world, "alice")).toEqual([])
      expect(returned(yield* decide(world, page, "deny")).get("error")).toBe("access_denied")
      expect(events(world).map(({ _tag }) => _tag)).toEqual(["ClientRegistered", "ConsentDenied"])
    }))

  test("of no, after the client has its tokens, says that and ends nothing", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const page = yield* ask(world, client)
      const code = text(returned(yield* decide(world, page, "approve")).get("code"))
      const tokens = tokensOf(yield* redeem(world, client, code))
      const late = yield* decide(world, page, "deny")
      expect([late.status, header(late, "location")]).toEqual([200, undefined])
      expect((yield* companies(world, tokens.access)).status).toBe(200)
      expect(events(world).map(({ _tag }) => _tag)).not.toContain("ConsentDenied")
    }))

  const first = {
    nothing: () => Effect.void,
    "too long ago": () => TestClock.adjust("10 minutes"),
    "the client has its tokens": (_: World, redeemed: Effect.Effect<unknown>) => redeemed
  }
  test.each([
    ["nothing", 200, "consent-waiting", "consent-approved"],
    ["too long ago", 400, "consent-expired", "consent-expired"],
    ["the client has its tokens", 200, "consent-used", "consent-used"]
  ] as const)("of yes, a second time, says what became of the first: %s", (what, status, page, ofDevice) =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const asked = yield* ask(world, client)
      const code = text(returned(yield* decide(world, asked, "approve")).get("code"))
      yield* first[what](world, redeem(world, client, code))
      const again = yield* decide(world, asked, "approve")
      expect([again.status, pageName(again), header(again, "location")]).toEqual([status, page, undefined])
      expect(again.body.includes(code)).toBe(page === "consent-waiting")
      expect(again.body.includes("code=")).toBe(page === "consent-waiting")
      expect(yield* grantsOf(world, "alice")).toHaveLength(1)

      const tv = yield* deviceClient(world)
      const told = yield* waitingDevice(world, tv)
      const entered = yield* enterCode(world, told.userCode)
      expect(pageName(yield* decide(world, entered, "approve"))).toBe("consent-approved")
      yield* first[what](world, poll(world, tv, told))
      const late = yield* decide(world, entered, "approve")
      expect([late.status, pageName(late), header(late, "location")]).toEqual([status, ofDevice, undefined])
      expect(events(world).filter(({ _tag }) => _tag === "ConsentGiven")).toHaveLength(2)
    })
  )

  test("of yes, whose grant could not be written, is given by the next click", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const page = yield* ask(world, client)
      world.away.add("insert grant")
      expect((yield* decide(world, page, "approve")).status).toBe(503)
      world.away.clear()
      const code = text(returned(yield* decide(world, page, "approve")).get("code"))
      expect((yield* redeem(world, client, code)).status).toBe(200)
      expect(events(world).filter(({ _tag }) => _tag === "ConsentGiven")).toHaveLength(1)
    }))

  test("of no, after a yes whose grant is only about to be written, leaves none alive", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const page = yield* ask(world, client)
      world.away.add("insert grant")
      yield* decide(world, page, "approve")
      world.away.clear()
      expect(returned(yield* decide(world, page, "deny")).get("error")).toBe("access_denied")
      expect(yield* grantsOf(world, "alice")).toMatchObject([{ _tag: "Revoked" }])
      const { records } = yield* world.storage.list({ ...ofClient(client), kind: "request" })
      expect(records.map(({ body }) => body)).toMatchObject([{ _tag: "Denied" }])
      expect(events(world).map(({ _tag }) => _tag)).not.toContain("GrantRevoked")
    }))

  test("of no, after a yes, that is cut off between its writes, leaves a dead grant, and the next click finishes", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const page = yield* ask(world, client)
      const code = text(returned(yield* decide(world, page, "approve")).get("code"))
      world.away.add("replace request")
      expect((yield* decide(world, page, "deny")).status).toBe(503)
      expect((yield* redeem(world, client, code)).status).toBe(400)
      world.away.clear()
      expect((yield* decide(world, page, "approve")).body).not.toContain("code=")
      expect(returned(yield* decide(world, page, "deny")).get("error")).toBe("access_denied")
      expect(events(world).filter(({ _tag }) => _tag === "GrantRevoked")).toHaveLength(1)
    }))

  test("of no, after a yes, ends the grant by the person's wish", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const page = yield* ask(world, client)
      yield* decide(world, page, "approve")
      yield* decide(world, page, "deny")
      const [given, revoked, denied] = events(world).slice(-3)
      expect([given?._tag, denied?._tag]).toEqual(["ConsentGiven", "ConsentDenied"])
      expect(revoked).toMatchObject({ _tag: "GrantRevoked", why: "by_user", by: "alice" })
      expect(yield* grantsOf(world, "alice")).toMatchObject([{ _tag: "Revoked", why: "by_user" }])
    }))

  test("is read against the client as it is by then: gone, or elsewhere, no browser is redirected", () =>
    inWorld(function* (world) {
      const moved = yield* registerClient(world)
      const page = yield* ask(world, moved)
      yield* change(world, moved, (stored) => ({
        ...stored,
        redirectUris: [RedirectUri.make("https://new.example/")]
      }))
      const gone = yield* registerClient(world)
      const other = yield* ask(world, gone)
      yield* world.services.clients.remove(world.workspace.id, Option.getOrThrow(readClientId(gone.id)))
      for (const shown of [page, other]) {
        const response = yield* decide(world, shown, "approve")
        expect([response.status, header(response, "location")]).toEqual([400, undefined])
        expect(header(response, "content-type")).toBe("text/html; charset=utf-8")
        expect(events(world).at(-1)).toMatchObject({ _tag: "Refused", refusal: "UntrustedRequest" })
      }
      expect(world.calls.insert).toEqual(["limit", "client", "client"])
    }))

  test("and where it may not ask any more, it is told so", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const page = yield* ask(world, client)
      yield* change(world, client, (stored) => ({ ...stored, grantTypes: ["client_credentials"] }))
      const response = yield* decide(world, page, "approve")
      expect(returned(response).get("error")).toBe("unauthorized_client")
      expect(events(world).at(-1)).toMatchObject({ _tag: "Refused", refusal: "UnauthorizedClient" })
    }))

  test("that comes too late is noted as such", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const page = yield* ask(world, client)
      yield* TestClock.adjust("15 minutes")
      for (const decision of ["approve", "deny"] as const) {
        const late = yield* decide(world, page, decision)
        expect([late.status, pageName(late), header(late, "location")]).toEqual([400, "consent-expired", undefined])
        expect(events(world).at(-1)).toMatchObject({ _tag: "Refused", refusal: "ForgedForm", reason: "expired" })
      }
    }))

  test("has to be whole", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const mine = { ...hiddenFields((yield* ask(world, client)).body), decision: "approve" }
      for (const name of ["ticket", "decision", "csrf"]) {
        const body = form({ ...mine, [name]: undefined })
        for (const sent of [{ as: "alice" }, {}]) {
          if (name === "csrf" && !("as" in sent)) continue
          const response = yield* world.send("POST", "/consent", { ...sent, headers: formHeaders, body })
          expect([name, response.status]).toEqual([name, 403])
        }
        const reason = name === "csrf" ? "csrf" : "field_missing"
        expect(events(world).at(-1)).toMatchObject({ refusal: "ForgedForm", reason })
      }
      const untyped = yield* world.send("POST", "/consent", { as: "alice", body: form(mine) })
      expect(untyped.status).toBe(400)
    }))

  test("that is forged is refused for what is forged of it, and leads to the sign-in only with a page of ours", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const { ticket = "", ...own } = hiddenFields((yield* ask(world, client)).body)
      const other = hiddenFields((yield* ask(world, client)).body).ticket ?? ""
      const bobs = hiddenFields((yield* world.send("GET", authorizeTarget(client), { as: "bob" })).body).ticket ?? ""
      const rows = [
        [{ ticket: "" }, "alice", 403, "field_missing"],
        [{ ticket: "x" }, "alice", 403, "ticket"],
        [{ ticket: "x" }, undefined, 403, "ticket"],
        [{ ticket: `${ticket}AAAA` }, "alice", 403, "ticket"],
        [{ ticket: bobs }, "alice", 403, "ticket"],
        [{ ticket, csrf: "x" }, "alice", 403, "csrf"],
        [{ ticket, decision: "maybe" }, "alice", 403, "field_missing"],
        [{ ticket }, undefined, 303, undefined],
        [{ ticket: other }, "alice", 303, undefined]
      ] as const
      for (const [fields, as, status, reason] of rows) {
        const before = world.audit.length
        const body = form({ ...own, decision: "approve", ...fields })
        const sent = as === undefined ? {} : { as }
        const answer = yield* world.send("POST", "/consent", { ...sent, headers: formHeaders, body })
        const refused = world.audit
          .slice(before)
          .flatMap(({ event }) => (event._tag === "Refused" ? [event.reason] : []))
        expect([fields, answer.status, refused]).toEqual([fields, status, reason === undefined ? [] : [reason]])
        if (as === undefined && status === 303) expect(header(answer, "location")).toStartWith("/login?return_to=")
      }
    }))

  test("of a device ends on a page: approved, denied, and too late where its client may not have it any more", () =>
    inWorld(function* (world) {
      const tv = yield* deviceClient(world)
      const answered = Effect.fnUntraced(function* (
        decision: "approve" | "deny",
        before: Effect.Effect<unknown, unknown> = Effect.void
      ) {
        const page = yield* enterCode(world, (yield* waitingDevice(world, tv)).userCode)
        yield* before
        const answer = yield* decide(world, page, decision)
        return [answer.status, pageName(answer), header(answer, "location")]
      })
      expect(yield* answered("approve")).toEqual([200, "consent-approved", undefined])
      expect(yield* answered("deny")).toEqual([200, "consent-denied", undefined])
      const stopped = change(world, tv, (stored) => ({ ...stored, grantTypes: ["client_credentials"] }))
      expect(yield* answered("approve", stopped)).toEqual([400, "consent-expired", undefined])
      expect(events(world).at(-1)).toMatchObject({
        refusal: "UnauthorizedClient",
        reason: "grant_type_not_registered"
      })
    }))

  test("of a page that is out of date leads back to the request that was sealed, and to no other", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const page = yield* ask(world, client, { state: "a b", scope: "profile" })
      const fields = { ...hiddenFields(page.body), request: "client_id=evil", decision: "approve" }
      const again = new URLSearchParams({
        ...Object.fromEntries(
          new URL(authorizeTarget(client, { scope: "profile" }), world.workspace.issuer).searchParams
        ),
        state: "a b"
      })
      again.sort()
      const sentTo = (address: string) => {
        const query = new URL(address, world.workspace.issuer).searchParams
        query.sort()
        return String(query)
      }
      const stale = yield* world.send("POST", "/consent", {
        as: "alice",
        headers: formHeaders,
        body: form({ ...fields, csrf: "stale" })
      })
      const link = /href="(\/oauth\/authorize[^"]*)"/.exec(stale.body)?.[1] ?? "no link"
      expect(sentTo(link.replaceAll("&amp;", "&"))).toBe(String(again))
      const signedOut = yield* world.send("POST", "/consent", { headers: formHeaders, body: form(fields) })
      const signIn = new URL(text(header(signedOut, "location")), world.workspace.issuer)
      expect(sentTo(signIn.searchParams.get("return_to") ?? "")).toBe(String(again))
    }))

  test("that comes by hand is told the request's id", () =>
    inWorld(function* (world) {
      const page = yield* world.send("GET", "/consent")
      expect([page.status, header(page, "content-type")]).toEqual([400, "text/html; charset=utf-8"])
      expect(page.body).toContain(header(page, "x-request-id") ?? "no id")
    }))
})

describe("the consent page", () => {
  const ways = [
    ["com.example.notes://cb", "com.example.notes:"],
    ["vscode://notes.sync/auth", "vscode://notes.sync"],
    ["warp://mcp/oauth2callback", "warp://mcp"]
  ] as const
  for (const [redirect_uri, told] of ways) {
    test(`says of ${redirect_uri} which application it returns to, of an editor's which of its extensions`, () =>
      inWorld(function* (world) {
        const client = yield* registerClient(world, { redirect_uris: [redirect_uri] })
        const page = (yield* ask(world, client, { redirect_uri })).body
        expect(/that opens <[^>]*><bdi>(.*?)<\/bdi>/.exec(page.replaceAll("<wbr>", ""))?.[1]).toBe(told)
      }))
  }

  const hint = '<span class="hint">'

  test("says of a scope that the client did not ask for that it came by default", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      expect((yield* ask(world, client, { scope: undefined })).body).toContain(hint)
      expect((yield* ask(world, client, { scope: "api" })).body).not.toContain(hint)
    }))

  test("says for what alone, where that is less than everything", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const { issuer } = world.workspace
      for (const resource of [undefined, issuer, `${issuer}/`]) {
        expect((yield* ask(world, client, { resource })).body).not.toContain("Only for")
      }
      const page = yield* ask(world, client, { resource: `${issuer}/rest` })
      expect(page.body.replaceAll("<wbr>", "")).toContain(`<dt>Only for</dt><dd><bdi>${issuer}/rest</bdi></dd>`)
    }))

  test("comes for response_mode=query too, which is what there is", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      expect((yield* ask(world, client, { response_mode: "query" })).status).toBe(200)
    }))
})

/** RFC 7592 §2.2, by the client itself, at a moment of its choosing. */
const changeBy = (world: World, client: TestClient, metadata: Readonly<Record<string, unknown>>) =>
  world.send("PUT", new URL(client.registrationUri).pathname, {
    headers: { ...jsonHeaders, authorization: `Bearer ${client.registrationToken}` },
    body: JSON.stringify({
      client_id: client.id,
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: "client_secret_post",
      ...metadata
    })
  })

describe("a client that changes itself while a person reads the consent page", () => {
  test("gets nothing that the page did not show", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, { scope: "profile" })
      const page = yield* world.send("GET", authorizeTarget(client, { scope: "profile" }), { as: "alice" })
      expect(page.body).toContain('<code class="scope">profile</code>')
      expect(page.body).not.toContain('<code class="scope">api</code>')

      expect((yield* changeBy(world, client, { scope: "api profile" })).status).toBe(200)
      const answer = yield* decide(world, page, "approve")
      // The page is answered by what was sealed in it, so the client's new scope is not in it.
      expect(header(answer, "location")).toContain("code=")
      expect(world.audit.at(-1)?.event).toMatchObject({ _tag: "ConsentGiven", scope: "profile" })
    }))

  test("is not approved under a name that the person did not read", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, { client_name: "Photo Album" })
      const page = yield* world.send("GET", authorizeTarget(client), { as: "alice" })
      yield* changeBy(world, client, { client_name: "Payroll" })
      expect((yield* decide(world, page, "approve")).status).toBe(403)
    }))

  test("is not approved as an owner's where it has become its own", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const known = yield* world.services.clients.list(world.workspace.id, { after: undefined, limit: 1 })
      for (const { id } of known.values) {
        yield* world.services.clients.change(world.workspace.id, id, (stored) => ({ ...stored, madeBy: "owner" }))
      }
      const page = yield* world.send("GET", authorizeTarget(client), { as: "alice" })
      expect(page.body).not.toContain("registered itself")
      expect((yield* changeBy(world, client, {})).status).toBe(200)
      expect((yield* decide(world, page, "approve")).status).toBe(403)
    }))

  test("is approved as before if what the page showed still holds", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, { client_name: "Photo Album" })
      const page = yield* world.send("GET", authorizeTarget(client), { as: "alice" })
      yield* changeBy(world, client, { client_name: "Photo Album", client_uri: "https://photos.example.org" })
      const answer = yield* decide(world, page, "approve")
      const issued = yield* redeem(world, client, text(returned(answer).get("code")))
      expect(tokensOf(issued).scope).toBe("api")
    }))
})
