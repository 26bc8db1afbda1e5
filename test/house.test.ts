import { describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { checkedTypes, everyTestRuns, noAny, pureCore, readByContract, reasonedAssertions } from "./house/code.ts"
import { adaptersStayBelow, coreFollowsTheArrow, coreStandsAlone, runtimesStayBelow } from "./house/imports.ts"
import { type Lock, missingFrom } from "./house/lock.ts"
import { concepts, portable, topLevel } from "./house/places.ts"
import type { Rule } from "./house/Rule.ts"
import { importsOf, type Source, scan } from "./house/Source.ts"

const root = join(import.meta.dir, "..")

/** What is in the repository, or will be with the next commit. */
const listed = spawnSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  cwd: root,
  encoding: "utf8"
})
const sources: ReadonlyArray<Source> = listed.stdout
  .split("\n")
  .filter((path) => path !== "" && path !== "package-lock.json" && existsSync(join(root, path)))
  .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }))

interface Case {
  readonly rule: Rule
  readonly breaking: ReadonlyArray<Source>
  readonly sound: ReadonlyArray<Source>
}

const file = (path: string, text = ""): Source => ({ path, text })

/** Written in pieces, so that this file keeps the rule itself. */
const somebodysFolder = ["", "home", "marcus", "tessera"].join("/")
const switchedOff = ["@ts", "ignore"].join("-")

