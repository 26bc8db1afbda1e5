import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { exitStatus } from "../../runtimes/command/output.ts"
import { version } from "../../runtimes/command/version.ts"
import { freePort } from "../harness/freePort.ts"
import { node, node20, node22, node24 } from "../harness/given.ts"
import { plainEnvironment, runProgram } from "../harness/runProgram.ts"
import { throwawayFolder } from "../harness/throwawayFolder.ts"
import { leave, sharedBrowser } from "../pages/launchBrowser.ts"
import { startChild } from "../runtimes/given/Child.ts"
import { root } from "./given/builtPackage.ts"
import { compilerOptions, emptyProject } from "./given/emptyProject.ts"
import { finished } from "./given/finished.ts"
import { graphOf } from "./given/ModuleGraph.ts"

/** Compilers and npm take seconds where nothing else runs, and a minute where everything does. */
const aMachineUnderLoad = 240_000

const scope = Scope.makeUnsafe()
let project = ""

beforeAll(async () => {
  project = await Effect.runPromise(Scope.provide(emptyProject, scope))
  // As `nodenext` resolves, into `out/`; what is wrong is thrown here.
  await typeCheck({})
}, aMachineUnderLoad)

afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const run = (command: string, args: ReadonlyArray<string>) =>
  Effect.runPromise(finished(command, args, { cwd: project, env: plainEnvironment }))

const typeCheck = (changed: object) => {
  const config = { compilerOptions: { ...compilerOptions, ...changed }, include: ["*.ts"] }
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify(config))
  return run(node(), [join(root, "node_modules/typescript/bin/tsc"), "-p", "."])
}

/** What `consumer/play.ts` sees when all is well, anywhere: of layers, and of `createTessera`. */
const played = Array.from({ length: 2 }, () => ({
  registered: 201,
  token: [200, "Bearer"],
  orders: [200, { orders: [], of: "Workspace" }],
  forged: 401
}))

const entriesIn = (manifest: { readonly exports: Readonly<Record<string, object>> }) =>
  Object.keys(manifest.exports).filter((name) => name !== "./package.json")

const read = (file: string) => JSON.parse(readFileSync(file, "utf8"))

/** What an entry says it is for: everything else must run on web standards alone. */
const ofAPlatform = /^\.\/(?:bun|elysia|express|fastify|koa|node|storage\/(?:postgres|redis|sqlite))$/

describe("the package, installed by npm into an empty project", () => {
  test("brings effect, @noble/hashes and jose, and nothing else", () => {
    const found = readdirSync(join(project, "node_modules")).filter((name) => !name.startsWith("."))
    expect(found.sort()).toEqual(["@noble", "effect", "jose", "tessera"])
    expect(readdirSync(join(project, "node_modules/@noble"))).toEqual(["hashes"])
  })

  test("has every entry of the checkout, with what it runs and what it declares", () => {
    const folder = join(project, "node_modules/tessera")
    const manifest = read(join(folder, "package.json"))
    expect(entriesIn(manifest)).toEqual(entriesIn(read(join(root, "package.json"))))
    for (const name of entriesIn(manifest)) {
      const { default: script, types } = manifest.exports[name]
      expect(readFileSync(join(folder, script), "utf8")).toMatch(/\b(?:export|import)\b/)
      expect(readFileSync(join(folder, types), "utf8")).toMatch(/\bexport\b/)
    }
  })

  test("names as optional peers the drivers and frameworks that it imports, and no others", () => {
    const folder = join(project, "node_modules/tessera")
    const { dependencies, peerDependencies, peerDependenciesMeta, private: kept } = read(join(folder, "package.json"))
    const every = entriesIn(read(join(folder, "package.json"))).map((name) => name.replace(/^\./, "tessera"))
    const { foreign } = graphOf(project, [...every, "./node_modules/tessera/runtimes/node/main.js"])
    const brought = new Set(Object.keys(dependencies))
    const drivers = [...foreign].filter((name) => !/^(?:node|bun):/.test(name) && !brought.has(name)).sort()
    expect(drivers).toEqual(["elysia", "ioredis", "postgres"])
    expect(peerDependenciesMeta).toEqual(Object.fromEntries(drivers.map((name) => [name, { optional: true }])))
    expect(Object.keys(peerDependencies).sort()).toEqual(["effect", ...drivers].sort())
    expect(Object.keys(dependencies)).toEqual(["@noble/hashes", "jose"])
    expect(kept).toBeUndefined()
  })

  test("holds no source, no test and no launcher of the checkout", () => {
    const files = readdirSync(join(project, "node_modules/tessera"), { recursive: true, encoding: "utf8" })
    expect(files.filter((file) => /\.mjs$|(?<!\.d)\.ts$|\.test\.|^test/.test(file))).toEqual([])
    expect(files.length).toBeGreaterThan(300)
  })

  // `beforeAll` would have thrown what is wrong.
  test("is type-checked in full, as nodenext resolves", () => {
    expect(readdirSync(join(project, "out"))).toContain("entries.js")
  })
})

