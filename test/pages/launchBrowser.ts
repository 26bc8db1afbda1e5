import { type Browser, chromium } from "playwright-core"
import { chromiumPath } from "../harness/given.ts"

/** A fresh profile each time: playwright makes a throwaway one. */
export const launchBrowser = (more: ReadonlyArray<string> = []): Promise<Browser> =>
  chromium.launch({
    executablePath: chromiumPath(),
    args: [
      "--no-sandbox",
      "--disable-gpu",
      // There is none: a process of its own, that draws by software, costs a tenth of all the processor time.
      "--in-process-gpu",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      ...more
    ]
  })

let shared: Promise<Browser> | undefined

/** One browser for all files that a process tests, one after the other: nothing is left in it but what `leave` closes. */
export const sharedBrowser = async (): Promise<Browser> => {
  const before = await shared
  if (before?.isConnected()) return before
  shared = launchBrowser()
  return shared
}

/** A context has its own cookies, storage and cache; pages go with it. */
export const leave = async (browser: Browser): Promise<void> => {
  await Promise.all(browser.contexts().map((context) => context.close()))
}
