import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { Application } from "../browser/Application.ts"
import { hiddenFields } from "../given/flow.ts"
import { owner, startServer } from "../given/server.ts"
import { serverOfFile } from "../given/serverOfFile.ts"
import { locationOf, Visitor } from "../given/serverVisitor.ts"

const server = serverOfFile({ env: { RATE_LIMITS: "off" } })
const redirectUri = "https://ledger.example.org/callback"

const cookieName = (visitor: Visitor, purpose: "session" | "form") => {
  const found = [...visitor.cookies.keys()].find((name) => name.includes(`tessera_${purpose}`))
  if (found === undefined) throw new Error(`no ${purpose} cookie: ${[...visitor.cookies.keys()].join(" ")}`)
  return found
}

const cookieOf = (visitor: Visitor, purpose: "session" | "form") =>
  visitor.cookies.get(cookieName(visitor, purpose)) ?? ""

const isSignedIn = async (visitor: Visitor) => (await visitor.get("/settings/profile")).status === 200

const signedIn = async () => {
  const visitor = new Visitor(server().url)
  await visitor.signIn()
  return visitor
}

const application = () => Application.register(server().url, "Ledger", redirectUri)

const consentForm = async (visitor: Visitor, url: string) => {
  const page = await visitor.get(url)
  expect(page.status).toBe(200)
  return hiddenFields(await page.text())
}

describe("a session", () => {
  test("is a new one after every sign-in, whatever the browser brought (fixation)", async () => {
    const visitor = new Visitor(server().url)
    await visitor.signIn()
    const name = cookieName(visitor, "session")
    const first = cookieOf(visitor, "session")
    const planted = "A".repeat(first.length)

    const victim = new Visitor(server().url)
    victim.cookies.set(name, planted)
    await victim.signIn()
    expect(cookieOf(victim, "session")).not.toBe(planted)
    const attacker = new Visitor(server().url)
    attacker.cookies.set(name, planted)
    expect(await isSignedIn(attacker)).toBe(false)

    // The attacker's own, planted: the victim's sign-in takes it over nowhere, and ends it at the attacker's own path.
    const mine = await signedIn()
    const mineBefore = cookieOf(mine, "session")
    for (const [path, lasts] of [
      ["", true],
      [mine.sessionPath, false]
    ] as const) {
      victim.sessionPath = path
      victim.cookies.set(name, mineBefore)
      await victim.signIn()
      expect(cookieOf(victim, "session")).not.toBe(mineBefore)
      expect(victim.sessionPath).not.toBe(mine.sessionPath)
      expect(await isSignedIn(mine)).toBe(lasts)
    }
  })

  test("ends at sign-out on the server, not only in the browser", async () => {
    const visitor = await signedIn()
    const [kept, at] = [new Map(visitor.cookies), visitor.sessionPath]
    const answer = await visitor.submit("/logout", {})
    expect([answer.status, visitor.sessionPath]).toEqual([200, ""])
    visitor.sessionPath = at
    for (const [name, value] of kept) visitor.cookies.set(name, value)
    expect(await isSignedIn(visitor)).toBe(false)
  })

  test("is that of its own path where a second cookie of its name came along (tossing)", async () => {
    const [victim, attacker] = [await signedIn(), await signedIn()]
    const name = cookieName(victim, "session")
    const both = [cookieOf(victim, "session"), cookieOf(attacker, "session")]
    for (const [a, b] of [both, [...both].reverse()]) {
      for (const [at, status] of [
        [victim.sessionPath, 200],
        ["", 303]
      ] as const) {
        const answer = await fetch(`${server().url}${at}/settings/profile`, {
          headers: { cookie: `${name}=${a}; ${name}=${b}` },
          redirect: "manual"
        })
        expect(answer.status).toBe(status)
      }
    }
  })

  test("has cookies that scripts, other sites and plain http never see, and that no other host can toss, on https", () =>
    Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const secure = yield* startServer({ env: { BASE_URL: "https://auth.example.com" } })
          yield* Effect.promise(async () => {
            const visitor = new Visitor(secure.url)
            const page = await visitor.get("/login")
            const answer = await visitor.post("/login", { ...hiddenFields(await page.text()), ...owner })
            expect(answer.status).toBe(303)
            const set = [...page.headers.getSetCookie(), ...answer.headers.getSetCookie()]
            expect(set.length).toBeGreaterThanOrEqual(3)
            for (const header of set) {
              const [pair = "", ...attributes] = header.split("; ")
              expect(pair).toStartWith("__Host-")
              expect(attributes).toContain("HttpOnly")
              expect(attributes).toContain("SameSite=Lax")
              expect(attributes).toContain("Secure")
              expect(attributes).toContain("Path=/")
              expect(attributes.some((attribute) => attribute.startsWith("Domain"))).toBe(false)
            }
          })
        })
      )
    ))
})

