import { describe, expect, test } from "bun:test"
import { Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import { decodeJwt } from "jose"
import type { HttpResponse } from "../../core/http/Http.ts"
import { browserOf } from "../../core/people/browserOf.ts"
import {
  liveSessions,
  type Session,
  type SessionSecret,
  sessionIdOf,
  sessionMark,
  sessionNames
} from "../../core/people/Sessions.ts"
import type { StorageUnavailable } from "../../core/ports/Storage.ts"
import type { UserId } from "../../core/rules/Id.ts"
import { currentInstant, Instant, later } from "../../core/rules/Instant.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import { type Away, partlyAway, unanswered } from "../given/countingStorage.ts"
import { DocumentsWeb } from "../given/documentsWeb.ts"
import {
  authorizeTarget,
  form,
  header,
  hiddenFields,
  jsonOf,
  redeem,
  registerClient,
  returned,
  type TestClient,
  text
} from "../given/flow.ts"
import { noticeOn, pageName } from "../given/page.ts"
import { requestOf, t0 } from "../given/World.ts"
import { addAccount, Browser, type House, httpWorkspace, inHouse, password, reveal, secret } from "./House.ts"

const mozilla = "Mozilla/5.0"
const agents = {
  firefox: `${mozilla} (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0`,
  iphone: `${mozilla} (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1`,
  edge: `${mozilla} (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36 Edg/140.0`
}

test("a browser is told in plain words, and by nothing that it wrote itself", () => {
  const rows = [
    [agents.firefox, "Firefox on Linux"],
    [agents.iphone, "Safari on an iPhone"],
    [agents.edge, "Edge on Windows"],
    [`${mozilla} (Macintosh; Intel Mac OS X 10_15_7) Chrome/140.0 Safari/537.36`, "Chrome on a Mac"],
    [`${mozilla} (Linux; Android 15) SamsungBrowser/28 Chrome/130 Mobile Safari/537.36`, "Samsung Internet on Android"],
    ["Firefox/1", "Firefox"],
    ["Windows", "A browser on Windows"],
    ["<b>curl</b>", undefined],
    [`${"x".repeat(600)} Firefox/1`, undefined],
    ["", undefined],
    [undefined, undefined]
  ] as const
  for (const [agent, words] of rows) expect([agent, browserOf(agent)]).toEqual([agent, words])
})

const signedIn = Effect.fnUntraced(function* (house: House, agent: keyof typeof agents, email = "ada@example.com") {
  const browser = new Browser(house, "192.0.2.1", agents[agent])
  yield* browser.signIn(email)
  return browser
})

const path = "/settings/sessions"
const isIn = (browser: Browser) => Effect.map(browser.get("/settings/profile"), ({ status }) => status === 200)

const post = Effect.fnUntraced(function* (browser: Browser, fields: Readonly<Record<string, string>>) {
  const { csrf = "" } = hiddenFields((yield* browser.get(path)).body)
  const answer = yield* browser.send("POST", path, { csrf, ...fields })
  const location = header(answer, "location") ?? ""
  return {
    status: answer.status,
    location,
    notice: location === "" ? undefined : noticeOn(yield* browser.get(location))
  }
})

test("a person sees where they are signed in, and ends one, or all others", () =>
  inHouse(function* (house) {
    const account = yield* addAccount(house)
    const here = yield* signedIn(house, "firefox")
    yield* TestClock.adjust("1 minute")
    const phone = yield* signedIn(house, "iphone")
    const desk = yield* signedIn(house, "edge")
    const page = (yield* here.get(path)).body
    for (const words of ["Firefox on Linux", "Safari on an iPhone", "Edge on Windows"]) expect(page).toContain(words)
    const marks = new Map(
      (yield* liveSessions(house.accounts.sessions, house.workspace.id, account, yield* currentInstant)).map(
        (session) => [session.browser, sessionMark(session)] as const
      )
    )
    const own = marks.get("Firefox on Linux") ?? ""
    expect(page).not.toContain(own)
    // Applications' names of a session are made from its id.
    for (const { id } of yield* liveSessions(
      house.accounts.sessions,
      house.workspace.id,
      account,
      yield* currentInstant
    )) {
      expect(page).not.toContain(id.slice(0, 12))
    }

    const ended = yield* post(here, { action: "end", id: marks.get("Safari on an iPhone") ?? "" })
    expect([ended.status, ended.notice]).toEqual([303, "done"])
    expect([yield* isIn(phone), yield* isIn(desk), yield* isIn(here)]).toEqual([false, true, true])
    for (const id of [own, marks.get("Safari on an iPhone") ?? "", "", "x"]) {
      expect((yield* post(here, { action: "end", id })).notice).toBe("problem")
    }
    expect((yield* post(here, { action: "end-others" })).notice).toBe("done")
    expect([yield* isIn(desk), yield* isIn(here)]).toEqual([false, true])
    expect((yield* here.get(path)).body).not.toContain("end-others")
    expect(
      house.audit.filter(({ event }) => event._tag === "AccountChanged" && event.change === "signed_out")
    ).toHaveLength(2)
    expect((yield* post(here, { action: "else" })).status).toBe(403)
  }))

test("each place tells since when, and when it was used last, the last used first", () =>
  inHouse(function* (house) {
    yield* addAccount(house)
    const here = yield* signedIn(house, "firefox")
    yield* TestClock.adjust("1 minute")
    const phone = yield* signedIn(house, "iphone")
    yield* TestClock.adjust("1 minute")
    yield* signedIn(house, "edge")
    yield* TestClock.adjust("1 hour")
    expect(yield* isIn(phone)).toBe(true)
    yield* TestClock.adjust("1 minute")
    const { body } = yield* here.get(path)
    const told = [...body.matchAll(/<time datetime="([^"]+)"/g)].map(([, at = ""]) => (Date.parse(at) - t0) / 60_000)
    // This browser's since; the phone's since and last use; the same of the desk.
    expect(told).toEqual([0, ...[1, 62], ...[2, 2]])
  }))

test("no person sees or ends a session of another", () =>
  inHouse(function* (house) {
    const ada = yield* addAccount(house)
    yield* addAccount(house, "eve@example.com", "member")
    const owner = yield* signedIn(house, "iphone")
    const eve = yield* signedIn(house, "firefox", "eve@example.com")
    const [session] = yield* liveSessions(house.accounts.sessions, house.workspace.id, ada, yield* currentInstant)
    const id = session === undefined ? "" : sessionMark(session)
    const page = (yield* eve.get(path)).body
    expect(page).not.toContain("iPhone")
    expect((yield* post(eve, { action: "end", id })).notice).toBe("problem")
    yield* post(eve, { action: "end-others" })
    const { csrf = "" } = hiddenFields((yield* eve.get(path)).body)
    expect((yield* owner.send("POST", path, { csrf, action: "end-others" })).status).toBe(403)
    expect((yield* new Browser(house).get(path)).status).toBe(303)
    expect([yield* isIn(owner), yield* isIn(eve)]).toEqual([true, true])
  }))

test("the last use is noted every five minutes, and no request between them writes", () => {
  let writes = 0
  return inHouse(
    function* (house) {
      const account = yield* addAccount(house)
      const browser = yield* signedIn(house, "firefox")
      const counted = (minutes: number) =>
        Effect.gen(function* () {
          yield* TestClock.adjust(`${minutes} minutes`)
          writes = 0
          expect(yield* isIn(browser)).toBe(true)
          return writes
        })
      const seen: Array<number> = []
      for (const minutes of [0, 4, 1, 0, 4, 60]) seen.push(yield* counted(minutes))
      expect(seen).toEqual([0, 0, 1, 0, 0, 1])
      const [session] = yield* liveSessions(house.accounts.sessions, house.workspace.id, account, yield* currentInstant)
      expect<unknown>(session?.usedAt).toBe(t0 + 69 * 60_000)
    },
    {
      storage: (below) => ({
        ...below,
        replace: (...of) => {
          writes++
          return below.replace(...of)
        }
      })
    }
  )
})

/** The built-in accounts' sessions, with nothing around them. */
const sessionsIn = (house: House) => {
  const { sessions } = house.accounts
  const { id: workspace } = house.workspace
  const at = (minutes: number) => later(Instant.make(t0), minutes * 60_000)
  return {
    ...sessions,
    at,
    start: (account: { readonly id: Session["account"]; readonly epoch: number }, minutes: number, browser?: string) =>
      sessions.start(workspace, account, at(minutes), browser),
    found: (secret: SessionSecret, minutes: number) =>
      Effect.map(sessions.find(workspace, secret, at(minutes)), (found) => found ?? expect.unreachable()),
    live: (account: { readonly id: Session["account"]; readonly epoch: number }, now: Instant) =>
      liveSessions(sessions, workspace, account, now)
  }
}

test("in use are the sessions since the account's last change that are not over, the last used first", () =>
  inHouse(function* (house) {
    const { at, found, live, start, use } = sessionsIn(house)
    const { id, epoch } = yield* addAccount(house)
    const account = { id, epoch: epoch + 1 }
    yield* start({ id, epoch }, 3, "before the change")
    const first = yield* start(account, 0, "first")
    yield* start(account, 20, "second")
    yield* start(account, 10, "third")
    const names = (now: Instant) => Effect.map(live(account, now), (all) => all.map(({ browser }) => browser))
    expect(yield* names(at(30))).toEqual(["second", "third", "first"])
    yield* use(house.workspace.id, yield* found(first, 30), at(30))
    expect(yield* names(at(30))).toEqual(["first", "second", "third"])
    const over = later(at(0), house.accounts.policy.sessionTtl)
    expect(yield* names(later(over, -1))).toEqual(["first", "second", "third"])
    expect(yield* names(over)).toEqual(["second", "third"])
  }))

test("a session that ended meanwhile is not written again, whatever was under way", () => {
  let made = 0
  return inHouse(
    function* (house) {
      const { at, confirm, found, live, remove, start, takeOver, use } = sessionsIn(house)
      const { id: workspace } = house.workspace
      const account = yield* addAccount(house)
      const ended = yield* found(yield* start(account, 0), 1)
      const former = yield* found(yield* start(account, 0, "former"), 1)
      yield* remove(workspace, ended.id)
      yield* use(workspace, ended, at(60))
      expect(yield* confirm(workspace, ended.id, at(60))).toBe(false)
      yield* takeOver(workspace, ended.id, former)
      expect(yield* live(account, at(60))).toEqual([former])
      expect(yield* confirm(workspace, former.id, at(60))).toBe(true)
      expect(yield* live(account, at(60))).toEqual([{ ...former, confirmedAt: at(60) }])
      expect(made).toBe(2)
    },
    {
      storage: (below) => ({
        ...below,
        insert: (...of) => {
          if (of[0].kind === "session") made++
          return below.insert(...of)
        }
      })
    }
  )
})

test("a session whose account is gone opens nothing", () =>
  inHouse(function* (house) {
    const secret = yield* sessionsIn(house).start({ id: house.accounts.book.newId(), epoch: 0 }, 0)
    const cookie = `__Host-tessera_session=${reveal(secret)}`
    expect((yield* house.send("GET", "/settings/profile", { headers: { cookie } })).status).toBe(303)
  }))

test("a password given again confirms a session of its person, unless that is leaving or gone by then", () =>
  inHouse(function* (house) {
    const { accounts, services, workspace } = house
    const { id } = yield* addAccount(house)
    const browser = yield* signedIn(house, "firefox")
    const cookie = [...browser.cookies].map((pair) => pair.join("=")).join("; ")
    const current = services.owner.current(workspace, requestOf("GET", "/settings", { headers: { cookie } }))
    const at = Option.getOrThrow(yield* current)
    yield* TestClock.adjust("1 minute")
    const now = yield* currentInstant
    const confirm = (typed: string) =>
      services.owner.confirm?.(workspace, at, secret(typed), now) ?? expect.unreachable("nothing confirms")
    const confirmedAt = Effect.map(current, (found) => Option.getOrUndefined(found)?.confirmedAt)
    expect([yield* confirm("not the password"), yield* confirmedAt]).toEqual([false, Instant.make(t0)])
    expect([yield* confirm(password), yield* confirmedAt]).toEqual([true, now])
    // Applications that ask for a fresh sign-in have one.
    expect(Option.getOrThrow(yield* current).authenticatedAt).toBe(now)
    const { verify } = house.hashed
    yield* accounts.book.change(workspace.id, id, (account) => ({ ...account, _tag: "Leaving", since: now }))
    // Nothing is tried that would tell whether the password was right.
    expect([yield* confirm(password), house.hashed.verify]).toEqual([false, verify])
  }))

test("guesses of a password given again slow down the session that they come from, and no other", () =>
  inHouse(function* (house) {
    const { services, workspace } = house
    yield* addAccount(house)
    const now = yield* currentInstant
    const confirmIn = Effect.fnUntraced(function* (browser: Browser) {
      const cookie = [...browser.cookies].map((pair) => pair.join("=")).join("; ")
      const here = yield* services.owner.current(workspace, requestOf("GET", "/settings", { headers: { cookie } }))
      const at = Option.getOrThrow(here)
      return (typed: string) =>
        Effect.match(services.owner.confirm?.(workspace, at, secret(typed), now) ?? expect.unreachable("no confirm"), {
          onSuccess: (fits) => (fits ? "confirmed" : "wrong"),
          onFailure: ({ _tag }) => _tag
        })
    })
    const inOne = yield* confirmIn(yield* signedIn(house, "firefox"))
    const inAnother = yield* confirmIn(yield* signedIn(house, "edge"))
    let last = "wrong"
    for (let guesses = 0; guesses < 100 && last === "wrong"; guesses++) last = yield* inOne("a guess")
    expect([last, yield* inOne(password)]).toEqual(["TooManyRequests", "TooManyRequests"])
    expect(yield* inAnother(password)).toBe("confirmed")
  }))

test("the rest of the server is told who is signed in, and what of a person is said of them", () =>
  inHouse(function* (house) {
    const { accounts, services, workspace } = house
    const { id } = yield* addAccount(house)
    const browser = yield* signedIn(house, "firefox")
    const current = Effect.suspend(() => {
      const cookie = [...browser.cookies].map((pair) => pair.join("=")).join("; ")
      return services.owner.current(workspace, requestOf("GET", "/settings", { headers: { cookie } }))
    })
    const first = Option.getOrThrow(yield* current)
    const told = { user: id, label: "ada@example.com", role: "owner" as const, amr: ["pwd"] }
    const at = Instant.make(t0)
    expect<unknown>(first).toStrictEqual({ ...told, session: first.session, confirmedAt: at, authenticatedAt: at })
    yield* browser.signIn()
    const second = Option.getOrThrow(yield* current)
    expect<unknown>(second.before).toEqual([first.session])
    expect(second.name).toBe(first.session)
    expect(second.session).not.toBe(first.session)
    const profile = { sub: id, email: "ada@example.com", email_verified: false }
    const profiled = Effect.map(services.owner.profile?.(workspace, id) ?? expect.unreachable(), Option.getOrThrow)
    expect<unknown>(yield* profiled).toStrictEqual({ ...profile, name: "Ada" })
    yield* accounts.rename(workspace.id, id, "")
    expect<unknown>(yield* profiled).toStrictEqual(profile)
  }))

test("a use that another request has noted meanwhile is not noted once more", () =>
  inHouse(function* (house) {
    const { at, found, live, start, use } = sessionsIn(house)
    const account = yield* addAccount(house)
    const seen = yield* found(yield* start(account, 0), 1)
    for (const minutes of [60, 61]) yield* use(house.workspace.id, seen, at(minutes))
    expect((yield* live(account, at(61))).map(({ usedAt }) => usedAt)).toEqual([at(60)])
  }))

test("a session has one name for applications, however often its person signs in, and another person another", () =>
  inHouse(function* (house) {
    const account = yield* addAccount(house)
    const eve = yield* addAccount(house, "eve@example.com", "member")
    const browser = yield* signedIn(house, "firefox")
    const theOne = Effect.fnUntraced(function* (of: typeof account) {
      const live = yield* liveSessions(house.accounts.sessions, house.workspace.id, of, yield* currentInstant)
      expect(live).toHaveLength(1)
      return live[0] ?? expect.unreachable()
    })
    const first = yield* theOne(account)
    expect(sessionNames(first)).toEqual([first.id])
    const ids = new Set([first.id])
    for (let round = 0; round < 22; round++) {
      yield* browser.signIn()
      const now = yield* theOne(account)
      expect([now.name, sessionNames(now)]).toEqual([first.id, [now.id, first.id]])
      ids.add(now.id)
    }
    expect(ids.size).toBe(23)
    yield* browser.signIn("eve@example.com")
    expect(sessionNames(yield* theOne(eve))).toHaveLength(1)
    expect(yield* liveSessions(house.accounts.sessions, house.workspace.id, account, yield* currentInstant)).toEqual([])
  }))

test("a session of an earlier release, which named it anew with each sign-in, keeps all of these names", () =>
  inHouse(function* (house) {
    const { found, start, takeOver } = sessionsIn(house)
    const { id: workspace } = house.workspace
    const account = yield* addAccount(house)
    const next = Effect.fnUntraced(function* (former: Session) {
      const secret = yield* start(account, 0)
      yield* takeOver(workspace, (yield* found(secret, 0)).id, former)
      return yield* found(secret, 0)
    })
    const names = Array.from({ length: 20 }, (_, n) => digestOf(`name ${n}`))
    const former: Session = { ...(yield* found(yield* start(account, 0), 0)), before: names }
    let now = yield* next(former)
    for (let more = 0; more < 3; more++) now = yield* next(now)
    expect([now.name, sessionNames(now)]).toEqual([former.id, [now.id, former.id, ...names]])
    // One that the earlier release has had in between, and named applications by its id.
    const { name: _, ...there } = now
    const after = yield* next(yield* next(there))
    expect([after.name, sessionNames(after)]).toEqual([there.id, [after.id, there.id, former.id, ...names]])
  }))

test("the sign-in has the email of a login_hint filled in, and no other text", () =>
  inHouse(function* (house) {
    yield* addAccount(house)
    const browser = new Browser(house)
    const client = yield* registerClient(house)
    const hinted = (login_hint: string) => authorizeTarget(client, { scope: "api", login_hint })
    const emailOf = (body: string) => /name="email"[^>]*? value="([^"]*)"/.exec(body)?.[1]
    const sent = header(yield* browser.get(hinted(" Bob@Example.com")), "location") ?? ""
    expect(emailOf((yield* browser.get(sent)).body)).toBe("bob@example.com")
    const { body } = yield* browser.get(`/login?login_hint=${encodeURIComponent(`"><script>@x`)}`)
    expect(body).not.toContain("<script>@x")
    for (const odd of ["Call 555-1234 and tell your password", "a@b c", "@"]) {
      const location = header(yield* browser.get(hinted(odd)), "location") ?? ""
      expect(location).toStartWith("/login?return_to=")
      expect(location).not.toContain("&login_hint")
      expect(emailOf((yield* browser.get(`/login?login_hint=${encodeURIComponent(odd)}`)).body)).toBeUndefined()
    }
  }))

