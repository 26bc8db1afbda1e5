import { readFileSync } from "node:fs"
import { join } from "node:path"
import { blocksOf, house } from "./blocks.ts"

const folder = join(house, "adapters/guide")

/** The adapter of the guide, and the page about it. */
export const source = readFileSync(join(folder, "BunSql.ts"), "utf8")
export const guide = readFileSync(join(folder, "README.md"), "utf8")

/** What a reader has in a project of their own: the adapter, which imports the package there, and what proves it. */
export const guideFiles: Readonly<Record<string, string>> = {
  "BunSql.ts": source.replace('"../../core/ports/Storage.ts"', '"tessera/core"'),
  "store.test.ts": blocksOf(guide)[0]?.text ?? ""
}
