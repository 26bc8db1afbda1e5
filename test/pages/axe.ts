import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { Page } from "playwright-core"

const axe = readFileSync(join(import.meta.dir, "../../node_modules/axe-core/axe.min.js"), "utf8")
const rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

interface Violation {
  readonly id: string
  readonly nodes: ReadonlyArray<{ readonly html: string; readonly failureSummary?: string }>
}

/** What the accessibility checker finds on the page as it stands, a line for each place. */
export const violationsOf = async (tab: Page): Promise<ReadonlyArray<string>> => {
  if ((await tab.evaluate("typeof axe")) === "undefined") await tab.evaluate(axe)
  // The shape is axe's documented result.
  const { violations } = (await tab.evaluate(
    `axe.run({ runOnly: ${JSON.stringify(rules)}, resultTypes: ["violations"] })`
  )) as { readonly violations: ReadonlyArray<Violation> }
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html} ${node.failureSummary ?? ""}`))
}
