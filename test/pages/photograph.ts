import type { Page } from "playwright-core"

/** What Chromium says where it had no frame in time to take a picture of: it says nothing about the page. */
const noFrame = "Unable to capture screenshot"
const attempts = 5

/** Keeps a picture of the whole page. */
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