describe("the form of the sign-in", () => {
  test("is refused with a field of another browser, with none, and without its cookie", async () => {
    const [victim, attacker] = [new Visitor(server().url), new Visitor(server().url)]
    const theirs = hiddenFields(await (await attacker.get("/login")).text())
    const own = hiddenFields(await (await victim.get("/login")).text())
    const attempts = [
      { ...own, csrf: theirs.csrf ?? "" },
      { ...own, csrf: "" },
      { ...own, csrf: `${own.csrf}A` }
    ]
    for (const fields of attempts) expect((await victim.post("/login", { ...fields, ...owner })).status).toBe(403)
    const bare = new Visitor(server().url)
    expect((await bare.post("/login", { ...own, ...owner })).status).toBe(403)
    expect([...bare.cookies.keys()].some((name) => name.includes("session"))).toBe(false)
  })

  test("a planted form cookie beside the browser's own counts for nothing", async () => {
    const [victim, attacker] = [new Visitor(server().url), new Visitor(server().url)]
    const theirs = hiddenFields(await (await attacker.get("/login")).text())
    await victim.get("/login")
    const name = cookieName(victim, "form")
    const answer = await fetch(`${server().url}/login`, {
      method: "POST",
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        cookie: `${name}=${cookieOf(attacker, "form")}; ${name}=${cookieOf(victim, "form")}`
      },
      body: new URLSearchParams({ ...theirs, ...owner }).toString(),
      redirect: "manual"
    })
    expect(answer.status).toBe(403)
  })
})

describe("the ticket of a consent page", () => {
  test("is worth nothing in another session, though it is the same person's", async () => {
    const app = await application()
    const [one, other] = [await signedIn(), await signedIn()]
    const form = await consentForm(one, app.authorizationUrl(redirectUri))
    const own = await consentForm(other, app.authorizationUrl(redirectUri))
    const attempts = [form, { ...form, csrf: own.csrf ?? "" }, { ...own, ticket: form.ticket ?? "" }]
    for (const fields of attempts) {
      const answer = await other.post("/consent", { ...fields, decision: "approve" })
      expect([answer.status, answer.headers.get("location")]).toEqual([403, null])
    }
    expect((await other.post("/consent", { ...own, decision: "approve" })).status).toBe(303)
  })

  test("answers for its own request alone", async () => {
    const [app, greedy] = [await application(), await application()]
    const visitor = await signedIn()
    const wider = app.authorizationUrl(redirectUri, { scope: "api profile", redirect_uri: "https://evil.example/" })
    const others = greedy.authorizationUrl(redirectUri)
    for (const beside of [wider, others].map((url) => new URL(url))) {
      const modest = await consentForm(visitor, app.authorizationUrl(redirectUri, { scope: "profile" }))
      const fields = { ...Object.fromEntries(beside.searchParams), request: beside.search.slice(1) }
      const answer = await visitor.post("/consent", { ...fields, ...modest, decision: "approve" })
      expect(locationOf(answer).href).toStartWith(redirectUri)
      const tokens = await app.redeem(locationOf(answer), redirectUri)
      expect(await tokens.json()).toMatchObject({ scope: "profile" })
    }
  })

  test("gives one code however often it is used, even at once", async () => {
    const app = await application()
    const visitor = await signedIn()
    const form = await consentForm(visitor, app.authorizationUrl(redirectUri))
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => visitor.post("/consent", { ...form, decision: "approve" }))
    )
    const redirects = answers.filter(({ status }) => status === 303)
    expect(redirects.length).toBe(1)
    const codes = new Set<string>()
    for (const answer of answers) {
      const place = answer.status === 303 ? locationOf(answer).href : await answer.text()
      for (const [, code = ""] of place.matchAll(/[?&](?:amp;)?code=([\w-]+)/g)) codes.add(code)
    }
    expect(codes.size).toBe(1)
    const [back] = redirects
    const redeemed = await Promise.all(
      Array.from({ length: 6 }, () => app.redeem(back === undefined ? "" : locationOf(back), redirectUri))
    )
    expect(redeemed.filter(({ status }) => status === 200)).toHaveLength(1)
    const late = await visitor.post("/consent", { ...form, decision: "approve" })
    expect(late.headers.get("location")).toBeNull()
  })

  test("is not believed when an attacker wrote it", async () => {
    const app = await application()
    const visitor = await signedIn()
    const form = await consentForm(visitor, app.authorizationUrl(redirectUri))
    const ticket = form.ticket ?? ""
    const middle = Math.floor(ticket.length / 2)
    const flipped = ticket.slice(0, middle) + (ticket[middle] === "A" ? "B" : "A") + ticket.slice(middle + 1)
    for (const wrong of [flipped, ticket.slice(0, -1), `${ticket}A`, "", "x".repeat(5000), "%00"]) {
      const answer = await visitor.post("/consent", { ...form, ticket: wrong, decision: "approve" })
      expect([wrong.slice(0, 20), answer.status >= 400 && answer.status < 500]).toEqual([wrong.slice(0, 20), true])
    }
  })
})
