import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { northwind } from "../../runtimes/embed/guide/host.ts"
import { violationsOf } from "../pages/axe.ts"
import { leave, sharedBrowser } from "../pages/launchBrowser.ts"
import { Application } from "./Application.ts"

/** The guide's own host, with people, a sign-in and a consent page of its own, in a browser. */

let host: { readonly url: string; readonly auth: string; readonly stop: () => Promise<void> }
let browser: Browser
let context: BrowserContext
let tab: Page
let application: Application

const client = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: () =>
    new Response("<!doctype html><title>back</title><h1>Back</h1>", { headers: { "content-type": "text/html" } })
})
const redirectUri = `http://127.0.0.1:${client.port}/callback`

beforeAll(async () => {
  let answer: (request: Request) => Promise<Response> = async () => new Response(null, { status: 503 })
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: (request) => answer(request) })
  const url = `http://127.0.0.1:${server.port}`
  const made = northwind(url, "A".repeat(43))
  answer = made.fetch
  host = {
    url,
    auth: `${url}/auth`,
    stop: async () => {
      await server.stop(true)
      await made.auth.close()
    }
  }
  browser = await sharedBrowser()
  application = await Application.register(host.auth, "Ledger <b>", redirectUri)
})

afterAll(async () => {
  await leave(browser)
  await host.stop()
  await client.stop(true)
})

beforeEach(async () => {
  await context?.close()
  context = await browser.newContext()
  context.setDefaultTimeout(15_000)
  tab = await context.newPage()
})

const button = (name: string) => tab.getByRole("button", { name, exact: true })
const heading = () => tab.getByRole("heading", { level: 1 }).innerText()
const atClient = () => tab.waitForURL((to) => to.href.startsWith(redirectUri))
const returned = (): Readonly<Record<string, string>> => Object.fromEntries(new URL(tab.url()).searchParams)

const allow = async () => {
  const box = tab.getByRole("checkbox")
  if (await box.isVisible()) await box.check()
  await button("Yes, allow it").click()
}

const signIn = async (name: string) => {
  await tab.getByLabel("Your name").fill(name)
  await button("Sign in").click()
}

const toConsent = async (name: string, fields: Readonly<Record<string, string>> = {}) => {
  await tab.goto(application.authorizationUrl(redirectUri, fields))
  await signIn(name)
  await button("Yes, allow it").waitFor()
}

describe("a person of the host's", () => {
  test("signs in with the host, says yes on the host's page, and comes back to the application", async () => {
    await tab.goto(application.authorizationUrl(redirectUri))
    expect(await heading()).toBe("Sign in to Northwind")
    await signIn("ada")
    await button("Yes, allow it").waitFor()
    expect(new URL(tab.url()).pathname).toBe("/allow")
    expect(await heading()).toBe("Allow Ledger <b>?")
    expect(await tab.locator("main").innerText()).toContain("You are ada@northwind.example.")
    expect(await tab.locator("#returns-to").innerText()).toBe(new URL(redirectUri).host)
    expect(await tab.getByRole("listitem").count()).toBe(2)
    expect(await violationsOf(tab)).toEqual([])
    await allow()
    await atClient()
    expect(returned()).toEqual({ code: expect.any(String), state: "a b&c=d/é", iss: host.auth })
    const tokens = await application.tokens(tab.url(), redirectUri)
    const told = await fetch(`${host.auth}/oauth/userinfo`, { headers: { authorization: `Bearer ${tokens.access}` } })
    expect(await told.json()).toEqual({ sub: "ada" })
  })

  test("who is signed in already is asked at once, and may say no", async () => {
    await toConsent("ada")
    await tab.goto(application.authorizationUrl(redirectUri, { state: "second" }))
    await button("No").click()
    await atClient()
    expect(returned()).toMatchObject({ error: "access_denied", state: "second" })
  })

  test("becomes another person by a sign-in that would have sent them straight back", async () => {
    await toConsent("ada")
    await tab.getByRole("link", { name: "Somebody else?" }).click()
    await signIn("grace")
    await tab.getByText("grace@northwind.example").waitFor()
    await allow()
    await atClient()
    const tokens = await application.tokens(tab.url(), redirectUri)
    const told = await fetch(`${host.auth}/oauth/userinfo`, { headers: { authorization: `Bearer ${tokens.access}` } })
    expect(await told.json()).toEqual({ sub: "grace" })
  })

  test("who signed out, or became another person, between reading and answering lets nothing in", async () => {
    await toConsent("ada")
    const other = await context.newPage()
    await other.goto(host.url)
    const leave = "fetch('/sign-out', { method: 'POST' }).then(() => undefined)"
    await other.evaluate(leave)
    await allow()
    await tab.waitForURL("**/sign-in?**")
    await signIn("ada")
    await button("Yes, allow it").waitFor()

    await other.evaluate(leave)
    await other.goto(`${host.url}/sign-in`)
    await other.getByLabel("Your name").fill("grace")
    await other.getByRole("button").click()
    await other.waitForURL(`${host.url}/`)
    // Ada's page, in a browser that is Grace's by now.
    await allow()
    await tab.getByText("The form was not sent from this server's own page.").waitFor()
    expect(new URL(tab.url()).pathname).toBe("/allow")
    await tab.reload()
    await tab.getByText("grace@northwind.example").waitFor()
  })

  test("is told on the host's page what is wrong with a request, and a client what is wrong with its own", async () => {
    await toConsent("ada")
    await tab.goto(`${host.url}/allow?request=client_id%3Dnobody`)
    await tab.getByText("The client or its redirect_uri is not registered here.").waitFor()
    await tab.goto(application.authorizationUrl(redirectUri, { scope: "nothing" }))
    await atClient()
    expect(returned().error).toBe("invalid_scope")
  })

  test("is sent nowhere else by the sign-in", async () => {
    for (const place of ["//evil.example", "/auth/../evil"]) {
      await context.clearCookies()
      await tab.goto(`${host.url}/sign-in?return_to=${encodeURIComponent(place)}`)
      await signIn("ada")
      await tab.waitForURL(`${host.url}/`)
    }
  })

  test("finds the settings in the host's colours", async () => {
    await tab.goto(`${host.auth}/settings/apps`)
    await signIn("ada")
    await tab.getByRole("heading", { name: "Connected apps" }).waitFor()
    expect(await tab.evaluate("getComputedStyle(document.body).backgroundColor")).toBe("rgb(255, 248, 239)")
  })
})

test("another site cannot read what the host's page is told", async () => {
  await toConsent("ada")
  const model = `${host.auth}/consent/model${new URL(tab.url()).search}`
  await tab.goto(redirectUri)
  const read = await tab.evaluate(
    `fetch(${JSON.stringify(model)}, { credentials: "include" }).then((answer) => answer.text(), () => "kept apart")`
  )
  expect(read).toBe("kept apart")
})
