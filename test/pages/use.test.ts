import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { Browser, Page } from "playwright-core"
import { gallery } from "./gallery.ts"
import { leave, sharedBrowser } from "./launchBrowser.ts"
import { servePages } from "./servePages.ts"

const client = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("back at the application") })
const callback = `http://localhost:${client.port}/callback`
const pages = servePages(callback)

let browser: Browser
let tab: Page

beforeAll(async () => {
  browser = await sharedBrowser()
  tab = await browser.newPage()
})

afterAll(async () => {
  await leave(browser)
  await pages.stop()
  await client.stop(true)
})

const focused = () =>
  tab.evaluate("(document.activeElement.name || document.activeElement.textContent).trim().replace(/\\s+/g, ' ')")

describe("the way back to the application", () => {
  test("Approve and Deny are followed to another origin", async () => {
    for (const decision of ["Approve", "Deny"]) {
      await tab.goto(pages.at("consent"))
      if (decision === "Approve") await tab.getByRole("checkbox").check()
      await tab.getByRole("button", { name: decision }).click()
      await tab.waitForURL(callback)
    }
  })

  test("so is signing in, which authorize may answer with a redirect", async () => {
    await tab.goto(pages.at("login"))
    await tab.getByLabel("Email").fill("ada@northwind.example")
    await tab.getByLabel("Password").fill("correct horse")
    await tab.keyboard.press("Enter")
    await tab.waitForURL(callback)
  })

  test("a form of the settings is held to this origin, redirects included", async () => {
    await tab.goto(pages.at("settings-profile"))
    const refused = tab.waitForEvent("console", (message) => message.text().includes("form-action"))
    await tab.getByRole("button", { name: "Save" }).click()
    await refused
    expect(tab.url()).toBe(pages.at("settings-profile"))
  })
})

describe("with the keyboard alone", () => {
  test("login starts in the email field and goes on in reading order", async () => {
    await tab.goto(pages.at("login"))
    // A browser gives the focus with the first frame that it draws, which may be after the page is there.
    await tab.locator(":focus").waitFor()
    const order = [await focused()]
    for (let step = 0; step < 2; step++) {
      await tab.keyboard.press("Tab")
      order.push(await focused())
    }
    expect(order).toEqual(["email", "password", "Sign in"])
  })

  test("consent offers to change the account, then to read, then the box, then Deny, then Approve", async () => {
    await tab.goto(pages.at("consent"))
    const order: Array<unknown> = []
    for (let step = 0; step < 6; step++) {
      await tab.keyboard.press("Tab")
      order.push(await focused())
      if (step === 3) await tab.keyboard.press("Space")
    }
    expect(order).toEqual(["Not you?", "Privacy policy", "Terms", "acknowledged", "decision", "decision"])
    await tab.keyboard.press("Enter")
    await tab.waitForURL(callback)
  })

  test("revoking unfolds a question first, and only one question is open", async () => {
    await tab.goto(pages.at("settings-keys"))
    const confirm = tab.getByRole("button", { name: "Revoke this key Nightly export" })
    expect(await confirm.isVisible()).toBe(false)
    const [rotate, revoke] = [
      tab.locator("summary", { hasText: "Rotate" }),
      tab.locator("summary", { hasText: "Revoke" })
    ]
    const rotation = tab.getByRole("button", { name: "Make a new key Nightly export" })
    await rotate.first().press("Enter")
    await rotation.waitFor({ state: "visible" })
    await revoke.first().press("Enter")
    await confirm.waitFor({ state: "visible" })
    expect(await rotation.isVisible()).toBe(false)
  })

  test("the first Tab in settings skips the navigation", async () => {
    await tab.goto(pages.at("settings-keys"))
    await tab.keyboard.press("Tab")
    expect(await tab.evaluate("document.activeElement.getAttribute('href')")).toBe("#content")
    await tab.keyboard.press("Enter")
    await tab.keyboard.press("Tab")
    expect(await focused()).toBe("name")
  })

  test("a secret that is shown once is selected as a whole when Tab reaches it", async () => {
    await tab.goto(pages.at("settings-keys-made"))
    await tab.getByLabel("Nightly export").press("Shift+Tab")
    await tab.keyboard.press("Tab")
    const selected = await tab.evaluate(
      "document.activeElement.id === 'once' && document.activeElement.value.slice(document.activeElement.selectionStart, document.activeElement.selectionEnd)"
    )
    expect(selected).toBe(`tss_ak_${"Zk3qAb9-".repeat(14)}`)
  })
})

