import { type Browser, chromium } from "playwright-core"
import { chromiumPath } from "../harness/given.ts"

/** A fresh profile each time: playwright makes a throwaway one. */
export const launchBrowser = (more: ReadonlyArray<string> = []): Promise<Browser> =>
  chromium.launch({
    executablePath: chromiumPath(),
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      ...more
    ]
  })
