import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { owner } from "../given/server.ts"
import { serverOfFile } from "../given/serverOfFile.ts"
import { launchBrowser } from "../pages/launchBrowser.ts"
import { Application } from "./Application.ts"
import { acknowledge, approve } from "./approve.ts"
import { certificateFor } from "./certificate.ts"
import { meet } from "./meet.ts"

const server = serverOfFile()

const host = "ledger.example.org"
const secure = `https://${host}/callback`
const back = () =>
  new Response("<!doctype html><title>back</title><h1>Back</h1>", { headers: { "content-type": "text/html" } })

const local = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: back })
const loopback = `http://127.0.0.1:${local.port}/callback`

let remote: Bun.Server<undefined>
let browser: Browser
let context: BrowserContext
let tab: Page
let application: Application

beforeAll(async () => {
  remote = Bun.serve({ hostname: "127.0.0.1", port: 0, tls: await certificateFor(host), fetch: back })
  browser = await launchBrowser([`--host-resolver-rules=MAP ${host} 127.0.0.1:${remote.port}`])
  application = await Application.register(server().url, "Ledger", secure)
})

afterAll(async () => {
  await browser.close()
  await remote.stop(true)
  await local.stop(true)
})

beforeEach(async () => {
  await context?.close()
  context = await browser.newContext({ ignoreHTTPSErrors: true })
  context.setDefaultTimeout(15_000)
  tab = await context.newPage()
})

const button = (name: string, at = tab) => at.getByRole("button", { name, exact: true })
/** The stable name of the page that the tab shows. */
const pageName = (at = tab) => at.locator("body").getAttribute("data-page")
const url = () => application.authorizationUrl(secure)

const signIn = async (at = tab, password: string = owner.password) => {
  await at.getByLabel("Email").fill(owner.email)
  await at.getByLabel("Password").fill(password)
  await button("Sign in", at).click()
}

const toConsent = async (at = tab, target = url()) => {
  await at.goto(target)
  if ((await pageName(at)) === "sign-in") await signIn(at)
  await button("Approve", at).waitFor()
}

const atClient = (at = tab, redirectUri = secure) => at.waitForURL((to) => to.href.startsWith(redirectUri))

/** What came back to the client, and nothing that the server did not mean to send. */
const returned = (at = tab): Readonly<Record<string, string>> => Object.fromEntries(new URL(at.url()).searchParams)

describe("approve goes back", () => {
  test("to https", async () => {
    await tab.goto(url())
    await meet(tab, "login-for-an-application")
    await signIn()
    await meet(tab, "consent")
    expect(await tab.locator("dt", { hasText: "Returns you to" }).locator("..").innerText()).toContain(host)
    await approve(tab)
    await atClient()
    expect(returned()).toEqual({ code: expect.any(String), state: "a b&c=d/é", iss: server().url })
    expect(await application.works(await application.tokens(tab.url(), secure))).toBe(true)
  })

  test("with a state that browsers leave as it is, a backslash too, in the longest request that is kept", async () => {
    const written = String.raw`a\b\\evil.example/[x]|^`
    const asking = (state: string) => url().replace(/state=[^&]*/, () => `state=${state}`)
    const room = 12 * 1024 - encodeURIComponent(asking(written).slice(server().url.length)).length
    const state = written + "a".repeat(room)
    await toConsent(tab, asking(state))
    await approve(tab)
    await atClient()
    expect(new URL(tab.url()).search).toContain(`&state=${state}&`)

    expect((await tab.goto(asking(`${state}a`)))?.status()).toBe(400)
    await meet(tab, "error-request-too-long")
  })

  test("to a loopback address, with another port than was registered", async () => {
    const cli = await Application.register(server().url, "Command line", "http://127.0.0.1:1/callback")
    await toConsent(tab, cli.authorizationUrl(loopback))
    await meet(tab, "consent-loopback")
    await approve(tab)
    await atClient(tab, loopback)
    expect(await cli.works(await cli.tokens(tab.url(), loopback))).toBe(true)
  })

  test("to a scheme of the application's own, and the page that stays behind does no harm", async () => {
    const redirectUri = "org.example.notes:/oauth2redirect"
    const notes = await Application.register(server().url, "Notes", redirectUri)
    await toConsent(tab, notes.authorizationUrl(redirectUri))
    await meet(tab, "consent-private-scheme")
    const isHandedOver = (request: { url: () => string }) => request.url().startsWith(redirectUri)
    const handedOver = tab.waitForEvent("requestfailed", isHandedOver)
    await approve(tab)
    const sent = (await handedOver).url()
    expect((await handedOver).failure()?.errorText).toBe("net::ERR_ABORTED")

    // The system opens the application; the browser stays where it was, and so may the person's finger. A click that
    // meets the end of the first one's way is lost, and is made again.
    const onward = tab.getByRole("link", { name: "Continue" })
    const isShown = () =>
      onward.waitFor({ timeout: 3000 }).then(
        () => true,
        () => false
      )
    for (let clicks = 0; clicks < 5; clicks++) {
      await approve(tab)
      if (await isShown()) break
    }
    await onward.waitFor()
    await meet(tab, "consent-answered-waiting")
    expect(await onward.getAttribute("href")).toBe(sent)

    expect(await notes.works(await notes.tokens(sent, redirectUri))).toBe(true)
    await tab.reload()
    expect(await tab.getByRole("link", { name: "Continue" }).count()).toBe(0)
    await meet(tab, "consent-answered-used")
  })
})