describe("the entries for drivers and frameworks", () => {
  const peers = ["@types", "elysia", "hono", "ioredis", "postgres"]

  /** What the compiler says of our declarations and of the file that uses them; others' are not ours to mend. */
  const complaints = () =>
    Effect.gen(function* () {
      const folder = yield* throwawayFolder("peers")
      const packages = join(folder, "node_modules")
      cpSync(join(project, "node_modules/tessera"), join(packages, "tessera"), { recursive: true })
      for (const name of ["effect", "@noble"]) symlinkSync(join(project, "node_modules", name), join(packages, name))
      for (const name of peers) symlinkSync(join(root, "node_modules", name), join(packages, name))
      cpSync(join(import.meta.dir, "withPeers"), folder, { recursive: true })
      cpSync(join(import.meta.dir, "consumer/entries.ts"), join(folder, "entries.ts"))
      const asBundlers = { module: "esnext", moduleResolution: "bundler", types: ["node"], noEmit: true }
      const config = { compilerOptions: { ...compilerOptions, ...asBundlers }, include: ["*.ts"] }
      writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config))
      const tsc = join(root, "node_modules/typescript/bin/tsc")
      const { stdout } = yield* runProgram(node(), [tsc, "-p", "."], { cwd: folder })
      return stdout.split("\n").filter((line) => /^(?:node_modules\/tessera\/|platforms\.ts|entries\.ts)/.test(line))
    }).pipe(Effect.scoped, Effect.runPromise)

  test(
    "are type-checked beside those, as a bundler resolves",
    async () => {
      expect(await complaints()).toEqual([])
    },
    aMachineUnderLoad
  )

  test("are not to be had without", async () => {
    for (const [entry, driver] of [
      ["tessera/storage/postgres", "postgres"],
      ["tessera/storage/redis", "ioredis"],
      ["tessera/elysia", "elysia"]
    ] as const) {
      const script = `import("${entry}").catch(({ code, message }) => console.log(code, message))`
      const said = await run(node(), ["--input-type=module", "--eval", script])
      expect(said).toContain("ERR_MODULE_NOT_FOUND")
      expect(said).toContain(`'${driver}'`)
    }
  })
})