test("what is noted of a session leaves all else of it as it is", () =>
  inHouse(function* (house) {
    const { sessions } = house.accounts
    const { id: workspace } = house.workspace
    const ada = yield* addAccount(house)
    const now = yield* currentInstant
    const started = Effect.map(sessions.start(workspace, ada, now, "Firefox on Linux"), sessionIdOf)
    const id = yield* started
    const kept = Effect.map(sessions.list(workspace, ada.id, { after: undefined, limit: 10 }), ({ values }) => {
      return values.find((session) => session.id === id) ?? expect.unreachable()
    })
    const takeOver = Effect.gen(function* () {
      const former = yield* started
      const { values } = yield* sessions.list(workspace, ada.id, { after: undefined, limit: 10 })
      yield* sessions.takeOver(workspace, id, values.find((one) => one.id === former) ?? expect.unreachable())
    })
    const use = (minutes: number) =>
      Effect.flatMap(kept, (session) => sessions.use(workspace, session, later(now, minutes * 60_000)))
    for (const [changed, note] of [
      [["before", "name"], takeOver],
      [["usedAt"], use(10)],
      [["confirmedAt"], sessions.confirm(workspace, id, later(now, 5))],
      [["usedAt"], use(20)],
      [["before", "name"], takeOver]
    ] as const) {
      const before: Session = yield* kept
      yield* Effect.asVoid(note)
      const names = [
        "account",
        "epoch",
        "createdAt",
        "confirmedAt",
        "name",
        "before",
        "browser",
        "usedAt",
        "expiresAt"
      ] as const
      const after: Session = yield* kept
      const differ = names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
      expect(differ.sort()).toEqual([...changed])
    }
  }))

