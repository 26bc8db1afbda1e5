import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { Application } from "../browser/Application.ts"
import { owner } from "../given/server.ts"
import { serverOfFile } from "../given/serverOfFile.ts"
import { Visitor } from "../given/serverVisitor.ts"
import { leave, sharedBrowser } from "../pages/launchBrowser.ts"

/** What another site's page can do to a person who is signed in, in a browser that holds them to its rules. */

const server = serverOfFile()

let page = ""
const hostile = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: ({ url }) =>
    new URL(url).pathname === "/callback"
      ? new Response("back")
      : new Response(page, { headers: { "content-type": "text/html" } })
})

/** Another site; and another origin of the same site, to which browsers send the person's cookies along. */
const origins = [`http://localhost:${hostile.port}`, `http://127.0.0.1:${hostile.port}`] as const

let browser: Browser
let context: BrowserContext
let tab: Page
let application: Application
/** The session's own path, as if another site knew it. */
let at = ""

beforeAll(async () => {
  browser = await sharedBrowser()
  context = await browser.newContext()
  context.setDefaultTimeout(15_000)
  tab = await context.newPage()
  application = await Application.register(server().url, "Ledger", `${origins[1]}/callback`)
  await tab.goto(`${server().url}/login`)
  await tab.getByLabel("Email").fill(owner.email)
  await tab.getByLabel("Password").fill(owner.password)
  await tab.getByRole("button", { name: "Sign in" }).click()
  await tab.waitForURL("**/settings/**")
  at = new URL(tab.url()).pathname.replace(/\/settings.*/, "")
})

afterAll(async () => {
  await leave(browser)
  await hostile.stop(true)
})

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;")

/** A person who is not signed in ends at the sign-in, which is answered 200 as well. */
const isSignedIn = async () => {
  await tab.goto(`${server().url}${at}/settings/keys`)
  return tab.url() === `${server().url}${at}/settings/keys`
}

describe.each([...origins])("from %s", (origin) => {
  test.each(["/login", "/settings/keys", "/settings/apps", "/logout", "/", "authorize"])(
    "%s is not to be had in a frame",
    async (path) => {
      const target =
        path === "authorize" ? application.authorizationUrl(`${origins[1]}/callback`) : server().url + at + path
      page = `<!doctype html><iframe id="frame" src="${escaped(target)}" width="800" height="600"></iframe>`
      const refused = tab.waitForEvent("console", (message) => message.text().includes("frame-ancestors"))
      await tab.goto(`${origin}/`)
      await refused
      const inside = tab.frames().find((frame) => frame !== tab.mainFrame())
      // The browser says so a little before it puts its own page in the frame.
      await inside?.waitForURL((to) => to.protocol === "chrome-error:")
      expect(inside?.url()).toStartWith("chrome-error://")
    }
  )

  const forged: ReadonlyArray<readonly [string, Readonly<Record<string, string>>]> = [
    ["/logout", {}],
    ["/settings/keys", { action: "create", name: "stolen", expires: "never" }],
    ["/settings/profile", { action: "profile", name: "Mallory" }],
    ["/settings/sessions", { action: "end-others" }],
    ["/settings/members", { action: "invite", email: "", role: "owner" }],
    ["/settings/apps", { action: "revoke", id: "x" }],
    ["/settings/clients", { action: "delete", id: "x" }],
    ["/settings/resources", { action: "add", at: "https://evil.example" }],
    ["/settings/documents", { action: "take", takes: "any" }],
    ["/settings/issuers", { action: "add", issuer: "https://evil.example", keys: "https://evil.example/keys" }],
    ["/consent", { decision: "approve", ticket: "x" }],
    ["/login", { email: "mallory@example.com", password: "a few words in a row" }]
  ]

  test.each([...forged])("a form that is sent to %s changes nothing", async (path, fields) => {
    const inputs = Object.entries({ csrf: "x".repeat(43), ...fields })
      .map(([name, value]) => `<input name="${name}" value="${escaped(value)}">`)
      .join("")
    page = `<!doctype html><form method="post" action="${server().url}${at}${path}">${inputs}<button>Win a prize</button></form>`
    await tab.goto(`${origin}/`)
    const answered = tab.waitForResponse((response) => response.request().method() === "POST")
    await tab.getByRole("button").click()
    const status = (await answered).status()
    // Without its cookie the session is not there, and the person is asked: to sign in, or whether to sign out.
    expect([303, 400, 403, 200]).toContain(status)
    if (status === 303) expect((await answered).headers().location).toMatch(/\/log(?:in|out)/)
    await tab.waitForURL(`${server().url}/**`)
    expect(await tab.locator("body[data-page=signed-out]").count()).toBe(0)
    expect(await isSignedIn()).toBe(true)
    const text = await tab.content()
    expect([text.includes("stolen"), text.includes("mallory")]).toEqual([false, false])
    await tab.goto(`${server().url}${at}/settings/members`)
    expect(await tab.getByRole("heading", { name: "Open invitations" }).count()).toBe(0)
    expect(await tab.content()).not.toContain("Mallory")
  })
})

test("an account of the attacker's own does not open in the person's browser, though all hidden fields are real", async () => {
  const attacker = new Visitor(server().url)
  const form = await (await attacker.get("/login")).text()
  const csrf = /name="csrf" value="([^"]+)"/.exec(form)?.[1] ?? ""
  page = `<!doctype html><form method="post" action="${server().url}/login">
<input name="csrf" value="${csrf}"><input name="email" value="${owner.email}"><input name="password" value="${owner.password}">
<button>Win a prize</button></form>`
  const victim = await browser.newContext()
  const their = await victim.newPage()
  for (const origin of origins) {
    await their.goto(`${origin}/`)
    const answered = their.waitForResponse((response) => response.request().method() === "POST")
    await their.getByRole("button").click()
    expect((await answered).status()).toBe(403)
  }
  expect((await victim.cookies()).filter(({ name }) => name.includes("session"))).toEqual([])
  await victim.close()
})

test("a page that opened ours in a window can neither read nor steer it once settings are open", async () => {
  expect(await isSignedIn()).toBe(true)
  page = `<!doctype html><button onclick="window.opened = window.open('${server().url}/settings/keys')">open</button>`
  await tab.goto(`${origins[1]}/`)
  await tab.getByRole("button").click()
  // `Cross-Origin-Opener-Policy` cuts the two apart: to its opener the window is as good as closed.
  await tab.waitForFunction("window.opened?.closed")
})
