import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core"
import { owner } from "../given/server.ts"
import { serverOfFile } from "../given/serverOfFile.ts"
import { leave, sharedBrowser } from "../pages/launchBrowser.ts"
import { Application } from "./Application.ts"
import { approve } from "./approve.ts"
import { meet } from "./meet.ts"

const server = serverOfFile({ env: { ACCESS_LOG: "on" } })

/** What an application on the issuer's own host and another port was sent: cookies know no ports (RFC 6265 §8.5). */
const seen: Array<{ readonly path: string; readonly cookie: string; readonly referrer: string | null }> = []
const program = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: ({ headers, url }) => {
    seen.push({ path: new URL(url).pathname, cookie: headers.get("cookie") ?? "", referrer: headers.get("referer") })
    return new Response("<!doctype html><title>back</title><h1>Back</h1>", { headers: { "content-type": "text/html" } })
  }
})
const place = `http://127.0.0.1:${program.port}`
const redirectUri = `${place}/settings/keys`

let browser: Browser
const contexts: Array<BrowserContext> = []

beforeAll(async () => {
  browser = await sharedBrowser()
})

beforeEach(() => {
  seen.length = 0
})

afterAll(async () => {
  await leave(browser)
  await program.stop(true)
})

const newTab = async (options: BrowserContextOptions = {}): Promise<Page> => {
  const context = await browser.newContext(options)
  contexts.push(context)
  context.setDefaultTimeout(15_000)
  return context.newPage()
}

const button = (tab: Page, name: string) => tab.getByRole("button", { name, exact: true })

const giveCredentials = async (tab: Page) => {
  await tab.getByLabel("Email").fill(owner.email)
  await tab.getByLabel("Password").fill(owner.password)
  await button(tab, "Sign in").click()
}

const register = () => Application.register(server().url, "Ledger", redirectUri)

const url = (client: Application) => client.authorizationUrl(redirectUri, { scope: "profile" })

const pageName = (tab: Page) => tab.locator("body").getAttribute("data-page")

const sessionPathOf = (tab: Page) => /\/~\/[\w-]{22}(?=\/)/.exec(new URL(tab.url()).pathname)?.[0] ?? "none"

/** A person who came from the application, signed in, and let it in. */
const connected = async (tab: Page) => {
  const client = await register()
  await tab.goto(url(client))
  await giveCredentials(tab)
  await tab.waitForURL("**/~/**")
  const at = sessionPathOf(tab)
  await approve(tab)
  await tab.waitForURL(`${redirectUri}?**`)
  return { client, at }
}

const isSignedInBy = async (path: string, cookie: string) =>
  (await fetch(server().url + path, { headers: { cookie }, redirect: "manual" })).status === 200

describe("an application on the issuer's own host", () => {
  test("gets no cookie that opens the session, at its callback or at any path that it can think of", async () => {
    const tab = await newTab()
    const { at, client } = await connected(tab)
    expect((await client.redeem(tab.url(), redirectUri)).status).toBe(200)
    const known = [
      "/",
      "/~/",
      "/login",
      "/logout",
      "/consent",
      "/oauth/authorize",
      "/settings/apps",
      `/~/${"A".repeat(22)}/`
    ]
    for (const path of known) {
      await tab.goto(place + path)
      await tab.evaluate((address) => fetch(address, { credentials: "include" }), `${place}${path}?script`)
    }
    // A browser with windows also asks for an icon.
    const asked = new Set(seen.map(({ path }) => path).filter((path) => path !== "/favicon.ico"))
    expect(asked).toEqual(new Set(["/settings/keys", ...known]))
    for (const { cookie, path, referrer } of seen) {
      expect([path, cookie.includes("tessera_session"), cookie.includes(at)]).toEqual([path, false, false])
      expect([path, referrer?.includes(at) ?? false]).toEqual([path, false])
      for (const page of ["/settings/apps", `${at}/settings/apps`]) {
        expect([page, await isSignedInBy(page, cookie)]).toEqual([page, false])
      }
    }
    // The person's own browser has not lost it.
    await tab.goto(`${server().url}/settings/apps`)
    expect(await pageName(tab)).toBe("settings-apps")
    expect(await tab.getByRole("heading", { name: "Ledger" }).count()).toBe(1)
    expect(server().log()).not.toContain(at)
    expect(server().log()).toContain("/~/settings/apps")
  })

  test("that shows the server's pages in a window of its own learns nothing of where they are", async () => {
    const tab = await newTab()
    const { at, client } = await connected(tab)
    await tab.goto(place)
    const [popup] = await Promise.all([
      tab.waitForEvent("popup"),
      tab.evaluate(`globalThis.popup = open(${JSON.stringify(url(client))}); null`)
    ])
    await popup.waitForURL(`**${at}/oauth/authorize?**`)
    expect(await pageName(popup)).toBe("consent")
    const told = await tab.evaluate(`(() => { try { return popup.location.href } catch { return "withheld" } })()`)
    expect(told).toBe("withheld")
    const stored = await tab.evaluate(`JSON.stringify({ ...localStorage })`)
    expect(stored).toBe("{}")
  })
})

