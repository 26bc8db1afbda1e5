import { readFileSync } from "node:fs"
import { join } from "node:path"

/** The top folder of this house. */
export const house = join(import.meta.dir, "../..")

export interface Block {
  /** The page that it stands on, from the top folder. */
  readonly page: string
  readonly language: string
  /** What the fence says behind the language: `sample` runs nowhere, `from=FILE` is a part of a file beside the page. */
  readonly marker: string
  readonly text: string
  /** The headings that it stands under, the nearest last. */
  readonly under: ReadonlyArray<string>
}

/** The code blocks of a Markdown text, in order. */
export const blocksOf = (markdown: string, page = "README.md"): ReadonlyArray<Block> => {
  const blocks: Array<Block> = []
  const headings: Array<string> = []
  let open: { readonly language: string; readonly marker: string; readonly lines: Array<string> } | undefined
  for (const line of markdown.split("\n")) {
    if (open === undefined) {
      const heading = /^(#{1,6}) (.*)$/.exec(line)
      if (heading !== null) headings.splice((heading[1] ?? "").length - 1, headings.length, heading[2] ?? "")
      const fence = /^```(\S*) ?(.*)$/.exec(line)
      if (fence !== null) open = { language: fence[1] ?? "", marker: fence[2] ?? "", lines: [] }
    } else if (line === "```") {
      const { language, lines, marker } = open
      blocks.push({ page, language, marker, text: lines.join("\n"), under: headings.filter(Boolean) })
      open = undefined
    } else open.lines.push(line)
  }
  return blocks
}

/** Every README of the house. */
export const pages: ReadonlyArray<string> = [...new Bun.Glob("**/README.md").scanSync(house)]
  .filter((page) => !/(?:^|\/)(?:node_modules|artifacts|data|dist|reports)\//.test(page))
  .toSorted()

export const textOf = (page: string): string => readFileSync(join(house, page), "utf8")

export const blocksIn = (page: string): ReadonlyArray<Block> => blocksOf(textOf(page), page)

export const everyBlock = (): ReadonlyArray<Block> => pages.flatMap(blocksIn)

export const serverPage = "runtimes/server/README.md"

/** The blocks of a page that stand right under a heading. */
export const under = (page: string, heading: string): ReadonlyArray<Block> =>
  blocksIn(page).filter((block) => block.under.at(-1) === heading)

const importsTests = ({ text }: Block) => text.includes('from "bun:test"')

const isProgram = ({ language, marker }: Block) => language === "ts" && marker === ""

/** Programs that run as they are printed; those of a store or of a policy are tests themselves. */
export const programs = () => everyBlock().filter((block) => isProgram(block) && !importsTests(block))

/** Tests that need nothing but `tessera`: the store's own have a database. */
export const propertyTests = () =>
  everyBlock().filter((block) => isProgram(block) && importsTests(block) && !block.page.startsWith("adapters/guide/"))

/** Which test runs a block as it is printed; `undefined` where none does. */
export const runnerOf = (block: Block): string | undefined => {
  const { language, marker, page, text } = block
  if (marker.startsWith("from=")) return "shown.test.ts"
  if (isProgram(block))
    return importsTests(block)
      ? page.startsWith("adapters/guide/")
        ? "../adapters/guide.test.ts"
        : "propertyTests.test.ts"
      : "embedding.test.ts"
  if (["ini", "caddy", "nginx"].includes(language)) return "deploying.test.ts"
  if (language === "sql") return "sql.test.ts"
  if (language === "json" || text.includes("tessera workspace add")) return "hosting.test.ts"
  if (language !== "sh") return undefined
  if (text.startsWith("podman ")) return "../binary/container.test.ts"
  if (text.includes("build:binary")) return "../binary/command.test.ts"
  if (/\/metrics|audit\.jsonl/.test(text)) return "observing.test.ts"
  return page === "README.md" || page === serverPage ? "tour.test.ts" : undefined
}
