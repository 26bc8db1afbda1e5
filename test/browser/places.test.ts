import { afterAll, beforeAll, expect, test } from "bun:test"
import { join } from "node:path"
import type { Browser } from "playwright-core"
import * as memory from "../../adapters/memory/Memory.ts"
import { createTessera } from "../../runtimes/tessera.ts"
import { violationsOf } from "../pages/axe.ts"
import { leave, sharedBrowser } from "../pages/launchBrowser.ts"
import { keepPicture } from "../pages/photograph.ts"
import { Application } from "./Application.ts"

/** A host whose Ada is in two organisations, and Grace in a dozen; Tessera draws the page. */

let browser: Browser
let stop: () => Promise<void>
let url: string
let places: () => Promise<ReadonlyArray<string | undefined>>

const client = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("back at the application") })
const redirectUri = `http://127.0.0.1:${client.port}/callback`
const pictures = join(import.meta.dir, "../../artifacts/screenshots/places")

const organisations: Record<string, ReadonlyArray<{ id: string; label: string; detail?: string }>> = {
  ada: [
    { id: "org_bakers", label: "The bakers of the north and the south of Holland", detail: "bakers.example" },
    { id: "org_museum", label: "Museum" }
  ],
  grace: Array.from({ length: 12 }, (_, at) => ({ id: `org_${at}`, label: `Ship ${at}`, detail: `${at}.navy.example` }))
}

beforeAll(async () => {
  let answer: (request: Request) => Promise<Response> = async () => new Response(null, { status: 503 })
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: (request) => answer(request) })
  url = `http://127.0.0.1:${server.port}`
  const auth = createTessera({
    issuer: url,
    name: "Northwind",
    storage: memory.layer,
    keys: "A".repeat(43),
    log: "none",
    owner: {
      signedIn: ({ headers }) => {
        const user = /person=([a-z]+)/.exec(headers.get("cookie") ?? "")?.[1]
        return user === undefined ? undefined : { user, session: user, label: `${user}@northwind.example` }
      },
      signInAt: (returnTo) => `/sign-in?return_to=${encodeURIComponent(returnTo)}`,
      places: (user) => organisations[user] ?? []
    }
  })
  answer = (request) => auth.handle(request)
  places = async () => (await auth.grants.list("ada")).items.map(({ place }) => place).toSorted()
  stop = async () => {
    await server.stop(true)
    await auth.close()
  }
  browser = await sharedBrowser()
})

afterAll(async () => {
  await leave(browser)
  await stop()
  await client.stop(true)
})

const openAs = async (person: string, colorScheme: "light" | "dark") => {
  const context = await browser.newContext({ viewport: { width: 360, height: 740 }, colorScheme })
  await context.addCookies([{ name: "person", value: person, url }])
  const tab = await context.newPage()
  tab.setDefaultTimeout(15_000)
  const press = async (...keys: ReadonlyArray<string>) => {
    for (const key of keys) await tab.keyboard.press(key)
  }
  const focused = () => tab.evaluate("document.activeElement.value || document.activeElement.name || ''")
  const isFit = async (name: string) => {
    expect(await tab.evaluate("document.documentElement.scrollWidth")).toBe(360)
    expect(await violationsOf(tab)).toEqual([])
    await keepPicture(tab, join(pictures, `${name}.png`))
  }
  return { context, focused, isFit, press, tab }
}

test("one of two organisations is chosen on a narrow screen, with the keyboard alone", async () => {
  const application = await Application.register(url, "Ledger", redirectUri)
  const { context, focused, isFit, press, tab } = await openAs("ada", "light")
  await tab.goto(application.authorizationUrl(redirectUri))
  await isFit("two")
  // "Not you?", then the group: an arrow chooses, Enter in it approves nothing, and the box and the buttons follow.
  await press("Tab", "Tab")
  expect(await focused()).toBe("org_bakers")
  await press("ArrowDown", "Enter")
  await tab.waitForURL(`${url}/consent`)
  expect(await places()).toEqual([])
  await press("Tab", "Tab")
  expect(await focused()).toBe("org_museum")
  await press("Tab", "Space", "Tab", "Tab")
  expect(await focused()).toBe("approve")
  await press("Enter")
  await tab.waitForURL((to) => to.href.startsWith(redirectUri))
  expect((await application.redeem(tab.url(), redirectUri)).status).toBe(200)
  expect(await places()).toEqual(["org_museum"])
  // The last one comes first, and is chosen: another takes one key more.
  await tab.goto(application.authorizationUrl(redirectUri))
  expect(await tab.getByRole("radio").first().inputValue()).toBe("org_museum")
  expect(await tab.getByRole("radio").first().isChecked()).toBe(true)
  await context.close()
})

test("one of many is searched for, with the keyboard alone, in the dark", async () => {
  const application = await Application.register(url, "Ledger", redirectUri)
  const { context, focused, isFit, press, tab } = await openAs("grace", "dark")
  await tab.goto(application.authorizationUrl(redirectUri))
  expect(await tab.getByRole("radio").count()).toBe(10)
  await isFit("many")
  await press("Tab", "Tab")
  expect(await focused()).toBe("place_search")
  await tab.keyboard.type("11.navy")
  await press("Enter")
  await tab.waitForURL(`${url}/consent`)
  await tab.locator(":focus").waitFor()
  await isFit("found")
  await press("Tab", "Tab", "Space")
  expect(await focused()).toBe("org_11")
  expect(await tab.getByRole("radio").count()).toBe(1)
  await context.close()
})