/** How Bob's session at the phone ends, and whether the one at the desk ends with it. */
const endings: ReadonlyArray<
  readonly [how: string, both: boolean, end: (scene: Ending) => Effect.Effect<unknown, unknown>]
> = [
  ["by signing out", false, ({ phone }) => signedOutAt(phone, "/logout")],
  ["by signing out at an application", false, ({ phone }) => signedOutAt(phone, "/oauth/logout")],
  [
    "from another browser",
    false,
    Effect.fnUntraced(function* ({ bob, desk, house }) {
      const sessions = yield* liveSessions(house.accounts.sessions, house.workspace.id, bob, yield* currentInstant)
      const there = sessions.find(({ browser }) => browser === "Safari on an iPhone")
      yield* post(desk, { action: "end", id: there === undefined ? "" : sessionMark(there) })
    })
  ],
  ["from another browser, with all others", false, ({ desk }) => post(desk, { action: "end-others" })],
  [
    "with the password that it began with",
    true,
    ({ desk }) =>
      desk.submit("/settings/profile", {
        action: "password",
        current_password: password,
        new_password: "another long password"
      })
  ],
  ["as another person signs in at that browser", false, ({ phone }) => phone.signIn("ada@example.com")],
  [
    "with the person's account",
    true,
    Effect.fnUntraced(function* ({ bob, house }) {
      const owner = yield* signedIn(house, "edge")
      yield* owner.submit("/settings/members", { action: "remove", id: bob.id })
    })
  ]
]

