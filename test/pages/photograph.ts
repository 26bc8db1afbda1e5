import { mkdirSync } from "node:fs"
import { dirname } from "node:path"
import type { Page } from "playwright-core"

/** What Chromium says where it had no frame in time to take a picture of: it says nothing about the page. */
const noFrame = "Unable to capture screenshot"
const attempts = 5

/** Draws a picture of the whole page. */
export const photograph = async (tab: Page, path: string): Promise<void> => {
  for (let attempt = 1; ; attempt++) {
    try {
      await tab.screenshot({ path, fullPage: true })
      return
    } catch (thrown) {
      if (attempt === attempts || !String(thrown).includes(noFrame)) throw thrown
    }
  }
}

/** Keeps a picture for people to look at, where `TEST_SCREENSHOTS` is set: no test reads it, and a minute goes into all. */
export const keepPicture = async (tab: Page, path: string): Promise<void> => {
  if (process.env.TEST_SCREENSHOTS === undefined) return
  mkdirSync(dirname(path), { recursive: true })
  await photograph(tab, path)
}