const cases: ReadonlyArray<Case> = [
  {
    rule: topLevel,
    breaking: [file("docs/plan.md"), file("index.ts"), file("core")],
    sound: [file(".ci/run"), file(".gitignore"), file("core/README.md"), file("package.json"), file("LICENSE")]
  },
  {
    rule: concepts,
    breaking: [file("core/utils/text.ts"), file("adapters/postgres/types/row.ts")],
    sound: [file("core/grant/Grant.ts"), file("test/types/Grant.ts")]
  },
  {
    rule: portable,
    breaking: [file("README.md", `cd ${somebodysFolder}`)],
    sound: [file("README.md", "GET /rest/companies, http://localhost/home/page")]
  },
  {
    rule: coreStandsAlone,
    breaking: [
      file("core/grant/a.ts", `import { readFileSync } from "node:fs"`),
      file("core/grant/a.ts", `import type { Sql } from "postgres"`),
      file("core/grant/a.ts", `import {\n  memory\n} from "../../adapters/memory.ts"`),
      file("core/grant/a.ts", `export * from "../../runtimes/fetch.ts"`),
      file("core/grant/a.ts", `const it = await import("bun")`),
      file("core/grant/a.ts", "const it = await import(name)"),
      file("core/grant/a.ts", `import "bun:sqlite"`),
      file("core/grant/a.ts", `type It = import("node:net").Server`),
      file("core/grant/a.ts", `import { SqlClient } from "effect/sql"`)
    ],
    sound: [
      file("core/grant/a.ts", `import { Effect } from "effect"\nimport { Base64Url } from "effect/encoding"`),
      file("core/grant/a.ts", `import { hmac } from "@noble/hashes/hmac.js"\nimport { b } from "./b.ts"`),
      file("core/grant/a.ts", `// import { readFileSync } from "node:fs"\nconst text = 'import x from "bun"'`),
      file("adapters/a.ts", `import { readFileSync } from "node:fs"`)
    ]
  },
  {
    rule: coreFollowsTheArrow,
    breaking: [
      file("core/rules/a.ts", `import type { Grant } from "../grant/Grant.ts"`),
      file("core/client/a.ts", `import { check } from "../grant/check.ts"`),
      file("core/grant/a.ts", `import { Storage } from "../ports/Storage.ts"`),
      file("core/http/Http.ts", `import { Storage } from "../ports/Storage.ts"`),
      file("core/ports/a.ts", `import { form } from "../http/form.ts"`),
      file("core/unheard/a.ts", `import { Grant } from "../grant/Grant.ts"`)
    ],
    sound: [
      file("core/grant/a.ts", `import { Client } from "../client/Client.ts"\nimport { b } from "./b.ts"`),
      file("core/ports/a.ts", `import type { HttpRequest } from "../http/Http.ts"`),
      file("core/oauth/endpoints/token.ts", `import { check } from "../../grant/check.ts"`),
      file("core/index.ts", `export { refresh } from "./grant/refresh.ts"`)
    ]
  },
  {
    rule: adaptersStayBelow,
    breaking: [
      file("adapters/memory.ts", `import { handler } from "../runtimes/fetch.ts"`),
      file("adapters/memory.ts", `import postgres from "postgres"`),
      file("adapters/postgres/Rows.ts", `import { Redis } from "ioredis"`),
      file("adapters/postgres/Rows.ts", `import express from "express"`)
    ],
    sound: [
      file(
        "adapters/postgres/Rows.ts",
        `import postgres from "postgres"\nimport { Storage } from "../../core/ports/Storage.ts"`
      ),
      file("adapters/sqlite.ts", `import { Database } from "bun:sqlite"\nimport { join } from "node:path"`)
    ]
  },
  {
    rule: runtimesStayBelow,
    breaking: [
      file("runtimes/fetch.ts", `import { given } from "../test/given.ts"`),
      file("runtimes/fetch.ts", `import { Elysia } from "elysia"`),
      file("runtimes/start.mjs", `import { sum } from "../benchmarks/sum.mjs"`)
    ],
    sound: [
      file("runtimes/elysia.ts", `import { Elysia } from "elysia"\nimport { handler } from "./fetch.ts"`),
      file("runtimes/bun/main.ts", `import { memory } from "../../adapters/memory.ts"`)
    ]
  },
  {
    rule: pureCore,
    breaking: [
      file("core/a.ts", "const now = Date.now()"),
      file("core/a.ts", "const now = new Date(0)"),
      file("core/a.ts", "const one = Math.random()"),
      file("core/a.ts", `const home = process.env["HOME"]`),
      file("core/a.ts", "const id = crypto.randomUUID()"),
      file("core/a.ts", "const id = globalThis.crypto.randomUUID()"),
      file("core/a.ts", `const said = \`\${Bun.version}\``),
      file("core/a.ts", "setTimeout(go, 10)"),
      file("core/ports/Entropy.ts", "const id = globalThis.crypto.randomUUID()"),
      file("core/ports/Other.ts", "globalThis.crypto.getRandomValues(bytes)")
    ],
    sound: [
      file("core/a.ts", "// Date.now() would be wrong\nconst text = 'new Date'\nconst when = `Math.random`"),
      file("core/a.ts", "const url = new URL(text)\nconst when = DateTime.make(0)\nconst seen = Schema.Date"),
      file("core/ports/Entropy.ts", "globalThis.crypto.getRandomValues(bytes)"),
      file("adapters/a.ts", "const now = Date.now()")
    ]
  },
  {
    rule: noAny,
    breaking: [
      file("core/a.ts", "const a = (b: any) => b"),
      file("core/a.ts", "const a: Array<any> = []"),
      file("adapters/a.ts", "const a = b as any // why not")
    ],
    sound: [
      file("core/a.ts", "// any\nconst any: unknown = 'any'\nconst all = Effect.any"),
      file("core/a.ts", "const anyOf = { any: 1 }")
    ]
  },
  {
    rule: reasonedAssertions,
    breaking: [
      file("core/a.ts", "const a = b as Grant"),
      file("core/a.ts", "const a = read(\n  b\n) as { c: string }"),
      file("core/a.ts", "// Two lines above is too far.\n\nconst a = b as Grant"),
      file("runtimes/a.ts", `const a = "// not a comment" as string`)
    ],
    sound: [
      file("core/a.ts", "const a = ['b'] as const"),
      file("core/a.ts", "const a = b as Grant // JSON.parse gives what was written above"),
      file("core/a.ts", "/** JSON.parse gives what was written above. */\nconst a = b as Grant"),
      file("core/a.ts", "// Hashes have one length.\nconst a = b as Hash\nconst c = d as Hash"),
      file("core/a.ts", `import { a as b } from "./a.ts"\nimport * as c from "./c.ts"\nexport { b as d, c as e }`),
      file("core/a.ts", "const text = 'sign in as Marcus'")
    ]
  },
  {
    rule: checkedTypes,
    breaking: [file("test/a.ts", `// ${switchedOff}: the library is wrong\nconst a: string = 1`)],
    sound: [file("test/types/a.ts", "// @ts-expect-error: an unchecked string is no redirect URI")]
  },
  {
    rule: readByContract,
    breaking: [
      file(
        "core/http/a.ts",
        `import { aContract } from "../openapi/contract/a.ts"\nimport { readForm } from "./form.ts"\nreadForm(call.request)`
      ),
      file("core/http/a.ts", `import type { aContract } from "../openapi/contract/a.ts"\nreadParameters(query)`),
      file("core/http/a.ts", `asItCame(sent, "a")`)
    ],
    sound: [
      file("core/http/a.ts", `import { readForm } from "./form.ts"\nreadForm(call.request)`),
      file("core/http/a.ts", `import { aContract } from "../openapi/contract/a.ts"\nsentForm(call.request)`),
      file("core/settings/a.ts", `import { aContract } from "../openapi/contract/a.ts"\nreadForm(call.request)`)
    ]
  },
  {
    rule: everyTestRuns,
    breaking: [
      file("test/a.test.ts", `test.skip("a", () => {})`),
      file("test/a.test.ts", `describe.only("a", () => {})`),
      file("test/a.test.ts", `test.todo("a")`),
      file("test/a.test.ts", `test.if(process.platform === "linux")("a", () => {})`),
      file("test/a.test.ts", `xit("a", () => {})`)
    ],
    sound: [
      file("test/a.test.ts", `test("skip: the reader may test.only what it likes", () => {})`),
      file("test/a.test.ts", `test.each([1, 2])("a", () => {})`)
    ]
  }
]