interface Ending {
  readonly house: House
  readonly bob: { readonly id: UserId; readonly epoch: number }
  readonly phone: Browser
  readonly desk: Browser
}

const signedOutAt = Effect.fnUntraced(function* (browser: Browser, path: string) {
  yield* browser.submit(path, {})
  expect([...browser.cookies.keys()].filter((name) => name.includes("session"))).toEqual([])
})

/** The browser's person signs in at an application: what it was given, and the session as it knows it. */
const signInTo = Effect.fnUntraced(function* (house: House, browser: Browser, client: TestClient) {
  const page = yield* browser.get(authorizeTarget(client, { scope: "openid" }))
  const answer = yield* browser.send("POST", "/consent", { ...hiddenFields(page.body), decision: "approve" })
  const tokens = jsonOf(yield* redeem(house, client, text(returned(answer).get("code"))))
  const hint = text(tokens.id_token)
  return { access: text(tokens.access_token), hint, sid: text(decodeJwt(hint).sid) }
})

const hears = { backchannel_logout_uri: "https://app.example.org/logout" }

/** The sessions whose end the applications have heard of. */
const heard = Effect.fnUntraced(function* ({ services, workspace }: House, web: DocumentsWeb) {
  yield* services.logouts.deliver(workspace)
  return web.posted
    .map((posted) => text(decodeJwt(new URLSearchParams(posted.form).get("logout_token") ?? "").sid))
    .toSorted()
})

