import { describe, expect, test } from "bun:test"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { outlines } from "./outline.ts"

const folder = join(import.meta.dir, "outlines")
const written = readdirSync(folder).sort()

/** The pages of an outline by their names, so that a failure shows no more than the page that differs. */
const pages = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    text
      .split(/^== /m)
      .slice(1)
      .map((page) => [page.slice(0, page.indexOf("\n")), page])
  )

describe("the forms, fields, links and facts of each page are those that `npm run outlines` wrote down", () => {
  test.each(written)("%s", (file) => {
    const { [file.replace(".txt", "")]: now = "" } = outlines()
    expect(pages(now)).toEqual(pages(readFileSync(join(folder, file), "utf8")))
  })

  test("and no page is missing among them", () => {
    expect(
      Object.keys(outlines())
        .map((group) => `${group}.txt`)
        .sort()
    ).toEqual(written)
  })
})
