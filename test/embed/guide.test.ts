import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { northwind } from "../../runtimes/embed/guide/host.ts"
import { blocksOf, house } from "../readme/blocks.ts"
import { aKey } from "./host.ts"

const folder = join(house, "runtimes/embed/guide")
const read = (name: string) => readFileSync(join(folder, name), "utf8")

/** The lines, wherever they stand. */
const linesOf = (text: string) => text.split("\n").map((line) => line.trim())

describe("the guide to people of one's own", () => {
  const source = linesOf(["host.ts", "allow.ts"].map(read).join("\n")).join("\n")

  test("shows what its application does, which a browser is walked through elsewhere", () => {
    const blocks = blocksOf(read("README.md"))
    expect(blocks.map(({ language }) => language)).toEqual(["ts", "ts", "ts", "js", "js"])
    for (const { text } of blocks) expect(source).toContain(linesOf(text).join("\n"))
  })

  test("is a whole application of one page", () => {
    expect(read("host.ts").split("\n").length).toBeLessThan(100)
    expect(read("allow.ts").split("\n").length).toBeLessThan(60)
  })

  test("signs nobody in or out for a form of another site", async () => {
    const origin = "http://127.0.0.1:3000"
    const { auth, fetch } = northwind(origin, aKey)
    const post = (path: string, from: string) =>
      fetch(
        new Request(origin + path, {
          method: "POST",
          headers: { origin: from },
          body: new URLSearchParams({ name: "ada" })
        })
      )
    for (const path of ["/sign-in", "/sign-out"]) {
      const elsewhere = await post(path, "https://evil.example")
      expect([path, elsewhere.status, elsewhere.headers.get("set-cookie")]).toEqual([path, 403, null])
      expect((await post(path, origin)).status).toBe(303)
    }
    await auth.close()
  })
})