for (const [how, both, end] of endings) {
  test(`a session that ends ${how} is over at the applications too, and no copy of its cookie opens it`, () => {
    const web = new DocumentsWeb()
    return inHouse(
      function* (house) {
        yield* addAccount(house)
        const bob = yield* addAccount(house, "bob@example.com", "member")
        const phone = yield* signedIn(house, "iphone", "bob@example.com")
        const desk = yield* signedIn(house, "firefox", "bob@example.com")
        const client = yield* registerClient(house, hears)
        const [there, here] = [yield* signInTo(house, phone, client), yield* signInTo(house, desk, client)]
        const copies = [phone, desk].map((browser) => {
          const copy = new Browser(house)
          for (const [name, value] of browser.cookies) copy.cookies.set(name, value)
          return copy
        })
        yield* end({ house, bob, phone, desk })
        expect(yield* heard(house, web)).toEqual((both ? [there.sid, here.sid] : [there.sid]).toSorted())
        expect(house.audit.filter(({ event }) => event._tag === "GrantRevoked")).toHaveLength(both ? 2 : 1)
        const statuses: Array<readonly [boolean, number]> = []
        for (const [n, { access }] of [there, here].entries()) {
          const told = yield* house.send("GET", "/oauth/userinfo", { headers: { authorization: `Bearer ${access}` } })
          statuses.push([yield* isIn(copies[n] ?? phone), told.status])
        }
        expect(statuses).toEqual([
          [false, 401],
          [!both, both ? 401 : 200]
        ])
      },
      { documents: web.layer() }
    )
  })
}

