import { isExecutable, onPath } from "./onPath.ts"

/** The headless shell is Chromium without its windows: the same pages for half the processor time. */
const names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome"]

const bundles = [
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
]

export const findChromium = (): string | undefined => [...names.flatMap(onPath), ...bundles.filter(isExecutable)][0]
