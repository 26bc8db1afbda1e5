import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { throwawayFolder } from "../harness/throwawayFolder.ts"
import { builtPackage, root } from "./given/builtPackage.ts"
import { graphOf } from "./given/ModuleGraph.ts"
import { publicTypes } from "./given/publicTypes.ts"

const scope = Scope.makeUnsafe()
let built = ""
let project = ""

/** Its dependencies are those of this checkout: nothing here depends on how npm would lay them out. */
const linked = Effect.gen(function* () {
  project = yield* throwawayFolder("bundled")
  // A copy, which one test changes.
  built = join(project, "built")
  cpSync(yield* builtPackage, built, { recursive: true })
  mkdirSync(join(project, "node_modules"))
  symlinkSync(built, join(project, "node_modules/tessera"))
  symlinkSync(join(root, "node_modules"), join(built, "node_modules"))
})

beforeAll(() => Effect.runPromise(Scope.provide(linked, scope)), 240_000)

afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

describe("the public types", () => {
  const kept = join(import.meta.dir, "api")

  test("are those in test/package/api", () => {
    const types = publicTypes(built)
    const renew = "The package's public types have changed. If that is meant: npm run api, and commit what it writes."
    expect(readdirSync(kept).sort(), renew).toEqual([...types.keys()].sort())
    for (const [name, text] of types) expect(text, renew).toBe(readFileSync(join(kept, name), "utf8"))
  })

  test("are seen to change with an entry's export, and not with a comment or with what no entry exports", () => {
    const change = (path: string, from: string, to: string) => {
      const file = join(built, path)
      const text = readFileSync(file, "utf8")
      expect(text).toContain(from)
      writeFileSync(file, text.replace(from, to))
      const changed = publicTypes(built)
      writeFileSync(file, text)
      return [...publicTypes(built)].filter(([name, before]) => changed.get(name) !== before).map(([name]) => name)
    }
    expect(change("core/ports/Storage.d.ts", "version: number", "version: string")).toEqual(["tessera.core.txt"])
    expect(change("core/pages/Html.d.ts", "get text(): string", "get text(): null")).toEqual([])
    expect(change("core/pages/Html.d.ts", "/** ", "/** Now, ")).toEqual([])
  })
})

test("SQLite imports no driver, at which a bundler for another platform stops", () => {
  const { foreign } = graphOf(project, ["tessera/storage/sqlite"])
  expect([...foreign].sort()).toEqual(["node:fs", "node:path"])
})

describe("bundled for an application that needs a little of it", () => {
  const bundle = async (source: string) => {
    const entry = join(project, "entry.js")
    writeFileSync(entry, source)
    const { outputs } = await Bun.build({ entrypoints: [entry], target: "bun" })
    return (await Promise.all(outputs.map((output) => output.text()))).join("\n")
  }
  const pagesAndEndpoints = [
    "<!doctype html>",
    "/oauth/token",
    "/oauth/register",
    "code_challenge",
    "prefers-color-scheme"
  ]
  const foundIn = (bundled: string) => pagesAndEndpoints.filter((sign) => bundled.includes(sign))

  test("holds no page and no endpoint", async () => {
    const whole = await bundle(`import * as T from "tessera/core"; globalThis.it = T`)
    expect(foundIn(whole)).toEqual(pagesAndEndpoints)
    const small = await bundle(`import { parseKeyRing } from "tessera/core"; globalThis.it = parseKeyRing`)
    expect(small).toContain("parseKeyRing")
    expect(foundIn(small)).toEqual([])
  })

  test("hashes by the platform where it answers requests", async () => {
    const answering = await bundle(`import { createTessera } from "tessera"; globalThis.it = createTessera`)
    expect(answering).toContain("Bun.SHA256")
    const opening = await bundle(`import { parseKeyRing } from "tessera/core"; globalThis.it = parseKeyRing`)
    expect(opening).not.toContain("Bun.SHA256")
  })

  test("is nothing at all for an application that imports and uses nothing", async () => {
    const names = Object.keys(JSON.parse(readFileSync(join(built, "package.json"), "utf8")).exports)
    const imports = names
      .filter((name) => name !== "./package.json")
      .map((name, at) => `import * as unused${at} from "${name.replace(/^\./, "tessera")}"`)
    expect(imports.length).toBeGreaterThan(5)
    const code = (await bundle(imports.join("\n"))).replace(/^\/\/.*$/gm, "").trim()
    expect(code).toBe("")
  })
})