describe("the house", () => {
  test("has files to be judged, of every room that is built", () => {
    expect(listed.status).toBe(0)
    expect(sources.map(({ path }) => path)).toContain("core/ports/Storage.ts")
    expect(sources.map(({ path }) => path)).toContain("test/house.test.ts")
  })

  for (const { rule } of cases) {
    test(`keeps the rule: ${rule.title}`, () => {
      expect(sources.flatMap((source) => rule.breaches(source).map((breach) => `${source.path} ${breach}`))).toEqual([])
    })
  }
})

describe("the rules of the house", () => {
  for (const { rule, breaking, sound } of cases) {
    test(`see it when broken: ${rule.title}`, () => {
      expect(breaking.filter((source) => rule.breaches(source).length === 0)).toEqual([])
    })

    test(`leave alone what is sound: ${rule.title}`, () => {
      expect(sound.flatMap((source) => rule.breaches(source))).toEqual([])
    })
  }
})

describe("the lock file", () => {
  test("has all that its packages ask for, on every platform", () => {
    const { packages }: { packages: Lock } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"))
    expect(Object.keys(packages).length).toBeGreaterThan(1)
    expect(missingFrom(packages)).toEqual([])
  })

  test("is seen to lack something", () => {
    const lock: Lock = {
      "": { dependencies: { a: "1" } },
      "node_modules/a": { dependencies: { b: "1", c: "1" }, optionalDependencies: { "@d/elsewhere": "1" } },
      "node_modules/a/node_modules/b": { dependencies: { c: "1" } },
      "node_modules/c": { version: "1" },
      "node_modules/e": { dependencies: { b: "1" } }
    }
    expect(missingFrom(lock)).toEqual([
      "@d/elsewhere, which node_modules/a asks for",
      "b, which node_modules/e asks for"
    ])
  })
})

describe("telling code from text", () => {
  test("keeps lines and lengths, and blanks comments, strings, templates and regular expressions", () => {
    const text = [
      String.raw`a("b\"c") // d`,
      "/* e",
      `f */ g(\`h \${i({ j: "k" })} l\`) / m`,
      'n = /o"p/g.test(q)'
    ].join("\n")
    const { code, commented } = scan(text)

    expect(code).toHaveLength(text.length)
    expect(code.split("\n").map((line) => line.replace(/\s+/g, " ").trim())).toEqual([
      'a(" ")',
      "",
      `g(\` \${i({ j: " " })} \`) / m`,
      "n = / g.test(q)"
    ])
    expect([...commented]).toEqual([0, 1, 2])
  })

  test("finds every way to import", () => {
    const text = [
      'import a, { type b } from "one"',
      "export * from 'two'",
      'import "three"',
      'const c = await import("four")',
      'const d = require("five")',
      `const e = import(\`six/\${f}\`)`
    ].join("\n")

    expect(importsOf(text)).toEqual([
      { specifier: "one", line: 1 },
      { specifier: "two", line: 2 },
      { specifier: "three", line: 3 },
      { specifier: "four", line: 4 },
      { specifier: "five", line: 5 },
      { specifier: undefined, line: 6 }
    ])
  })
})
