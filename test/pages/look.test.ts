import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { Browser, Page } from "playwright-core"
import { gallery } from "./gallery.ts"
import { launchBrowser } from "./launchBrowser.ts"
import { servePages } from "./servePages.ts"

const screenshots = join(import.meta.dir, "../../artifacts/screenshots/pages")
const axe = readFileSync(join(import.meta.dir, "../../node_modules/axe-core/axe.min.js"), "utf8")
const names = [...gallery().keys()]

/** Two are judged by axe: between them are both colour schemes and both widths. */
const looks = [
  { name: "light", colorScheme: "light", width: 1200, height: 860, judged: true },
  { name: "dark", colorScheme: "dark", width: 1200, height: 860, judged: false },
  { name: "narrow-light", colorScheme: "light", width: 360, height: 740, judged: false },
  { name: "narrow-dark", colorScheme: "dark", width: 360, height: 740, judged: true }
] as const

interface Violation {
  readonly id: string
  readonly help: string
  readonly nodes: ReadonlyArray<{ readonly html: string; readonly failureSummary?: string }>
}

const rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

const violationsOf = async (tab: Page): Promise<ReadonlyArray<string>> => {
  await tab.evaluate(axe)
  // The shape is axe's documented result.
  const { violations } = (await tab.evaluate(
    `axe.run({ runOnly: ${JSON.stringify(rules)}, resultTypes: ["violations"] })`
  )) as { readonly violations: ReadonlyArray<Violation> }
  return violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}\n${nodes.map(({ html, failureSummary }) => `  ${html}\n  ${failureSummary ?? ""}`).join("\n")}`
  )
}

const widthOf = (tab: Page): Promise<unknown> => tab.evaluate("document.documentElement.scrollWidth")

/** All at once, though a page lets only one be open. */
const unfoldAll =
  "for (const fold of document.querySelectorAll('details')) { fold.removeAttribute('name'); fold.open = true }"

const pages = servePages()
let browser: Browser

beforeAll(async () => {
  mkdirSync(screenshots, { recursive: true })
  browser = await launchBrowser()
})

afterAll(async () => {
  await browser.close()
  await pages.stop()
})

describe.each([...looks])("$name", (look) => {
  let tab: Page
  let complaints: Array<string> = []

  beforeAll(async () => {
    tab = await browser.newPage({
      colorScheme: look.colorScheme,
      viewport: { width: look.width, height: look.height },
      reducedMotion: "reduce"
    })
    tab.on("console", (message) => complaints.push(message.text()))
    tab.on("requestfailed", (request) => complaints.push(`failed: ${request.url()}`))
  })

  afterAll(() => tab.close())

  test.each(names)("%s fits, lives under its policy and is accessible", async (name) => {
    complaints = []
    await tab.goto(pages.at(name))
    await tab.screenshot({ path: join(screenshots, `${name}.${look.name}.png`), fullPage: true })
    expect(await tab.evaluate("getComputedStyle(document.querySelector('main')).display")).toBe("block")
    expect(await tab.evaluate("document.styleSheets.length")).toBe(1)
    expect(await widthOf(tab)).toBe(look.width)
    await tab.evaluate(unfoldAll)
    expect(await widthOf(tab)).toBe(look.width)
    if (look.judged) expect(await violationsOf(tab)).toEqual([])
    expect(complaints).toEqual([])
  })
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
