import { describe, expect, test } from "bun:test"
import { Application } from "../browser/Application.ts"
import { hiddenFields } from "../given/flow.ts"
import { owner } from "../given/server.ts"
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
})

describe("the form of the sign-in", () => {
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
})