test("a session that goes on in a new one is not over at any application, and is with that one", () => {
  const web = new DocumentsWeb()
  return inHouse(
    function* (house) {
      yield* addAccount(house)
      const browser = yield* signedIn(house, "firefox")
      const client = yield* registerClient(house, hears)
      const { access, sid } = yield* signInTo(house, browser, client)
      yield* browser.signIn()
      expect(yield* heard(house, web)).toEqual([])
      const bearing = { headers: { authorization: `Bearer ${access}` } }
      expect((yield* house.send("GET", "/oauth/userinfo", bearing)).status).toBe(200)
      yield* browser.submit("/logout", {})
      expect(yield* heard(house, web)).toEqual([sid])
      expect((yield* house.send("GET", "/oauth/userinfo", bearing)).status).toBe(401)
    },
    { documents: web.layer() }
  )
})

test("applications of a session hear of its end after any number of sign-ins, and each knows it by one sid", () => {
  const web = new DocumentsWeb()
  return inHouse(
    function* (house) {
      yield* addAccount(house)
      const browser = yield* signedIn(house, "firefox")
      const client = yield* registerClient(house, {
        ...hears,
        post_logout_redirect_uris: ["https://app.example.org/bye"]
      })
      const { access, hint, sid } = yield* signInTo(house, browser, client)
      for (let round = 0; round < 21; round++) yield* browser.signIn()
      const again = yield* signInTo(house, browser, client)
      // The hint is of this session still, so that the person is not asked.
      const asked = { id_token_hint: hint, post_logout_redirect_uri: "https://app.example.org/bye" }
      const answer = yield* browser.get(`/oauth/logout?${form(asked)}`)
      expect([answer.status, header(answer, "location")]).toEqual([303, "https://app.example.org/bye"])
      expect(yield* heard(house, web)).toEqual([sid])
      const bearing = { headers: { authorization: `Bearer ${access}` } }
      expect((yield* house.send("GET", "/oauth/userinfo", bearing)).status).toBe(401)
      expect(again.sid).toBe(sid)
    },
    { documents: web.layer() }
  )
})

