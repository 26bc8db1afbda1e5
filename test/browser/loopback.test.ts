import { afterAll, beforeAll, expect, test } from "bun:test"
import type { Browser } from "playwright-core"
import { form, formHeaders, hiddenFields } from "../given/flow.ts"
import { owner } from "../given/server.ts"
import { serverOfFile } from "../given/serverOfFile.ts"
import { launchBrowser } from "../pages/launchBrowser.ts"
import { Application } from "./Application.ts"
import { approve } from "./approve.ts"
import { meet } from "./meet.ts"

const server = serverOfFile()

/** What a browser sent to an application's own callback, on the issuer's host and another port. */
const cookies: Array<string> = []
const application = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: (request) => {
    cookies.push(request.headers.get("cookie") ?? "")
    return new Response("<!doctype html><title>back</title>", { headers: { "content-type": "text/html" } })
  }
})
const redirectUri = `http://127.0.0.1:${application.port}/callback`

let browser: Browser

beforeAll(async () => {
  browser = await launchBrowser()
})

afterAll(async () => {
  await browser.close()
  await application.stop(true)
})

const pageOf = async (answer: Response) => /<body data-page="([^"]*)"/.exec(await answer.text())?.[1]

test("an application's callback on the issuer's own host has the session's cookie, and makes no key with it", async () => {
  const context = await browser.newContext()
  context.setDefaultTimeout(15_000)
  const tab = await context.newPage()
  const client = await Application.register(server().url, "Ledger", redirectUri)
  await tab.goto(client.authorizationUrl(redirectUri, { scope: "profile" }))
  await tab.getByLabel("Email").fill(owner.email)
  await tab.getByLabel("Password").fill(owner.password)
  await tab.getByRole("button", { name: "Sign in" }).click()
  await approve(tab)
  await tab.waitForURL(`${redirectUri}?**`)

  const cookie = cookies.find((sent) => sent.includes("tessera_session")) ?? ""
  // Cookies know no ports (RFC 6265 §8.5): what the session can do is what is bounded.
  expect(cookie).not.toBe("")
  const look = (section: string) => fetch(`${server().url}/settings/${section}`, { headers: { cookie } })
  for (const [section, fields] of [
    ["keys", { action: "create", name: "Stolen", expires: "never" }],
    ["members", { action: "invite", email: "", role: "owner" }]
  ] as const) {
    const { csrf = "" } = hiddenFields(await (await look(section)).text())
    const answer = await fetch(`${server().url}/settings/${section}`, {
      method: "POST",
      headers: { ...formHeaders, cookie },
      body: form({ csrf, ...fields })
    })
    expect([answer.status, await pageOf(answer)]).toEqual([403, "confirm-password"])
  }
  expect(await (await look("keys")).text()).not.toContain("Stolen")

  // The person, who knows the password, goes on with what was typed.
  await tab.goto(`${server().url}/settings/keys`)
  await tab.getByLabel("Name").fill("Nightly & <export>")
  await tab.getByRole("button", { name: "Create key" }).click()
  await tab.getByRole("heading", { name: "Confirm your password" }).waitFor()
  await meet(tab, "confirm-password")
  await tab.getByLabel("Password", { exact: true }).fill("not it")
  await tab.keyboard.press("Enter")
  await tab.getByRole("alert").waitFor()
  await meet(tab, "confirm-password-again")
  await tab.getByLabel("Password", { exact: true }).fill(owner.password)
  await tab.keyboard.press("Enter")
  await tab.getByLabel("Nightly & <export>").waitFor()
  expect(new URL(tab.url()).search).toBe("")
  await context.close()
})
