import { expect } from "bun:test"
import { join } from "node:path"
import type { Page } from "playwright-core"
import { violationsOf } from "../pages/axe.ts"
import { keepPicture } from "../pages/photograph.ts"

const folder = join(import.meta.dir, "../../artifacts/screenshots/server")

/** Between the two that are judged are both colour schemes and both widths. */
const looks = [
  { name: "light", colorScheme: "light", width: 1200, height: 860, judged: true },
  { name: "dark", colorScheme: "dark", width: 1200, height: 860, judged: false },
  { name: "narrow", colorScheme: "dark", width: 360, height: 740, judged: true }
] as const

/** Looks at the page that the tab shows: accessible, and no wider than its window. */
export const meet = async (tab: Page, name: string): Promise<void> => {
  const before = tab.viewportSize()
  for (const look of looks) {
    await tab.emulateMedia({ colorScheme: look.colorScheme, reducedMotion: "reduce" })
    await tab.setViewportSize({ width: look.width, height: look.height })
    await keepPicture(tab, join(folder, `${name}.${look.name}.png`))
    const width = await tab.evaluate("document.documentElement.scrollWidth")
    expect({ name, look: look.name, width }).toEqual({ name, look: look.name, width: look.width })
    if (look.judged) expect({ name, violations: await violationsOf(tab) }).toEqual({ name, violations: [] })
  }
  await tab.emulateMedia({ colorScheme: null, reducedMotion: null })
  if (before !== null) await tab.setViewportSize(before)
}