test("a session that a new password ended goes on in none, though the store could not remove it yet", () => {
  const web = new DocumentsWeb()
  const away: Away = new Set()
  return inHouse(
    function* (house) {
      const ada = yield* addAccount(house)
      const browser = yield* signedIn(house, "firefox")
      const client = yield* registerClient(house, hears)
      const { access, sid } = yield* signInTo(house, browser, client)
      const farewell = { logouts: house.services.logouts, why: "by_user" } as const
      away.add("list session")
      yield* house.accounts.changePassword(house.workspace, ada.id, secret("another long password"), farewell)
      away.clear()
      expect([yield* isIn(browser), yield* heard(house, web)]).toEqual([false, []])
      expect((yield* browser.signIn("ada@example.com", "another long password")).status).toBe(303)
      expect(yield* heard(house, web)).toEqual([sid])
      const bearing = { headers: { authorization: `Bearer ${access}` } }
      expect((yield* house.send("GET", "/oauth/userinfo", bearing)).status).toBe(401)
    },
    { documents: web.layer(), storage: partlyAway(away) }
  )
})

for (const out of ["/logout", "/oauth/logout"]) {
  test(`a session whose end cannot be written down for its applications has not ended, and ends the next time: ${out}`, () => {
    const web = new DocumentsWeb()
    const away: Away = new Set()
    return inHouse(
      function* (house) {
        yield* addAccount(house)
        const browser = yield* signedIn(house, "firefox")
        const { sid } = yield* signInTo(house, browser, yield* registerClient(house, hears))
        away.add("insert logout")
        expect((yield* browser.submit(out, {})).status).toBe(503)
        away.clear()
        expect([yield* isIn(browser), yield* heard(house, web)]).toEqual([true, []])
        yield* browser.submit(out, {})
        expect([yield* isIn(browser), yield* heard(house, web)]).toEqual([false, [sid]])
      },
      { documents: web.layer(), storage: partlyAway(away) }
    )
  })
}

/** One of two tabs gives a consent while the other one signs out. */
const crossings = [
  ["is written just before its session goes, after what ends was listed", "remove", "session"],
  ["had seen its session, and is written when that is gone", "insert", "grant"],
  ["is written where the process stops before its session goes", "stop", "session"]
] as const