test("what an application calls itself is set off from the words around it, in the heading that asks to let it in", async () => {
  for (const forcedColors of ["none", "active"] as const) {
    const page = await browser.newPage({ forcedColors })
    await page.goto(pages.at("consent"))
    expect(
      await page.evaluate("parseFloat(getComputedStyle(document.querySelector('h1 .name')).borderTopWidth)")
    ).toBeGreaterThan(0)
    await page.close()
  }
})

test("a person who chose no place is led to the choice, in sight on a small phone", async () => {
  const phone = await browser.newPage({ viewport: { width: 320, height: 640 } })
  await phone.goto(pages.at("consent-places-problem"))
  await phone.locator(":focus").waitFor()
  const seen = await phone.evaluate(`(() => {
    const { top, bottom } = document.activeElement.getBoundingClientRect()
    return [document.activeElement.name, top >= 0, bottom <= innerHeight]
  })()`)
  expect(seen).toEqual(["place", true, true])
  await phone.close()
})

test("each API that consent is for has a line of its own, of the whole width", async () => {
  for (const width of [320, 1280]) {
    const page = await browser.newPage({ viewport: { width, height: 640 } })
    await page.goto(pages.at("consent-resources"))
    const lines = page.locator(".terms > div", { hasText: "https://orders." })
    const { width: room = 0 } = (await lines.locator("dt").boundingBox()) ?? {}
    const widths = await Promise.all(
      (await lines.locator("dd").all()).map(async (line) => (await line.boundingBox())?.width)
    )
    expect(widths).toEqual([room, room, room])
    await page.close()
  }
})

test("a narrow window has each section of the settings in sight, without a way to the side", async () => {
  const narrow = await browser.newPage({ viewport: { width: 320, height: 640 } })
  await narrow.goto(pages.at("settings-members"))
  const links = narrow.getByRole("navigation", { name: "Settings" }).getByRole("link")
  expect(await links.count()).toBe(9)
  for (const link of await links.all()) {
    const { x, width } = (await link.boundingBox()) ?? { x: -1, width: 0 }
    expect([x >= 0, x + width <= 320]).toEqual([true, true])
  }
  await narrow.close()
})

test("a question that unfolds is in sight as a whole, also at twice the size in a window of 1280", async () => {
  const half = await browser.newPage({ viewport: { width: 640, height: 400 } })
  for (const name of ["settings-clients", "settings-clients-waiting"]) {
    await half.goto(pages.at(name))
    const cut = await half.evaluate(`[...document.querySelectorAll("details.confirm")].flatMap((question) => {
      question.open = true
      const { left, right } = question.querySelector("form").getBoundingClientRect()
      question.open = false
      return left < 0 || right > innerWidth ? [question.querySelector("summary").textContent] : []
    })`)
    expect({ name, cut }).toEqual({ name, cut: [] })
  }
  await half.close()
})

test.each([320, 640, 900, 1280])(
  "a window of %d shows the whole of what a form offers to choose from",
  async (width) => {
    const tab = await browser.newPage({ viewport: { width, height: 800 } })
    for (const name of ["keys", "resources", "documents", "issuers", "members"]) {
      await tab.goto(pages.at(`settings-${name}`))
      const cut = await tab.evaluate(`[...document.querySelectorAll(".inline-form select")].flatMap((select) => {
      const room = select.offsetWidth
      select.style.width = "max-content"
      return select.offsetWidth > room ? [select.name] : []
    })`)
      expect({ name, cut }).toEqual({ name, cut: [] })
    }
    await tab.close()
  }
)

test("text at twice its size still fits a narrow window", async () => {
  const narrow = await browser.newPage({ viewport: { width: 360, height: 740 } })
  await narrow.goto(pages.at("consent"))
  // Written over one another under the policy of the first, which has the same stylesheet: no page has a script.
  for (const name of gallery().keys()) {
    await narrow.setContent(await (await fetch(pages.at(name))).text())
    expect(await narrow.evaluate("document.styleSheets.length")).toBe(1)
    await narrow.evaluate("document.documentElement.style.fontSize = '200%'")
    expect({ name, width: await narrow.evaluate("document.documentElement.scrollWidth") }).toEqual({ name, width: 360 })
  }
  await narrow.close()
})
