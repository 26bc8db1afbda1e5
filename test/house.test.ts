import { describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, relative } from "node:path"
import { arrow, arrowText } from "./house/arrow.ts"
import {
  checkedTypes,
  comparedInConstantTime,
  everyTestRuns,
  knownImports,
  plainlyCompared,
  pureCore,
  reasonedAssertions,
  spansOfRooms
} from "./house/code.ts"
import { type Lock, missingFrom } from "./house/lock.ts"
import { concepts, portable, topLevel } from "./house/places.ts"
import { isScript, type Rule, type Source } from "./house/Rule.ts"

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
    rule: pureCore,
    breaking: [
      file("core/a.ts", "const one = Math.random()"),
      file("core/a.ts", "const here = import.meta.url"),
      file("core/a.ts", `type It = import("node:net").Server`),
      file("core/a.ts", "const it = await import(name)")
    ],
    sound: [
      file("core/a.ts", "// Math.random() would be wrong\nconst text = 'import(a)'\nconst when = `Math.random`"),
      file("adapters/a.ts", "const one = Math.random()")
    ]
  },
  {
    rule: knownImports,
    breaking: [file("runtimes/a.ts", "const it = await import(name)")],
    sound: [file("runtimes/a.ts", `const it = await import("node:fs")`)]
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
    rule: comparedInConstantTime,
    breaking: [
      file("core/a.ts", "if (digest === stored.digest) return"),
      file("core/a.ts", "return digestOf(text) === kept"),
      file("core/a.ts", "return digestOf(Redacted.value(await valueOf(token))) === kept"),
      file("core/a.ts", "const isIt = shown.thumbprint !== bound.thumbprint"),
      file("core/a.ts", "const isIt = ticket.reader !== readerOf(here)"),
      file("core/a.ts", "return expected ===\n  hmac(key, body)"),
      file("runtimes/a.ts", "if (form.get(name) == csrfField(keys, session)) return"),
      file("adapters/a.ts", "if (mac !== sealer.mac(key)) return"),
      file("adapters/a.ts", "if (client_secret === other) return"),
      file("core/a.ts", "return authTag != presented")
    ],
    sound: [
      file("core/a.ts", "return digest !== undefined && sameDigest(digest, drawn.digest)"),
      file("core/a.ts", `if (secret === undefined || password === "" || verifier === null) return`),
      file("core/a.ts", `return command.challenge === "none" ? digest : hash`),
      file("core/a.ts", "return digest.length === 43 && secretLength !== bytes"),
      file("core/a.ts", `if (kept._tag === other._tag && url.hash !== "") return`),
      file("core/a.ts", "// digest === stored would tell where the two differ\nreturn isDigestOf(hash, digest)"),
      file("test/a.test.ts", "return digest === other.digest")
    ]
  },
  {
    rule: checkedTypes,
    breaking: [file("test/a.ts", `// ${switchedOff}: the library is wrong\nconst a: string = 1`)],
    sound: [file("test/types/a.ts", "// @ts-expect-error: an unchecked string is no redirect URI")]
  },
  {
    rule: spansOfRooms,
    breaking: [
      file("core/engine/a.ts", `const a = Effect.fn("administration.endGrant")(function* () {})`),
      file("core/people/a.ts", `const a = Effect.fn("signIn")(function* () {})`),
      file("core/settings/a.ts", `const a = Effect.fn(\`pages.\${name}\`)(function* () {})`)
    ],
    sound: [
      file("core/engine/a.ts", `const a = Effect.fn("engine.endGrant")(function* () {})`),
      file("core/settings/a.ts", `const a = Effect.fn(\`settings.\${section.name}\`)(function* () {})`),
      file("core/engine/a.ts", "const a = Effect.fnUntraced(function* () {})"),
      file("adapters/a.ts", `const a = Effect.fn("copy")(function* () {})`)
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

test("a comparison of secrets that is there would be seen, were it written plainly", () => {
  const compared = sources
    .filter(({ path }) => /^(?:core|adapters|runtimes)\/(?!testing\/).*\.ts$/.test(path))
    .flatMap(({ path, text }) => plainlyCompared(text).map((plain) => file(path, plain)))
  expect(compared.length).toBeGreaterThan(15)
  expect(compared.filter((source) => comparedInConstantTime.breaches(source).length === 0)).toEqual([])
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

/** What the linter says of a file, as it lies in this house. */
const breaking: ReadonlyArray<Source> = [
  file("core/grant/a.ts", `import { readFileSync } from "node:fs"`),
  file("core/grant/b.ts", `import type { Sql } from "postgres"`),
  file("core/grant/c.ts", `import {\n  memory\n} from "../../adapters/memory.ts"`),
  file("core/grant/d.ts", `export * from "../../runtimes/fetch.ts"`),
  file("core/grant/e.ts", `const it = await import("bun")`),
  file("core/grant/f.ts", `import "bun:sqlite"`),
  file("core/grant/g.ts", `import { SqlClient } from "effect/sql"`),
  file("core/grant/h.ts", `import { Postgres } from "effect/sql/Postgres"`),
  file("core/testing/model/a.ts", `import { memory } from "../../../adapters/memory/Memory.ts"`),
  file("core/a.ts", `import { memory } from "../adapters/memory/Memory.ts"`),
  file("core/rules/a.ts", `import type { Grant } from "../grant/Grant.ts"`),
  file("core/client/a.ts", `import { check } from "../grant/check.ts"`),
  file("core/grant/i.ts", `import { Storage } from "../ports/Storage.ts"`),
  file("core/http/Http.ts", `import { Storage } from "../ports/Storage.ts"`),
  file("core/ports/a.ts", `import { form } from "../http/form.ts"`),
  file("core/oauth/grants/a.ts", `import { guard } from "../presented/guard.ts"`),
  file("core/oauth/endpoints/a.ts", `import { readForm } from "../../http/form.ts"`),
  file("adapters/a.ts", `import { fetchHandler } from "../runtimes/fetch.ts"`),
  file("adapters/b.ts", `import postgres from "postgres"`),
  file("adapters/postgres/a.ts", `import { Redis } from "ioredis"`),
  file("adapters/postgres/b.ts", `import express from "express"`),
  file("runtimes/a.ts", `import { given } from "../test/given.ts"`),
  file("runtimes/b.ts", `import { Elysia } from "elysia"`),
  file("runtimes/c.mjs", `import { sum } from "../benchmarks/sum.mjs"`),
  ...[
    "Date.now()",
    "new Date(0)",
    "process.env",
    "crypto.randomUUID()",
    "globalThis.crypto",
    "Bun.version",
    "setTimeout(() => 1, 10)"
  ].map((reaching, index) => file(`core/grant/ambient${index}.ts`, `export const a = ${reaching}`)),
  file("core/grant/any.ts", "export const a = (b: any) => b"),
  // A circle, which types alone close.
  file("core/grant/circleA.ts", `import type { B } from "./circleB.ts"\nexport type A = B | 1`),
  file("core/grant/circleB.ts", `import type { A } from "./circleA.ts"\nexport type B = A | 2`)
]

const sound: ReadonlyArray<Source> = [
  file("core/grant/j.ts", `import { Effect } from "effect"\nimport { Base64Url } from "effect/encoding"`),
  file("core/grant/k.ts", `import { hmac } from "@noble/hashes/hmac.js"\nimport { b } from "./b.ts"`),
  file("core/grant/l.ts", `// import { readFileSync } from "node:fs"\nexport const text = 'Date.now()'`),
  file("core/grant/m.ts", `import { Client } from "../client/Client.ts"`),
  file("core/ports/b.ts", `import type { HttpRequest } from "../http/Http.ts"`),
  file("core/ports/Entropy.ts", "globalThis.crypto.getRandomValues(new Uint8Array(1))"),
  file(
    "core/oauth/endpoints/b.ts",
    `import { check } from "../../grant/check.ts"\nimport { c } from "../presented/guard.ts"`
  ),
  file("core/oauth/endpoints/consent.ts", `import { readForm } from "../../http/form.ts"`),
  file("core/index.ts", `export { refresh } from "./grant/refresh.ts"`),
  file("core/testing/model/b.ts", `import { memory } from "../../http/Http.ts"`),
  file("adapters/c.ts", `import { join } from "node:path"\nexport const now = Date.now()`),
  file(
    "adapters/postgres/c.ts",
    `import postgres from "postgres"\nimport { Storage } from "../../core/ports/Storage.ts"`
  ),
  file("adapters/sqlite/a.ts", `import { Database } from "bun:sqlite"\nimport { text } from "node:stream/consumers"`),
  file("runtimes/elysia.ts", `import { Elysia } from "elysia"\nimport { fetchHandler } from "./fetch.ts"`),
  file("runtimes/bun/main.ts", `import { memory } from "../../adapters/memory.ts"`)
]

describe("the linter", () => {
  test("has the arrow as it is written", () => {
    expect(readFileSync(join(root, "test/house/arrow.json"), "utf8")).toBe(arrowText)
  })

  test("knows each folder of the core that holds code", () => {
    const folders = sources
      .filter(({ path }) => /^core\/.*\//.test(path) && isScript(path))
      .map(({ path }) => (path.startsWith("core/oauth/") ? dirname(path) : path.split("/").slice(0, 2).join("/")))
    expect([...new Set(folders)].filter((folder) => arrow[folder] === undefined)).toEqual([])
  })

  test("sees what breaks the house's rules on imports, circles, ambient names and types, and nothing else", () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "house-")))
    const configured = [".biome.json", "test/house/arrow.json"].map((path) =>
      file(
        path,
        readFileSync(join(root, path), "utf8").replace('"vcs": { "enabled": true', '"vcs": { "enabled": false')
      )
    )
    for (const { path, text } of [...configured, ...breaking, ...sound]) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
    const rules = [
      "style/noRestrictedImports",
      "style/noRestrictedGlobals",
      "suspicious/noExplicitAny",
      "suspicious/noImportCycles"
    ]
    const args = ["lint", ...rules.map((rule) => `--only=${rule}`), "--reporter=github", "--max-diagnostics=none", "."]
    const linted = spawnSync(join(root, "node_modules/.bin/biome"), args, { cwd: folder, encoding: "utf8" })
    const named = [...linted.stdout.matchAll(/^::error title=lint[^\n]*?,file=([^,]+),/gm)].map(([, path = ""]) =>
      relative(folder, path)
    )
    expect([...new Set(named)].toSorted()).toEqual(breaking.map(({ path }) => path).toSorted())
  })
})