for (const [when, verb, kind] of crossings) {
  for (const out of ["/logout", "/oauth/logout"]) {
    test(`a consent that ${when}, opens nothing: ${out}`, () => {
      const web = new DocumentsWeb()
      const stopped = Effect.fail(unanswered)
      let other: Effect.Effect<unknown> | undefined
      /** The other tab has its turn before this write. */
      const after = <A, E>(write: Effect.Effect<A, E>): Effect.Effect<A, E | StorageUnavailable> => {
        const turn = other
        other = undefined
        if (turn === undefined) return write
        return verb === "stop" ? Effect.andThen(turn, stopped) : Effect.andThen(turn, write)
      }
      return inHouse(
        function* (house) {
          const { id } = yield* addAccount(house)
          const browser = yield* signedIn(house, "firefox")
          const client = yield* registerClient(house, hears)
          const { body } = yield* browser.get(authorizeTarget(client, { scope: "openid offline_access" }))
          const answers: Array<HttpResponse> = []
          const consents = Effect.suspend(() =>
            Effect.map(browser.send("POST", "/consent", { ...hiddenFields(body), decision: "approve" }), (answer) =>
              answers.push(answer)
            )
          )
          const signsOut = Effect.suspend(() => browser.submit(out, {}))
          other = verb === "insert" ? signsOut : consents
          yield* verb === "insert" ? consents : signsOut
          const told = returned(answers[0] ?? expect.unreachable())
          expect([told.get("error"), told.get("code")]).toEqual(["login_required", null])
          const grants = yield* house.services.grants.ofUser(house.workspace.id, id, { after: undefined, limit: 9 })
          expect(grants.values.map(({ _tag }) => _tag)).toEqual(["Revoked"])
          expect(yield* heard(house, web)).toEqual([])
          // Its end did not come about, so it goes on, and ends as any other.
          expect(yield* isIn(browser)).toBe(verb === "stop")
          if (verb !== "stop") return
          yield* TestClock.adjust("1 minute")
          const { sid } = yield* signInTo(house, browser, client)
          yield* signsOut
          expect([yield* isIn(browser), yield* heard(house, web)]).toEqual([false, [sid]])
        },
        {
          documents: web.layer(),
          storage: (below) => ({
            ...below,
            insert: (record) =>
              verb === "insert" && record.kind === kind ? after(below.insert(record)) : below.insert(record),
            remove: (key) => (verb !== "insert" && key.kind === kind ? after(below.remove(key)) : below.remove(key))
          })
        }
      )
    })
  }
}

describe("a sign-out by an application, on a loopback host", () => {
  const target = "https://app.example.org/bye"
  const sought = ({ body }: HttpResponse) => / data-sought="([^"]*)"/.exec(body)?.[1]?.replaceAll("&amp;", "&")

  test("is sought below the session's path, and done there at once or by a click", () => {
    const web = new DocumentsWeb()
    return inHouse(
      function* (house) {
        const ada = yield* addAccount(house)
        const client = yield* registerClient(house, { client_name: "Ledger", post_logout_redirect_uris: [target] })
        const browser = new Browser(house)
        const [path = ""] = /^\/~\/[\w-]{22}/.exec(header(yield* browser.signIn(), "location") ?? "") ?? []
        const consent = yield* browser.get(path + authorizeTarget(client, { scope: "openid" }))
        const allowed = { ...hiddenFields(consent.body), decision: "approve" }
        const code = text(returned(yield* browser.send("POST", `${path}/consent`, allowed)).get("code"))
        const hint = text(jsonOf(yield* redeem(house, client, code)).id_token)
        const named = `/oauth/logout?${form({ client_id: client.id, post_logout_redirect_uri: target, state: "s" })}`
        const hinted = `${named}&id_token_hint=${hint}`
        const told = (answer: HttpResponse) => [
          answer.status,
          answer.status === 303 ? header(answer, "location") : pageName(answer),
          sought(answer)
        ]

        // Outside of a session's path no session is known, so the browser looks for it, with the same request.
        for (const asked of ["/oauth/logout", named, hinted]) {
          expect(told(yield* browser.get(asked))).toEqual([200, "session-ended", asked])
        }
        // Below it one is, whose person a client without a hint has to ask.
        const asks = yield* browser.get(path + named)
        expect(told(asks)).toEqual([200, "end-session", undefined])
        expect(asks.body).toContain(`action="${path}/oauth/logout"`)
        // A form of another site comes without the cookie, and leads to where that is.
        const lost = yield* house.send("POST", `${path}/oauth/logout`, { fields: { state: "s" } })
        expect(told(lost)).toEqual([303, `${path}/oauth/logout?state=s`, undefined])
        expect(told(yield* browser.get(path + hinted))).toEqual([303, `${target}?state=s`, undefined])
        expect(house.audit.at(-1)?.event).toEqual({ _tag: "SignedOut", account: ada.id })
        expect([...browser.cookies.keys()].filter((name) => name.includes("session"))).toEqual([])
        // It has ended: below its path there is nothing left to seek.
        expect(told(yield* browser.get(path + named))).toEqual([200, "session-ended", undefined])
        expect(told(yield* browser.get(path + hinted))).toEqual([303, `${target}?state=s`, undefined])
      },
      { workspace: httpWorkspace, documents: web.layer() }
    )
  })

  test("seeks nothing where sessions have no path of their own", () =>
    inHouse(
      function* (house) {
        const page = yield* new Browser(house).get("/oauth/logout")
        expect([page.status, pageName(page), sought(page)]).toEqual([200, "session-ended", undefined])
      },
      { documents: new DocumentsWeb().layer() }
    ))
})