describe("an application that no person has let in yet", () => {
  test("is let in by two things that a person does, and told no by one", async () => {
    const fresh = await Application.register(server().url, "Fresh", secure)
    await toConsent(tab, fresh.authorizationUrl(secure))
    await button("Approve").click()
    const held = "document.activeElement.id === 'acknowledged' && document.activeElement.validity.valueMissing"
    expect(await tab.evaluate(held)).toBe(true)
    expect(await pageName()).toBe("consent")
    // Without what the browser checks, the server does.
    await tab.evaluate("document.activeElement.required = false")
    await button("Approve").click()
    await tab.locator("#acknowledged[aria-invalid=true]").waitFor()
    await meet(tab, "consent-unacknowledged")
    await button("Deny").click()
    await atClient()
    expect(returned().error).toBe("access_denied")
  })

  test("redirects no browser by a request that cannot be answered, not even from the sign-in", async () => {
    const fresh = await Application.register(server().url, "Fresh", secure)
    await tab.goto(fresh.authorizationUrl(secure, { scope: "nothing" }))
    expect(await pageName()).toBe("error-strangers-request")
    await meet(tab, "error-strangers-request")
    await tab.getByRole("link", { name: host }).click()
    await atClient()
    expect(returned()).toMatchObject({ error: "invalid_scope", state: "a b&c=d/é" })
  })
})

describe("deny", () => {
  test("goes back with the refusal and nothing else", async () => {
    await toConsent()
    await button("Deny").click()
    await atClient()
    expect(returned()).toEqual({
      error: "access_denied",
      error_description: expect.any(String),
      state: "a b&c=d/é",
      iss: server().url
    })
  })

  test("after an unused approval takes it back", async () => {
    await toConsent()
    await approve(tab)
    await atClient()
    const approved = tab.url()
    await tab.goBack()
    await button("Deny").click()
    await atClient()
    expect(returned().error).toBe("access_denied")
    // Back may have drawn a new page, whose answer is another one; either way the two never mix.
    expect(new URL(approved).searchParams.get("code")).not.toBeNull()
  })
})

describe("signing in", () => {
  test("with a wrong password says so, keeps the email, and goes on to the same place", async () => {
    await tab.goto(url())
    await signIn(tab, "not it")
    const alert = tab.getByRole("alert")
    await alert.waitFor()
    await meet(tab, "login-wrong")
    expect(await tab.getByLabel("Email").inputValue()).toBe(owner.email)
    expect(await tab.getByLabel("Password").inputValue()).toBe("")
    await tab.getByLabel("Password").fill(owner.password)
    await tab.keyboard.press("Enter")
    await approve(tab)
    await atClient()
  })

  test("is offered to a person with another account", async () => {
    await toConsent()
    await tab.getByRole("link", { name: "Not you?" }).click()
    await tab.getByRole("status").filter({ hasText: owner.email }).waitFor()
    await meet(tab, "login-signed-in")
    await signIn()
    await approve(tab)
    await atClient()
  })
})