describe("the entries without a platform", () => {
  const plain = () =>
    entriesIn(read(join(root, "package.json")))
      .filter((name) => !ofAPlatform.test(name))
      .map((name) => name.replace(/^\./, "tessera"))

  test("are these", () => {
    expect(plain()).toEqual([
      "tessera",
      "tessera/core",
      "tessera/testing",
      "tessera/guard",
      "tessera/documents",
      "tessera/fetch",
      "tessera/hono",
      "tessera/storage/memory"
    ])
  })

  test("load nothing of Node or Bun, now or later", () => {
    for (const entry of plain()) {
      const { files, foreign } = graphOf(project, [entry])
      expect([entry, [...foreign]]).toEqual([entry, []])
      expect(files.size).toBeGreaterThan(50)
    }
    for (const entry of ["tessera/node", "tessera/express", "tessera/fastify", "tessera/koa"]) {
      expect([entry, [...graphOf(project, [entry]).foreign]]).toEqual([entry, ["node:http", "node:https", "node:net"]])
    }
    expect([...graphOf(project, ["tessera/bun"]).foreign]).toEqual(["node:async_hooks"])
    expect([...graphOf(project, ["tessera/storage/postgres"]).foreign]).toContain("postgres")
  })

  test("do nothing when they are imported", async () => {
    const script = `
      const before = [Reflect.ownKeys(globalThis).length, process.eventNames().length]
      const modules = await Promise.all(${JSON.stringify(plain())}.map((name) => import(name)))
      const after = [Reflect.ownKeys(globalThis).length, process.eventNames().length]
      const busy = process.getActiveResourcesInfo().filter((name) => name === "Timeout" || /Server|Socket/.test(name))
      console.log(JSON.stringify({ before, after, busy, empty: modules.filter((one) => Object.keys(one).length === 0) }))`
    const { after, before, busy, empty } = JSON.parse(await run(node22(), ["--input-type=module", "--eval", script]))
    expect({ after, busy, empty }).toEqual({ after: before, busy: [], empty: [] })
  })
})

describe("a client registers, gets a token and calls a guarded route", () => {
  const runtimes: ReadonlyArray<readonly [string, () => string, RegExp]> = [
    ["Node 20", node20, /^v20\./],
    ["Node 22", node22, /^v22\./],
    ["Node 24", node24, /^v24\./],
    ["Bun", () => process.execPath, /^1\./]
  ]

  for (const [name, program, expected] of runtimes) {
    test(`on ${name}`, async () => {
      expect(await run(program(), ["--version"])).toMatch(expected)
      // Above it stands Effect's log: that a caller came with a forged token.
      const [outcome = ""] = (await run(program(), ["out/main.js"])).trimEnd().split("\n").slice(-1)
      expect(JSON.parse(outcome)).toEqual(played)
    })
  }

  test("in a browser, over a store that the page brings: with nothing but web standards", async () => {
    const { bare, files } = graphOf(project, ["./out/page.js"])
    const address = (file: string) => file.slice(project.length)
    const imports = Object.fromEntries([...bare].map(([name, file]) => [name, address(file)]))
    const map = `<!doctype html><title>page</title><script type="importmap">${JSON.stringify({ imports })}</script>`
    const served = new Set([...files].map(address))
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: (request) => {
        const { pathname } = new URL(request.url)
        if (pathname === "/") return new Response(map, { headers: { "content-type": "text/html" } })
        return served.has(pathname)
          ? new Response(Bun.file(project + pathname), { headers: { "content-type": "text/javascript" } })
          : new Response("", { status: 404 })
      }
    })
    const browser = await sharedBrowser()
    try {
      const tab = await browser.newPage()
      await tab.goto(`http://127.0.0.1:${server.port}/`)
      expect(await tab.evaluate("[typeof process, typeof Bun, typeof Deno, typeof Buffer, typeof require]")).toEqual(
        Array.from({ length: 5 }, () => "undefined")
      )
      expect(await tab.evaluate(`import("/out/page.js").then(({ outcome }) => outcome())`)).toEqual(played)
    } finally {
      await leave(browser)
      await server.stop(true)
    }
  })
})

