import { isExecutable, onPath } from "./onPath.ts"

const names = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"]

const bundles = [
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
]

export const findChromium = (): string | undefined => [...names.flatMap(onPath), ...bundles.filter(isExecutable)][0]
