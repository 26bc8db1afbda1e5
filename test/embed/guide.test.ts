import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { northwind } from "../../runtimes/embed/guide/host.ts"
import { house } from "../readme/blocks.ts"
import { aKey } from "./host.ts"

const folder = join(house, "runtimes/embed/guide")
const read = (name: string) => readFileSync(join(folder, name), "utf8")

describe("the guide to people of one's own", () => {
  test("is a whole application of one page", () => {
    expect(read("host.ts").split("\n").length).toBeLessThan(100)
    expect(read("allow.ts").split("\n").length).toBeLessThan(60)
  })

  test("signs no person in or out for a form of another site", async () => {
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