describe("a person on a loopback host", () => {
  test("signs in once, for every tab, request of an application, and address without the path", async () => {
    const tab = await newTab()
    const { at, client } = await connected(tab)
    const other = await tab.context().newPage()
    for (const [address, name] of [
      ["/", "home"],
      ["/settings", "settings-apps"],
      ["/settings/keys", "settings-keys"],
      ["/login", "settings-apps"],
      ["/logout", "sign-out"]
    ] as const) {
      await other.goto(server().url + address)
      await other.waitForURL(`**${at}/**`)
      expect([address, await pageName(other)]).toEqual([address, name])
    }
    await other.goto(url(client))
    await other.waitForURL(`**${at}/oauth/authorize?**`)
    await meet(other, "loopback-consent")
    await approve(other)
    await other.waitForURL(`${redirectUri}?**`)
    await other.goBack()
    expect([await pageName(other), sessionPathOf(other)]).toEqual(["consent", at])
    await approve(other)
    await other.waitForURL(`${redirectUri}?**`)
  })

  test("makes a key, becomes another person, and signs out, in all tabs", async () => {
    const tab = await newTab()
    const { at, client } = await connected(tab)
    await tab.goto(`${server().url}/settings/keys`)
    await tab.getByLabel("Name").fill("Nightly")
    await button(tab, "Create key").click()
    await tab.getByLabel("Nightly").waitFor()
    expect(sessionPathOf(tab)).toBe(at)

    await tab.goto(url(client))
    await tab.getByRole("link", { name: "Not you?" }).click()
    await tab.getByText("You are signed in as").waitFor()
    await giveCredentials(tab)
    await button(tab, "Approve").waitFor()
    const now = sessionPathOf(tab)
    expect(now).not.toBe(at)

    const other = await tab.context().newPage()
    await other.goto(`${server().url}/settings/apps`)
    expect(sessionPathOf(other)).toBe(now)
    // A bookmark of the session before leads into this one.
    await other.goto(`${server().url}${at}/settings/keys`)
    await other.waitForURL(`**${now}/settings/keys`)
    await button(other, "Sign out").click()
    await other.getByRole("heading", { name: "You are signed out" }).waitFor()
    await button(tab, "Approve").waitFor()
    await tab.reload()
    await tab.getByLabel("Email").waitFor()
    await other.getByRole("link", { name: "Sign in again" }).click()
    await giveCredentials(other)
    await other.waitForURL("**/settings/apps")
    expect([at, now]).not.toContain(sessionPathOf(other))
    // A form from before that sign-in is not needed any more.
    await giveCredentials(tab)
    await button(tab, "Approve").waitFor()
    expect(sessionPathOf(tab)).toBe(sessionPathOf(other))
  })

  test("whose browser runs no scripts signs in again where the path is not known, and goes on", async () => {
    const tab = await newTab({ javaScriptEnabled: false })
    const { at, client } = await connected(tab)
    await tab.goto(server().url + at)
    await button(tab, "Sign out").waitFor()
    await tab.goto(url(client))
    await giveCredentials(tab)
    await approve(tab)
    await tab.waitForURL(`${redirectUri}?**`)
    expect(seen.some(({ cookie }) => cookie.includes("tessera_session"))).toBe(false)
  })

  test("is not led in circles by a path that is no session's any more", async () => {
    const tab = await newTab()
    const { at } = await connected(tab)
    await tab.goto(`${server().url}/settings/apps`)
    await tab.context().clearCookies()
    for (const address of ["/settings/keys", "/", "/logout", `${at}/settings/keys`, `${at}/`, `${at}/logout`]) {
      await tab.evaluate(`localStorage.setItem("tessera session path ", ${JSON.stringify(at)})`)
      await tab.goto(server().url + address)
      await tab.waitForFunction(`localStorage.length === 0`)
      const name = (await pageName(tab)) ?? ""
      expect([address, ["sign-in", "home", "signed-out"].includes(name)]).toEqual([address, true])
    }
  })
})
