import { afterAll, beforeAll, expect, test } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import type { Browser } from "playwright-core"
import { throwawayFolder } from "../harness/throwawayFolder.ts"
import { leave, sharedBrowser } from "../pages/launchBrowser.ts"
import { photograph } from "../pages/photograph.ts"
import { servePages } from "../pages/servePages.ts"
import { house } from "./blocks.ts"

const pages = servePages()
const scope = Scope.makeUnsafe()
let browser: Browser
let folder: string

beforeAll(async () => {
  // `TEST_PICTURES=core/pages` draws the committed ones again.
  const kept = process.env.TEST_PICTURES
  folder =
    kept === undefined ? await Effect.runPromise(Scope.provide(throwawayFolder("pictures"), scope)) : join(house, kept)
  browser = await sharedBrowser()
})

afterAll(async () => {
  await leave(browser)
  await pages.stop()
  await Effect.runPromise(Scope.close(scope, Exit.void))
})

/** Width and height, as the header of a PNG has them (RFC 2083 section 4.1.1). */
const sizeOf = (file: string) => {
  const png = readFileSync(file)
  expect(png.subarray(1, 4).toString()).toBe("PNG")
  return [png.readUInt32BE(16), png.readUInt32BE(20)]
}

test.each(["light", "dark"] as const)("the README's picture can be drawn: %s", async (colorScheme) => {
  const tab = await browser.newPage({ colorScheme, viewport: { width: 560, height: 480 }, reducedMotion: "reduce" })
  await tab.goto(pages.at("consent"))
  const drawn = join(folder, `consent-${colorScheme}.png`)
  await photograph(tab, drawn)
  await tab.close()
  const [width = 0, height = 0] = sizeOf(drawn)
  expect(width).toBe(560)
  expect(height).toBeGreaterThan(300)

  const committed = join(house, `core/pages/consent-${colorScheme}.png`)
  expect(existsSync(committed)).toBe(true)
  expect(sizeOf(committed)[0]).toBe(560)
})