describe("the program of the package", () => {
  test("is there as a command", async () => {
    const env = { ...plainEnvironment, PATH: `${join(node(), "..")}:${plainEnvironment.PATH}` }
    const command = join(project, "node_modules/.bin/tessera")
    expect(await Effect.runPromise(finished(command, ["--version"], { cwd: project, env }))).toContain(version)
    const key = await Effect.runPromise(finished(command, ["seal-keys", "new"], { cwd: project, env }))
    expect(key.trim()).toMatch(/^[\w-]{43}$/)
  })

  test.each([
    ["Node 20", node20],
    ["Node 22", node22],
    ["Node 24", node24]
  ])("reads .env in the folder that it is started in, and the environment goes before it, on %s", (_name, program) =>
    Effect.gen(function* () {
      const cwd = yield* throwawayFolder("dotenv")
      const main = join(project, "node_modules/tessera/runtimes/node/main.js")
      const doctor = (env: Readonly<Record<string, string>> = {}) =>
        runProgram(program(), [main, "doctor"], { cwd, env: { ...plainEnvironment, ...env } })
      const nothing = yield* doctor({ DATABASE_URL: "memory:" })
      expect([nothing.status, nothing.stderr]).toEqual([exitStatus.done, ""])

      writeFileSync(join(cwd, ".env"), "PORT=nonsense\nDATABASE_URL='memory:' # for now\n")
      const fromFile = yield* doctor()
      expect(fromFile.stdout).toContain("PORT: expected")
      expect(fromFile.status).toBe(exitStatus.usage)
      const overruled = yield* doctor({ PORT: String(yield* freePort) })
      expect(overruled.stdout).toContain("this process's memory")
      expect(overruled.status).toBe(exitStatus.done)

      rmSync(join(cwd, ".env"))
      mkdirSync(join(cwd, ".env"))
      const unreadable = yield* doctor()
      expect(unreadable.stderr).toMatch(/^\.env can't be read: [^\n]+\n$/)
      expect(unreadable.status).toBe(exitStatus.usage)
    }).pipe(Effect.scoped, Effect.runPromise)
  )

  test("prints all of a long text into a pipe, and is not ended by who stops reading", () =>
    Effect.gen(function* () {
      const main = join(project, "node_modules/tessera/runtimes/node/main.js")
      const env = { ...plainEnvironment, DATABASE_URL: "memory:" }
      const sh = (line: string) => runProgram("/bin/sh", ["-c", line, node(), main], { cwd: project, env })
      const whole = yield* sh('"$0" "$1" openapi | (read -r first; printf "%s" "$first"; cat)')
      expect(JSON.parse(whole.stdout)).toMatchObject({ openapi: "3.1.1" })
      const left = yield* sh('"$0" "$1" openapi | true')
      expect(left.stderr).toBe("")
    }).pipe(Effect.scoped, Effect.runPromise))

  test.each([
    ["postgres", "postgres://127.0.0.1/tessera"],
    ["ioredis", "redis://127.0.0.1"]
  ])("says that a store needs %s, where that is not installed", (driver, url) =>
    Effect.gen(function* () {
      const main = join(project, "node_modules/tessera/runtimes/node/main.js")
      const env = { ...plainEnvironment, DATABASE_URL: url, SEAL_KEYS: "A".repeat(43) }
      for (const command of [["serve"], ["key", "list"], ...(driver === "postgres" ? [["migrate"]] : [])]) {
        for (const program of [node(), process.execPath]) {
          const said = yield* runProgram(program, [main, ...command], { cwd: project, env })
          expect([said.status, said.stdout]).toEqual([exitStatus.failed, ""])
          expect(said.stderr.trim().split("\n")).toEqual([expect.stringContaining(`npm install ${driver}`)])
        }
      }
    }).pipe(Effect.scoped, Effect.runPromise)
  )

  test("serves from SQLite, with no driver installed", () =>
    Effect.gen(function* () {
      const port = yield* freePort
      const main = join(project, "node_modules/tessera/runtimes/node/main.js")
      const env = { ...plainEnvironment, PORT: String(port) }
      const child = yield* startChild(node22(), [main, "serve"], { cwd: project, env })
      yield* Effect.promise(() => child.says(/listening on\s+http/))
      const ready = yield* Effect.promise(() => fetch(`http://127.0.0.1:${port}/readyz`))
      expect(ready.status).toBe(200)
      child.process.kill("SIGTERM")
      expect((yield* Effect.promise(() => child.ended)).status).toBe(0)
    }).pipe(Effect.scoped, Effect.runPromise))
})
