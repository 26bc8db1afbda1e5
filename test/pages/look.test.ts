import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { join } from "node:path"
import { Result } from "effect"
import type { Browser, Page } from "playwright-core"
import { readTheme, type ThemeOptions } from "../../core/workspace/Theme.ts"
import { violationsOf } from "./axe.ts"
import { gallery } from "./gallery.ts"
import { leave, sharedBrowser } from "./launchBrowser.ts"
import { keepPicture } from "./photograph.ts"
import { servePages } from "./servePages.ts"

const screenshots = join(import.meta.dir, "../../artifacts/screenshots/pages")
const names = [...gallery().keys()]

/** Two are judged by axe and kept as pictures: between them are both colour schemes and both widths. */
const looks = [
  { name: "light", colorScheme: "light", width: 1200, height: 860, judged: true },
  { name: "dark", colorScheme: "dark", width: 1200, height: 860, judged: false },
  { name: "narrow-dark", colorScheme: "dark", width: 360, height: 740, judged: true },
  { name: "narrow-light", colorScheme: "light", width: 360, height: 740, judged: false }
] as const

const widthOf = (tab: Page): Promise<unknown> => tab.evaluate("document.documentElement.scrollWidth")

/** All at once, though a page lets only one be open. */
const unfoldAll =
  "for (const fold of document.querySelectorAll('details')) { fold.removeAttribute('name'); fold.open = true }"

const pages = servePages()
let browser: Browser

beforeAll(async () => {
  browser = await sharedBrowser()
})

afterAll(async () => {
  await leave(browser)
  await pages.stop()
})

type Look = (typeof looks)[number]

/** A window that pages are looked at in, one after the other, and the look that it has. */
class Viewer {
  readonly tab: Page
  readonly complaints: Array<string> = []
  #look: Look | undefined

  constructor(tab: Page) {
    this.tab = tab
    tab.on("console", (message) => this.complaints.push(message.text()))
    tab.on("requestfailed", (request) => this.complaints.push(`failed: ${request.url()}`))
  }

  /** Changes what differs: with each change the page is laid out and drawn anew. */
  async lookAt(look: Look): Promise<void> {
    const { colorScheme, height, width } = look
    if (colorScheme !== this.#look?.colorScheme) await this.tab.emulateMedia({ colorScheme, reducedMotion: "reduce" })
    if (width !== this.#look?.width) await this.tab.setViewportSize({ width, height })
    this.#look = look
  }
}

describe("in every look", () => {
  const viewers = new Map<string, Viewer>()

  afterAll(() => Promise.all([...viewers.values()].map(({ tab }) => tab.close())))

  /**
   * The first page of a policy is loaded; each further one is written over it, which leaves the window its policy, and
   * axe, which takes longer to begin than to judge. No page has a script that could see this, or the looks change.
   */
  const show = async (name: string): Promise<Viewer> => {
    const answer = await fetch(pages.at(name))
    const policy = answer.headers.get("content-security-policy") ?? "none"
    const before = viewers.get(policy)
    if (before !== undefined) {
      before.complaints.length = 0
      await before.tab.setContent(await answer.text())
      return before
    }
    const viewer = new Viewer(await browser.newPage({ reducedMotion: "reduce" }))
    viewers.set(policy, viewer)
    await viewer.tab.goto(pages.at(name))
    return viewer
  }

  test.each(names)("%s fits, lives under its policy and is accessible", async (name) => {
    const viewer = await show(name)
    const { complaints, tab } = viewer
    expect(await tab.evaluate("getComputedStyle(document.querySelector('main')).display")).toBe("block")
    expect(await tab.evaluate("document.styleSheets.length")).toBe(1)
    for (const look of looks) {
      await viewer.lookAt(look)
      if (look.judged) await keepPicture(tab, join(screenshots, `${name}.${look.name}.png`))
      expect({ look: look.name, width: await widthOf(tab) }).toEqual({ look: look.name, width: look.width })
    }
    await tab.evaluate(unfoldAll)
    for (const look of looks.toReversed()) {
      await viewer.lookAt(look)
      expect({ look: look.name, width: await widthOf(tab) }).toEqual({ look: look.name, width: look.width })
      if (look.judged)
        expect({ look: look.name, found: await violationsOf(tab) }).toEqual({ look: look.name, found: [] })
    }
    expect(complaints).toEqual([])
  })
})

const logo = (fill: string) =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 32" width="120" height="32"><path fill="${fill}" d="M2 30 16 2l14 28zM40 8h76v6H40zm0 10h52v6H40z"/></svg>`

/** A host's own colours, each hard to draw: warm and square, dark by day, in the middle of the greys. */
const themes: Readonly<Record<string, ThemeOptions>> = {
  warm: {
    name: "Northwind Traders",
    accent: "#b4451f",
    background: "#fff8ef",
    text: "#3b2a1a",
    logo: logo("#b4451f"),
    dark: { accent: "#ffb38a", background: "#1c140d", text: "#f7ead9", logo: logo("#ffb38a") },
    radius: 2,
    font: "Georgia, serif"
  },
  "always-dark": { accent: "#ffd400", background: "#0b1020", text: "#dfe7ff", radius: 20 },
  middling: { accent: "#808080", background: "#767676", text: "#777777", dark: { background: "#777777" } }
}

const themed: ReadonlyArray<readonly [theme: string, name: string, look: (typeof looks)[number]["name"]]> = [
  ["warm", "consent", "light"],
  ["warm", "settings-keys", "narrow-dark"],
  ["always-dark", "login-problem", "light"],
  ["middling", "consent", "light"],
  ["middling", "settings-keys", "narrow-dark"]
]

test.each([...themed])("in the theme %s, %s can be read (%s)", async (theme, name, lookName) => {
  const served = servePages("about:blank", Result.getOrThrow(readTheme(themes[theme] ?? {})))
  const { colorScheme, height, width } = looks.find((look) => look.name === lookName) ?? looks[0]
  const tab = await browser.newPage({ colorScheme, viewport: { width, height }, reducedMotion: "reduce" })
  const complaints: Array<string> = []
  tab.on("console", (message) => complaints.push(message.text()))
  await tab.goto(served.at(name))
  await keepPicture(tab, join(screenshots, `theme-${theme}-${name}.${lookName}.png`))
  expect(await widthOf(tab)).toBe(width)
  expect(await violationsOf(tab)).toEqual([])
  expect(complaints).toEqual([])
  await tab.close()
  await served.stop()
})

test("axe is there and finds what is wrong", async () => {
  const tab = await browser.newPage()
  await tab.setContent(
    "<html><body><main><h1>x</h1><input type=text><p style='color:#bbb'>faint</p></main></body></html>"
  )
  const found = (await violationsOf(tab)).map((violation) => violation.split(":")[0])
  expect(found).toContain("label")
  expect(found).toContain("color-contrast")
  await tab.close()
})