describe("what people do", () => {
  test("a double click on Approve gives one code, which works once", async () => {
    await toConsent()
    await acknowledge(tab)
    // The second click may end the first one's navigation, or come when that is over: codes are seen as they are sent.
    const codes = new Set<string>()
    tab.on("request", (request) => {
      if (request.url().startsWith(secure)) codes.add(request.url())
    })
    await button("Approve").dblclick({ noWaitAfter: true })
    const onwards = tab.getByRole("link", { name: "Continue" })
    const arrived = tab.getByRole("heading", { name: "Back" })
    await onwards.or(arrived).waitFor()
    if (codes.size === 0) {
      expect(await pageName()).toBe("consent-waiting")
      await onwards.click()
      await arrived.waitFor()
    }
    const [sent = "", ...others] = codes
    expect(others).toEqual([])
    const first = await application.tokens(sent, secure)
    expect(await application.works(first)).toBe(true)
    expect((await application.redeem(sent, secure)).status).toBe(400)
  })

  test("a reload at each step leaves the person where they were", async () => {
    await tab.goto(url())
    await tab.reload()
    expect(await pageName()).toBe("sign-in")
    await signIn(tab, "not it")
    await tab.getByRole("alert").waitFor()
    await tab.reload()
    expect(await pageName()).toBe("sign-in")
    await signIn()
    await button("Approve").waitFor()
    await tab.reload()
    await approve(tab)
    await atClient()
    const code = returned().code
    await tab.reload()
    expect(returned().code).toBe(code)
    expect(await application.works(await application.tokens(tab.url(), secure))).toBe(true)
  })

  test("the back button at each step leads to a page that says what to do, and forward to the end", async () => {
    await toConsent()
    await tab.goBack()
    // The sign-in page: a person who is signed in goes on from there.
    await tab.waitForURL("**/~/*/oauth/authorize?**")
    expect(await pageName()).toBe("consent")
    await tab.goForward()
    await approve(tab)
    await atClient()
    const first = await application.tokens(tab.url(), secure)
    await tab.goBack()
    await approve(tab)
    await tab.waitForURL((to) => to.href.startsWith(secure) || to.pathname === "/consent")
    if (tab.url().startsWith(secure)) {
      // The browser asked for the page anew: another request, another answer.
      expect(await application.works(await application.tokens(tab.url(), secure))).toBe(true)
    } else expect(await pageName()).toBe("consent-waiting")
    expect(await application.works(first)).toBe(true)
  })

  /** Signed in in the first, and in the second by the form that was drawn for a browser that was not. */
  const twoSignIns = async (): Promise<Page> => {
    const other = await context.newPage()
    await tab.goto(url())
    await other.goto(application.authorizationUrl(secure, { state: "other" }))
    await signIn()
    await button("Approve").waitFor()
    await signIn(other)
    return other
  }

  test("a person who signs in anew in one tab starts again in the other", async () => {
    await toConsent()
    const other = await context.newPage()
    await other.goto(application.authorizationUrl(secure, { state: "other" }))
    await other.getByRole("link", { name: "Not you?" }).click()
    await other.getByRole("link", { name: `Continue as ${owner.email}` }).waitFor()
    await meet(other, "login-signed-in")
    await signIn(other)
    await approve(other)
    await atClient(other)
    expect(returned(other).state).toBe("other")
    // The first was drawn under a session that the second sign-in has ended: it is asked again in this one.
    const before = tab.url()
    await approve(tab)
    await tab.waitForURL((to) => to.href !== before && to.pathname.endsWith("/oauth/authorize"))
    await approve(tab)
    await atClient()
    expect(returned().state).toBe("a b&c=d/é")
    expect(await application.works(await application.tokens(other.url(), secure))).toBe(true)
    expect(await application.works(await application.tokens(tab.url(), secure))).toBe(true)
  })

  test("two tabs at once, from the sign-in on, each come to their own end", async () => {
    const other = await twoSignIns()
    await approve(other)
    await atClient(other)
    await approve(tab)
    await atClient()
    expect([returned().state, returned(other).state]).toEqual(["a b&c=d/é", "other"])
  })

  test("two consent pages at once give two codes", async () => {
    await toConsent()
    const other = await context.newPage()
    await toConsent(other)
    await approve(tab)
    await approve(other)
    await Promise.all([atClient(), atClient(other)])
    expect(returned().code).not.toBe(returned(other).code)
    for (const one of [tab, other]) {
      expect(await application.works(await application.tokens(one.url(), secure))).toBe(true)
    }
  })
})

test("with the keyboard alone, from the sign-in to the application", async () => {
  const fresh = await Application.register(server().url, "By keyboard", secure)
  await tab.goto(fresh.authorizationUrl(secure))
  // A browser gives the focus with the first frame that it draws, which may be after the page is there.
  await tab.locator("input[name=email]:focus").waitFor()
  await tab.keyboard.type(owner.email)
  await tab.keyboard.press("Tab")
  await tab.keyboard.type(owner.password)
  await tab.keyboard.press("Enter")
  await button("Approve").waitFor()
  for (const expected of ["Not you?", "acknowledged", "Deny", "Approve"]) {
    await tab.keyboard.press("Tab")
    const focused = "document.activeElement.textContent.trim() || document.activeElement.name"
    expect(await tab.evaluate(focused)).toBe(expected)
    if (expected === "acknowledged") await tab.keyboard.press("Space")
  }
  await tab.keyboard.press("Enter")
  await atClient()
  expect(await fresh.works(await fresh.tokens(tab.url(), secure))).toBe(true)
})

describe("what is wrong is said on a page, and no browser is redirected", () => {
  test.each([
    ["error-unknown-client", { client_id: "nobody" }],
    ["error-redirect-uri", { redirect_uri: "https://elsewhere.example/callback" }]
  ])("%s", async (name, fields) => {
    const answer = await tab.goto(application.authorizationUrl(secure, fields))
    expect(answer?.status()).toBe(400)
    expect(tab.url().startsWith(server().url)).toBe(true)
    await meet(tab, name)
  })

  test.each([
    ["error-not-found", "/no/such/page", 404],
    ["error-nothing-to-approve", "/consent", 400],
    ["home", "/", 200],
    ["login", "/login", 200],
    ["signed-out", "/logout", 200]
  ])("%s", async (name, path, status) => {
    const answer = await tab.goto(server().url + path)
    expect(answer?.status()).toBe(status)
    await meet(tab, name)
  })
})
