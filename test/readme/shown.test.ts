import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { everyBlock, house } from "./blocks.ts"

/** The lines, however far they are indented. */
const linesOf = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .join("\n")

const shown = everyBlock().filter(({ marker }) => marker.startsWith("from="))

test.each(shown.map((block) => [block.page, block.marker.slice("from=".length), block.text] as const))(
  "%s shows a part of %s as it is",
  (page, file, text) => {
    expect(linesOf(readFileSync(join(house, dirname(page), file), "utf8"))).toContain(linesOf(text))
  }
)
