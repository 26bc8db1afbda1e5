import { describe, expect, test } from "bun:test"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { house, readme, readmeBlocks } from "./blocks.ts"
import { looksLike } from "./looksLike.ts"
import { readmeRows } from "./tables.ts"

/** Who runs the blocks under a heading. A block of which nobody is said to run it fails the test below. */
const runBy: Readonly<Record<string, string>> = {
  "Two commands": "tour.test.ts",
  "Five minutes with it": "tour.test.ts",
  Storage: "tour.test.ts",
  "Command line": "tour.test.ts",
  Backups: "tour.test.ts",
  "New seal keys": "tour.test.ts",
  "In Express 5": "embedding.test.ts",
  "In Fastify 5": "embedding.test.ts",
  "In Hono, on Bun": "embedding.test.ts",
  "In Hono, on Node": "embedding.test.ts",
  "In Koa": "embedding.test.ts",
  "In Elysia": "embedding.test.ts",
  "In plain Node": "embedding.test.ts",
  "In fetch handlers": "embedding.test.ts",
  "In property tests": "propertyTests.test.ts",
  "As a service": "deploying.test.ts",
  "As one executable": "../binary/command.test.ts",
  "In a container": "../binary/container.test.ts",
  "Metrics, traces and the audit stream": "observing.test.ts",
  "Behind a proxy with TLS": "deploying.test.ts"
}

/** As GitHub makes them of headings. */
const anchorOf = (heading: string): string =>
  `#${heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-")}`

const headings = [...readme().matchAll(/^#{1,6} (.*)$/gm)].map(([, heading = ""]) => anchorOf(heading))

describe("the whole README", () => {
  test("has no block that no test runs", () => {
    expect(readmeBlocks().length).toBeGreaterThan(20)
    const strays = readmeBlocks().filter(({ under }) => {
      const file = runBy[under.at(-1) ?? ""]
      return file === undefined || !existsSync(join(import.meta.dir, file))
    })
    expect(strays).toEqual([])
  })

  test("begins with two commands, which are all that stands under the first heading", () => {
    const [one, two, ...more] = readmeBlocks()
    expect([one?.text, two?.text]).toEqual(["npm start", "npm test"])
    expect([one, two].map((block) => block?.under)).toEqual(Array(2).fill(["Tessera", "Two commands"]))
    expect(more[0]?.under).not.toContain("Two commands")
    expect(headings.slice(0, 2)).toEqual(["#tessera", "#two-commands"])
  })

  test("leads to nothing that is not there", () => {
    const targets = [...readme().matchAll(/\]\(([^)]+)\)/g)].map(([, target = ""]) => target)
    const lost = targets.filter((target) => {
      const [path = ""] = target.split("#")
      return target.startsWith("#") ? !headings.includes(target) : !existsSync(join(house, path))
    })
    expect(targets.length).toBeGreaterThan(15)
    expect(lost).toEqual([])
  })

  test("says in its first words what the benchmarks found", () => {
    const [first = ""] = readme().split("\n## ")
    expect(first).toContain("a fifth to a third of the CPU time that `oidc-provider` takes for it")
    const ratios = readmeRows("workload")
      .filter(([, figure, what]) => figure === "CPU time per request" && what === "tessera to oidc-provider")
      .map(([, , , ratio]) => Number(ratio))
    expect(ratios.length).toBe(3)
    expect(ratios.filter((ratio) => !(ratio >= 1 / 5 && ratio <= 1 / 3))).toEqual([])
  })

  test.each(["core", "test"])("has a table of folders in %s/ that names each of them", (room) => {
    const table = readFileSync(join(house, room, "README.md"), "utf8")
    const named = [...table.matchAll(/`([a-z]+)\/`/g)].map(([, folder = ""]) => folder)
    const there = readdirSync(join(house, room), { withFileTypes: true }).filter((entry) => entry.isDirectory())
    expect(there.map(({ name }) => name).filter((name) => !named.includes(name))).toEqual([])
  })

  test("has the numbers that the benchmarks wrote, and says by what commit and machine", () => {
    const [, performance = ""] = readme().split("\n## Performance\n")
    const [section = ""] = performance.split("\n## ")
    expect(section).toMatch(
      /\| workload \| figure \| of what to what \| ratio \| aim \| floor \|\n(\| --- ){6}\|\n(\| .* \|\n){20}/
    )
    expect(section).toMatch(/ cores, .*; Bun .*, Node .*;\n\d{4}-\d\d-\d\d, commit [0-9a-f]{7,}\./)
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
