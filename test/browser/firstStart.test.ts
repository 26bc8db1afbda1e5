import { afterAll, beforeAll, expect, test } from "bun:test"
import { Effect } from "effect"
import type { Browser } from "playwright-core"
import { setUpLink, startServer } from "../given/server.ts"
import { scoped } from "../harness/scoped.ts"
import { leave, sharedBrowser } from "../pages/launchBrowser.ts"
import { Application } from "./Application.ts"
import { approve } from "./approve.ts"
import { meet } from "./meet.ts"

let browser: Browser
beforeAll(async () => {
  browser = await sharedBrowser()
})
afterAll(() => leave(browser))

const application = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("back at the application") })
const redirectUri = `http://localhost:${application.port}/callback`
afterAll(() => application.stop(true))

test("from the first start to an application that works: link, account, sign-in, consent", () =>
  scoped(function* () {
    const server = yield* startServer({ owner: "none" })
    const link = setUpLink(server)
    const tab = yield* Effect.promise(() => browser.newPage())
    const button = (name: string) => tab.getByRole("button", { name, exact: true })
    const fill = async (fields: Readonly<Record<string, string>>) => {
      for (const [label, value] of Object.entries(fields)) await tab.getByLabel(label).fill(value)
    }
    const submit = "form button[type=submit]"
    const account = { email: "grace@northwind.example", password: "a few words in a row" }

    yield* Effect.promise(async () => {
      await tab.goto(link)
      await meet(tab, "set-up")
      await tab.reload()
      await fill({ "Your name": "Grace", Email: account.email, Password: account.email })
      await tab.locator(submit).click()
      await tab.locator("input[name=password][aria-invalid=true]").waitFor()
      await meet(tab, "set-up-again")
      await fill({ Password: account.password })
      await tab.locator(submit).click()
      await tab.waitForURL("**/settings/**")
      await meet(tab, "settings-at-first")

      expect((await tab.goto(link))?.status()).toBe(410)
      await meet(tab, "link-spent")
      await tab.goto(`${server.url}/logout`)
      await meet(tab, "sign-out")
      await button("Sign out").click()
      await tab.getByRole("heading", { level: 1 }).waitFor()
    })

    // The server does not offer a second first account.
    yield* server.stop
    yield* server.start
    expect(server.log().match(/set-up\?token=/g)).toHaveLength(1)

    yield* Effect.promise(async () => {
      const client = await Application.register(server.url, "Ledger", redirectUri)
      await tab.goto(client.authorizationUrl(redirectUri))
      await fill({ Email: account.email, Password: account.password })
      await button("Sign in").click()
      await approve(tab)
      await tab.waitForURL(`${redirectUri}?**`)
      expect(await client.works(await client.tokens(tab.url(), redirectUri))).toBe(true)
    })
  }))
