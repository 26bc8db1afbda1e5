import { readFileSync } from "node:fs"
import { join } from "node:path"

/** The README of this house, from its top folder. */
export const house = join(import.meta.dir, "../..")

export interface Block {
  readonly language: string
  readonly text: string
  /** The headings that it stands under, the nearest last. */
  readonly under: ReadonlyArray<string>
}

/** The code blocks of a Markdown text, in order. */
export const blocksOf = (markdown: string): ReadonlyArray<Block> => {
  const blocks: Array<Block> = []
  const headings: Array<string> = []
  let open: { readonly language: string; readonly lines: Array<string> } | undefined
  for (const line of markdown.split("\n")) {
    if (open === undefined) {
      const heading = /^(#{1,6}) (.*)$/.exec(line)
      if (heading !== null) headings.splice((heading[1] ?? "").length - 1, headings.length, heading[2] ?? "")
      const fence = /^```(\S+)/.exec(line)
      if (fence !== null) open = { language: fence[1] ?? "", lines: [] }
    } else if (line === "```") {
      blocks.push({ language: open.language, text: open.lines.join("\n"), under: headings.filter(Boolean) })
      open = undefined
    } else open.lines.push(line)
  }
  return blocks
}

export const readme = (): string => readFileSync(join(house, "README.md"), "utf8")

export const readmeBlocks = (): ReadonlyArray<Block> => blocksOf(readme())
