import { describe, expect, test } from "bun:test"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { everyBlock, house, pages, runnerOf, textOf } from "./blocks.ts"
import { looksLike } from "./looksLike.ts"
import { tableRows } from "./tables.ts"

/** As GitHub makes them of headings. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-")

const anchorsOf = (page: string) =>
  [...textOf(page).matchAll(/^#{1,6} (.*)$/gm)].map(([, heading = ""]) => anchorOf(heading))

const linksOf = (page: string) => [
  ...[...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target),
  ...[...textOf(page).matchAll(/\b(?:src|srcset)="([^"]+)"/g)].map(([, target = ""]) => target)
]

const isThere = (page: string, target: string): boolean => {
  const [path = "", anchor] = target.split("#")
  const file = path === "" ? page : join(dirname(page), path)
  return (
    existsSync(join(house, file)) && (anchor === undefined || !file.endsWith(".md") || anchorsOf(file).includes(anchor))
  )
}

describe("the pages", () => {
  test("have no block that no test runs, but for samples", () => {
    const blocks = everyBlock().filter(({ marker }) => marker !== "sample")
    expect(blocks.length).toBeGreaterThan(30)
    const strays = blocks.filter((block) => {
      const file = runnerOf(block)
      return file === undefined || !existsSync(join(import.meta.dir, file))
    })
    expect(strays).toEqual([])
  })

  test.each(pages)("%s leads to nothing that is not there", (page) => {
    expect(linksOf(page).filter((target) => !/^https?:/.test(target) && !isThere(page, target))).toEqual([])
  })

  test("can be read: the first one in 200 lines", () => {
    expect(textOf("README.md").trimEnd().split("\n").length).toBeLessThanOrEqual(200)
  })

  test("name each RFC that the code goes by", () => {
    const named = new Set(tableRows("README.md", "RFC").flatMap(([cell = ""]) => cell.match(/\b\d{4,5}\b/g) ?? []))
    const claimed = [...new Bun.Glob("{core,adapters,runtimes}/**/*.ts").scanSync(house)].flatMap((file) =>
      [...readFileSync(join(house, file), "utf8").matchAll(/\bRFC (\d{4,5})\b/g)].map(([, number = ""]) => number)
    )
    expect([...new Set(claimed)].filter((number) => !named.has(number))).toEqual([])
    expect([...named].filter((number) => !claimed.includes(number))).toEqual([])
  })

  test("have the ratios that the benchmarks wrote", () => {
    const measured = tableRows("benchmarks/README.md", "workload").map(([workload, , what, ratio]) =>
      [workload, what, ratio].join(" | ")
    )
    const shown = tableRows("README.md", "workload").map((row) => row.join(" | "))
    expect(shown.length).toBeGreaterThan(0)
    expect(shown.filter((row) => !measured.includes(row))).toEqual([])
  })

  test("name files of the core that are there", () => {
    const rows = tableRows("core/README.md", "rule").flatMap(([, files = ""]) => files.match(/[\w/]+\.ts/g) ?? [])
    expect(rows.length).toBeGreaterThan(20)
    expect(rows.filter((file) => !existsSync(join(house, "core", file)))).toEqual([])
  })

  test.each(["core", "test"])("have a table of folders in %s/ that names each of them", (room) => {
    const named = [...textOf(`${room}/README.md`).matchAll(/`([a-z]+)\/`/g)].map(([, folder = ""]) => folder)
    const there = readdirSync(join(house, room), { withFileTypes: true }).filter((entry) => entry.isDirectory())
    expect(there.map(({ name }) => name).filter((name) => !named.includes(name))).toEqual([])
  })
})

describe("an output as it is printed", () => {
  test("is held to every character but those that `…` stands for", () => {
    expect("id: 'a(b)*'\nok\n").toMatch(looksLike("id: '…'\nok"))
    expect("id: 'a'\nnot ok\n").not.toMatch(looksLike("id: '…'\nok"))
    expect("x\nid: 'a'\nok\n").not.toMatch(looksLike("id: '…'\nok"))
    expect("aXc").not.toMatch(looksLike("a.c"))
  })
})
